//! The two formats in which models are asked: what is sent, and how the answer is read.
//!
//! Nothing is sent that some model of the family refuses, unless whoever asks wants it: no
//! temperature, no forced choice, no wish for a single call. What a model said is repeated to it
//! word for word, because some want their own thoughts back unchanged; only a call that could not
//! be repeated as it came is put right.

mod anthropic;
mod openai;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use kitbag_vendor::{Unfit, Vendor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::suite::Arguments;
use crate::tools::{Tool, Tools};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic,
    OpenAi,
}

/// A prompt, with what a model may use for it and, after a call that failed, what was said then.
#[derive(Debug, Clone)]
pub(crate) struct Conversation<'a> {
    /// As [`Dialect::tools`] writes them.
    pub(crate) tools: &'a [Value],
    /// What else is to stand in the request.
    pub(crate) parameters: &'a Arguments,
    pub(crate) prompt: &'a str,
    pub(crate) retry: Option<Retry>,
}

#[derive(Debug, Clone)]
pub(crate) struct Retry {
    /// The model's own message.
    pub(crate) said: Value,
    /// What each of its calls came to: the call's id, and the text of the error.
    pub(crate) errors: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// As it can be repeated to the model.
    pub(crate) said: Value,
    pub(crate) words: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Option<Usage>,
}

/// What ended an answer before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The limit of tokens.
    Length,
    /// The model, or a filter over it, would not answer.
    Refusal,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Given,
}

/// The arguments of a call as the model wrote them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Arguments(Arguments),
    /// No JSON object.
    Malformed(String),
}

/// Tokens as the endpoint counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

impl Dialect {
    /// Below the base address.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAi => "chat/completions",
        }
    }

    /// What every request must say about itself.
    pub(crate) fn headers(self) -> HeaderMap {
        match self {
            Self::Anthropic => {
                let version = (
                    HeaderName::from_static("anthropic-version"),
                    HeaderValue::from_static("2023-06-01"),
                );
                HeaderMap::from_iter([version])
            }
            Self::OpenAi => HeaderMap::new(),
        }
    }

    /// Where the key goes unless an endpoint wants it elsewhere.
    pub(crate) fn key_header(self) -> HeaderName {
        match self {
            Self::Anthropic => HeaderName::from_static("x-api-key"),
            Self::OpenAi => AUTHORIZATION,
        }
    }

    /// The definitions as they are sent; those that no vendor would take are left out.
    pub(crate) fn tools(self, tools: &Tools) -> Vec<Value> {
        tools
            .iter()
            .filter_map(|tool| self.definition(tool).ok())
            .collect()
    }

    pub(crate) fn definition(self, tool: &Tool) -> Result<Value, Unfit> {
        self.vendor()
            .tool(&tool.name, &tool.description, &tool.schema)
    }

    pub(crate) fn vendor(self) -> Vendor {
        match self {
            Self::Anthropic => Vendor::Anthropic,
            Self::OpenAi => Vendor::OpenAi,
        }
    }

    pub(crate) fn body(self, model: &str, conversation: &Conversation<'_>) -> Value {
        let mut body = match self {
            Self::Anthropic => anthropic::body(model, conversation),
            Self::OpenAi => openai::body(model, conversation),
        };
        for (name, value) in conversation.parameters {
            body[name.as_str()] = value.clone();
        }
        body
    }

    /// The answer, or what is wrong with it.
    pub(crate) fn read(self, body: &Value) -> Result<Answer, String> {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::OpenAi => openai::read(body),
        }
    }
}

impl Given {
    fn read(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Arguments(Arguments::new()),
            Some(Value::Object(arguments)) => Self::Arguments(arguments.clone()),
            Some(Value::String(text)) => Self::parse(text),
            Some(other) => Self::Malformed(other.to_string()),
        }
    }

    fn parse(text: &str) -> Self {
        match serde_json::from_str(text) {
            // What models write that have nothing to say.
            _ if text.trim().is_empty() => Self::Arguments(Arguments::new()),
            Ok(arguments) => Self::Arguments(arguments),
            Err(_) => Self::Malformed(text.to_owned()),
        }
    }

    /// What may be repeated: endpoints refuse a history whose arguments are no object.
    fn repeatable(&self) -> Value {
        match self {
            Self::Arguments(arguments) => Value::Object(arguments.clone()),
            Self::Malformed(_) => Value::Object(Arguments::new()),
        }
    }
}

impl Stop {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "cut off at the limit of tokens",
            Self::Refusal => "refused to answer",
        }
    }
}

impl Usage {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
        }
    }
}

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The id of a call, or one for a call that came without.
fn id(call: &Value, number: usize) -> String {
    let id = text(call, "id");
    if id.is_empty() {
        format!("call_{number}")
    } else {
        id
    }
}
