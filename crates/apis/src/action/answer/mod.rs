//! The answer of an action, and the part of it that is returned.
//!
//! - this file: the answer, and its form as the result of a tool
//! - `shape`: the picked and kept parts of a body; `images`: images in it
//! - `events`: server-sent events, read as a stream
//! - `refusal`: the message in an answer that reports an error

mod events;
mod images;
mod refusal;
mod shape;

use kitbag_fetch::Secrets;
use kitbag_tool_spec::{AnswerRule, AnswerType, JsonPointer, UsageRule};
use kitbag_wire::{Raw, raw};
use serde_json::{Value, json};
use url::Url;

pub(super) use events::{EventAnswer, has_events, read_events};
pub(super) use refusal::refusal_text as refusal_words;
pub(super) use shape::{keep_members, parse_json};

use crate::received_response::ReceivedResponse;

#[derive(Debug, Clone)]
pub struct ActionAnswer {
    pub status: u16,
    pub is_error: bool,
    pub content: Vec<AnswerPart>,
    /// Only for an action with pages.
    pub pages: Option<PagesRead>,
    /// The reason why the end is missing.
    pub incomplete: Option<String>,
    /// Advice for the reader of an error, if there is any.
    pub advice: Option<String>,
    pub usage: AnswerUsage,
}

/// The cost and the usage in an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerUsage {
    pub cost_usd: Option<f64>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
}

#[derive(Debug, Clone)]
pub enum AnswerPart {
    Json(Raw),
    Text(String),
    Image { base64: String, media_type: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PagesRead {
    pub read: u32,
    /// True if there is at least one more page.
    pub more: bool,
    /// The cursor of the next page, for the argument that takes it.
    pub next: Option<Value>,
}

/// The answer to the request for one page.
pub(super) enum PageAnswer {
    /// With the address that answered, against which a link is resolved.
    Whole {
        url: Url,
        received: ReceivedResponse,
    },
    /// With the secrets that were sent. An event may contain a part of one, so they are masked when
    /// the events are joined.
    Events(EventAnswer, Secrets),
}

impl ActionAnswer {
    /// Returns the answer as the result of a tool.
    pub fn tool_result(&self) -> Raw {
        let mut content: Vec<Value> = self.content.iter().map(AnswerPart::content_block).collect();
        // A list of pages reports this itself.
        let missing = self.incomplete.as_ref().filter(|_| self.pages.is_none());
        content.extend(missing.map(|why| text_block(&format!("The answer is incomplete: {why}"))));
        content.extend(self.advice.as_ref().map(|advice| text_block(advice)));
        raw(&json!({ "content": content, "isError": self.is_error }))
    }

    fn mask_secrets(mut self, secrets: &Secrets) -> Self {
        for part in &mut self.content {
            part.mask_secrets(secrets);
        }
        self
    }

    pub(super) fn new(status: u16, content: Vec<AnswerPart>) -> Self {
        Self {
            status,
            is_error: false,
            content,
            pages: None,
            incomplete: None,
            advice: None,
            usage: AnswerUsage::default(),
        }
    }
}

impl AnswerUsage {
    fn find_usage(rule: &AnswerRule, received: &ReceivedResponse) -> Self {
        let body = (rule.kind == AnswerType::Json).then(|| parse_json(received));
        let Some(body) = body.flatten() else {
            return Self::default();
        };
        let UsageRule {
            cost,
            input_tokens,
            output_tokens,
        } = &rule.usage;
        let tokens = |pointer: &Option<JsonPointer>| pointer.as_ref()?.find(&body)?.as_u64();
        let cost = cost.find(&body).and_then(Value::as_f64);
        Self {
            cost_usd: cost.filter(|usd| *usd >= 0.0),
            input_tokens: tokens(input_tokens),
            output_tokens: tokens(output_tokens),
        }
    }
}

impl AnswerPart {
    pub(super) fn is_image(&self) -> bool {
        matches!(self, Self::Image { .. })
    }

    fn mask_secrets(&mut self, secrets: &Secrets) {
        match self {
            Self::Text(text) => *text = secrets.mask_text(text).into_owned(),
            Self::Json(json) if secrets.are_in(json.get()) => {
                let clean = secrets.mask_text(json.get());
                *json = serde_json::from_str(&clean).unwrap_or_else(|_| raw(&clean));
            }
            Self::Json(_) | Self::Image { .. } => {}
        }
    }

    fn content_block(&self) -> Value {
        match self {
            Self::Json(json) => text_block(json.get()),
            Self::Text(text) => text_block(text),
            Self::Image { base64, media_type } => {
                json!({ "type": "image", "data": base64, "mimeType": media_type })
            }
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Returns the part that the rule selects.
pub(super) fn shape_answer(rule: &AnswerRule, page: PageAnswer) -> ActionAnswer {
    match page {
        PageAnswer::Events(events, secrets) => events.into_answer(rule).mask_secrets(&secrets),
        PageAnswer::Whole { received, .. } if is_refusal(&received) => {
            refusal::refusal_answer(rule, &received)
        }
        PageAnswer::Whole { received, .. } => shape_whole(rule, &received),
    }
}

pub(super) fn is_refusal(received: &ReceivedResponse) -> bool {
    received.status.is_client_error() || received.status.is_server_error()
}

fn shape_whole(rule: &AnswerRule, received: &ReceivedResponse) -> ActionAnswer {
    ActionAnswer {
        usage: AnswerUsage::find_usage(rule, received),
        ..ActionAnswer::new(
            received.status.as_u16(),
            shape::answer_parts(rule, received),
        )
    }
}
