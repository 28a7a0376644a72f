//! The message in an answer that reports an error.

use kitbag_tool_spec::AnswerRule;
use serde_json::Value;

use super::shape::{body_text, parse_json};
use super::{ActionAnswer, AnswerPart};
use crate::received_response::ReceivedResponse;

/// Error pages can be whole web sites; their first lines are enough.
const MOST_CHARACTERS: usize = 4000;

pub(super) fn refusal_answer(rule: &AnswerRule, received: &ReceivedResponse) -> ActionAnswer {
    let text = AnswerPart::Text(refusal_text(rule, received));
    ActionAnswer {
        is_error: true,
        ..ActionAnswer::new(received.status.as_u16(), vec![text])
    }
}

/// Returns the status with the message that came with it.
pub(crate) fn refusal_text(rule: &AnswerRule, received: &ReceivedResponse) -> String {
    let status = received.status;
    let found = declared_message(rule, received).unwrap_or_else(|| body_excerpt(received));
    match found.is_empty() {
        true => format!("HTTP {status}"),
        false => format!("HTTP {status}: {found}"),
    }
}

fn declared_message(rule: &AnswerRule, received: &ReceivedResponse) -> Option<String> {
    let body = parse_json(received)?;
    match rule.error.as_ref()?.find(&body)? {
        Value::Null => None,
        Value::String(message) => Some(message.clone()),
        other => Some(other.to_string()),
    }
}

fn body_excerpt(received: &ReceivedResponse) -> String {
    let text = body_text(received);
    let text = text.trim();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
