//! The words of an answer that reports an error.

use kitbag_tool_spec::AnswerRule;
use serde_json::Value;

use super::shape::{json_of, text_of};
use super::{ActionAnswer, AnswerPart};
use crate::received::Received;

/// Error pages can be whole web sites; their first lines say what there is to know.
const MOST_CHARACTERS: usize = 4000;

pub(super) fn answer(rule: &AnswerRule, received: &Received) -> ActionAnswer {
    let text = AnswerPart::Text(words(rule, received));
    ActionAnswer {
        is_error: true,
        ..ActionAnswer::of(received.status.as_u16(), vec![text])
    }
}

/// Returns the status with the words that came with it.
pub(crate) fn words(rule: &AnswerRule, received: &Received) -> String {
    let status = received.status;
    let found = declared_words(rule, received).unwrap_or_else(|| body_words(received));
    match found.is_empty() {
        true => format!("HTTP {status}"),
        false => format!("HTTP {status}: {found}"),
    }
}

fn declared_words(rule: &AnswerRule, received: &Received) -> Option<String> {
    let body = json_of(received)?;
    match rule.error.as_ref()?.find(&body)? {
        Value::Null => None,
        Value::String(words) => Some(words.clone()),
        other => Some(other.to_string()),
    }
}

fn body_words(received: &Received) -> String {
    let text = text_of(received);
    let text = text.trim();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
