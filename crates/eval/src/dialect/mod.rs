//! The two formats for querying models: the request body, and parsing the answer.
//!
//! Requests contain nothing that some model of the family rejects, unless the caller asks for it:
//! no temperature, no forced choice, no limit to a single call. The model's own messages are
//! repeated verbatim, because some models need their own thoughts back unchanged. Only a call that
//! an endpoint would reject in the history is corrected.
//!
//! # Layout
//! - this file: conversation and answer, in either format; `given_arguments`: the arguments of a
//!   call
//! - `anthropic`, `openai`: the two formats

mod anthropic;
mod given_arguments;
mod openai;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use kitbag_llm::tool_schema::{UnsupportedTool, Vendor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use given_arguments::GivenArguments;

use crate::suite::CallArguments;
use crate::tools::{EvalTool, EvalTools};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic,
    OpenAi,
}

/// A prompt, with the model's tools and the turns so far.
#[derive(Debug, Clone)]
pub(crate) struct Conversation<'a> {
    /// The definitions as written by [`Dialect::tool_definitions`].
    pub(crate) tools: &'a [Value],
    /// Further parameters of the request.
    pub(crate) parameters: &'a CallArguments,
    pub(crate) prompt: &'a str,
    /// The earlier turns, oldest first.
    pub(crate) exchanges: Vec<Exchange>,
}

/// One turn of a model, and the results of its calls.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The model's own message.
    pub(crate) message: Value,
    /// The result of each call of the turn.
    pub(crate) results: Vec<CallResult>,
}

#[derive(Debug, Clone)]
pub(crate) struct CallResult {
    /// The id of the call.
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) failed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelAnswer {
    /// The message in a form that can be sent back to the model.
    pub(crate) message: Value,
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
}

/// The reason why an answer, or the whole conversation, ended before the model was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The answer reached the token limit.
    Length,
    /// The model, or a filter, refused to answer.
    Refusal,
    /// The conversation reached the turn limit before the model was done.
    Turns,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: GivenArguments,
}

/// Tokens as counted by the endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

impl Dialect {
    /// Returns the path below the base URL.
    pub(crate) fn endpoint_path(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAi => "chat/completions",
        }
    }

    /// Returns the headers that every request must have.
    pub(crate) fn required_headers(self) -> HeaderMap {
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

    /// Returns the header for the key, unless an endpoint needs another one.
    pub(crate) fn key_header(self) -> HeaderName {
        match self {
            Self::Anthropic => HeaderName::from_static("x-api-key"),
            Self::OpenAi => AUTHORIZATION,
        }
    }

    /// Returns the definitions as they are sent. Definitions that no vendor accepts are skipped.
    pub(crate) fn tool_definitions(self, tools: &EvalTools) -> Vec<Value> {
        tools
            .iter()
            .filter_map(|tool| self.tool_definition(tool).ok())
            .collect()
    }

    pub(crate) fn tool_definition(self, tool: &EvalTool) -> Result<Value, UnsupportedTool> {
        self.vendor()
            .tool(&tool.name, &tool.description, &tool.schema)
    }

    pub(crate) fn vendor(self) -> Vendor {
        match self {
            Self::Anthropic => Vendor::Anthropic,
            Self::OpenAi => Vendor::OpenAi,
        }
    }

    pub(crate) fn request_body(self, model: &str, conversation: &Conversation<'_>) -> Value {
        let mut body = match self {
            Self::Anthropic => anthropic::request_body(model, conversation),
            Self::OpenAi => openai::request_body(model, conversation),
        };
        for (name, value) in conversation.parameters {
            body[name.as_str()] = value.clone();
        }
        body
    }

    /// Returns the answer, or the fault in it. `earlier` is the number of the model's earlier
    /// calls, so that a call without an id gets a unique one.
    pub(crate) fn parse_answer(self, body: &Value, earlier: usize) -> Result<ModelAnswer, String> {
        match self {
            Self::Anthropic => anthropic::parse_answer(body, earlier),
            Self::OpenAi => openai::parse_answer(body, earlier),
        }
    }
}

impl Conversation<'_> {
    /// Returns the number of calls that the model has made so far.
    pub(crate) fn call_count(&self) -> usize {
        self.exchanges.iter().map(|it| it.results.len()).sum()
    }
}

impl StopReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "cut off at the token limit",
            Self::Refusal => "refused to answer",
            Self::Turns => "stopped at the turn limit",
        }
    }
}

impl ModelAnswer {
    /// Returns the usage of a conversation with this answer after `turns` others. One uncounted
    /// answer leaves the whole uncounted.
    pub(crate) fn total_usage(&self, turns: u32, before: Option<Usage>) -> Option<Usage> {
        match turns {
            0 => self.usage,
            _ => Some(before?.add(self.usage?)),
        }
    }
}

impl ToolCall {
    /// Returns the text for counting the tokens of the call.
    pub(crate) fn as_written(&self) -> String {
        json!({ "name": self.name, "arguments": self.arguments.as_sent() }).to_string()
    }

    pub(crate) fn to_result(&self, text: String, failed: bool) -> CallResult {
        CallResult {
            id: self.id.clone(),
            text,
            failed,
        }
    }
}

impl Usage {
    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
        }
    }
}

fn text_field(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns a number of tokens counted by the endpoint.
fn token_count(usage: &Value, key: &str) -> Option<u64> {
    usage.get(key).and_then(Value::as_u64)
}

/// Returns the id of a call, or a new one for a call without one.
fn call_id(call: &Value, number: usize) -> String {
    let id = text_field(call, "id");
    if id.is_empty() {
        format!("call_{number}")
    } else {
        id
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(id: &str, text: &str, failed: bool) -> CallResult {
        CallResult {
            id: id.into(),
            text: text.into(),
            failed,
        }
    }

    /// Returns the messages of two turns: the first answer has two calls, of which one failed, the
    /// second has one.
    fn messages(dialect: Dialect, said: [Value; 2]) -> Value {
        let results = [
            vec![result("c0", "found", false), result("c1", "no", true)],
            vec![result("c2", "ok", false)],
        ];
        let exchanges = said
            .into_iter()
            .zip(results)
            .map(|(said, results)| Exchange {
                message: said,
                results,
            });
        let (parameters, exchanges) = (CallArguments::new(), exchanges.collect());
        let conversation = Conversation {
            tools: &[],
            parameters: &parameters,
            prompt: "Find it",
            exchanges,
        };
        assert_eq!(conversation.call_count(), 3);
        dialect.request_body("m", &conversation)["messages"].clone()
    }

    #[test]
    fn openai_reads_each_turn_and_then_a_message_for_each_result() {
        let [one, two] = ["one", "two"].map(|it| json!({ "role": "assistant", "content": it }));
        let expected = json!([
            { "role": "user", "content": "Find it" },
            one,
            { "role": "tool", "tool_call_id": "c0", "content": "found" },
            { "role": "tool", "tool_call_id": "c1", "content": "no" },
            two,
            { "role": "tool", "tool_call_id": "c2", "content": "ok" },
        ]);
        assert_eq!(messages(Dialect::OpenAi, [one, two]), expected);
    }

    #[test]
    fn anthropic_reads_each_turn_and_then_all_its_results_in_one_message() {
        let [one, two] = ["one", "two"].map(|it| json!([{ "type": "text", "text": it }]));
        let found = json!({ "type": "tool_result", "tool_use_id": "c0", "content": "found" });
        let failed = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": true });
        let ok = json!({ "type": "tool_result", "tool_use_id": "c2", "content": "ok" });
        let expected = json!([
            { "role": "user", "content": "Find it" },
            { "role": "assistant", "content": one },
            { "role": "user", "content": [found, failed] },
            { "role": "assistant", "content": two },
            { "role": "user", "content": [ok] },
        ]);
        assert_eq!(messages(Dialect::Anthropic, [one, two]), expected);
    }

    #[test]
    fn calls_without_an_id_get_one_that_no_earlier_call_has() {
        let call = json!({ "function": { "name": "echo", "arguments": "{}" } });
        let openai = json!({ "choices": [{ "message": { "tool_calls": [call, call] } }] });
        let call = json!({ "type": "tool_use", "name": "echo", "input": {} });
        let anthropic = json!({ "content": [call, call] });
        for (dialect, body) in [(Dialect::OpenAi, openai), (Dialect::Anthropic, anthropic)] {
            let ids: Vec<_> = dialect
                .parse_answer(&body, 3)
                .unwrap()
                .calls
                .into_iter()
                .map(|it| it.id)
                .collect();
            assert_eq!(ids, ["call_3", "call_4"]);
        }
    }
}
