//! The parts of a body that are returned.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_tool_spec::{AnswerRule, AnswerType, JsonPointer};
use kitbag_wire::{Raw, raw};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{AnswerPart, images};
use crate::received_response::ReceivedResponse;

pub(super) fn answer_parts(rule: &AnswerRule, received: &ReceivedResponse) -> Vec<AnswerPart> {
    match rule.kind {
        // Events may arrive as plain JSON, as some APIs answer a short request.
        AnswerType::Json | AnswerType::Events => json_parts(rule, received),
        AnswerType::Text => vec![AnswerPart::Text(body_text(received))],
        AnswerType::JsonLines => vec![AnswerPart::Json(raw(&parse_lines(rule, received)))],
        AnswerType::Image => vec![AnswerPart::Image {
            base64: STANDARD.encode(&received.body),
            media_type: image_type(rule, received),
        }],
        AnswerType::Bytes => vec![AnswerPart::Json(raw(&encode_bytes(received)))],
    }
}

pub(crate) fn parse_json(received: &ReceivedResponse) -> Option<Value> {
    serde_json::from_slice(&received.body).ok()
}

pub(super) fn body_text(received: &ReceivedResponse) -> String {
    String::from_utf8_lossy(&received.body).into_owned()
}

fn json_parts(rule: &AnswerRule, received: &ReceivedResponse) -> Vec<AnswerPart> {
    if received.body.trim_ascii().is_empty() {
        let nothing = json!({ "status": received.status.as_u16() });
        return vec![AnswerPart::Json(raw(&nothing))];
    }
    if is_unshaped(rule)
        && let Some(json) = unchanged_json(received)
    {
        return vec![AnswerPart::Json(json)];
    }
    let Some(mut value) = parse_json(received) else {
        return vec![AnswerPart::Text(body_text(received))];
    };
    let images = images::take_images(rule, &mut value);
    let json = pick_part(rule, &value);
    let says_nothing = json == json!({}) && !images.is_empty();
    let json = (!says_nothing).then(|| AnswerPart::Json(raw(&json)));
    json.into_iter().chain(images).collect()
}

fn is_unshaped(rule: &AnswerRule) -> bool {
    rule.pick == JsonPointer::default() && rule.keep.is_empty() && rule.image.is_none()
}

/// Returns the body unchanged, so that no digit of a number is lost.
fn unchanged_json(received: &ReceivedResponse) -> Option<Raw> {
    serde_json::from_slice::<Box<RawValue>>(&received.body).ok()
}

/// If an API's answer differs from the declaration, it is returned as it is.
fn pick_part(rule: &AnswerRule, value: &Value) -> Value {
    keep_members(&rule.keep, rule.pick.find(value).unwrap_or(value))
}

/// Returns the kept members of a value, or of each item if it is a list.
pub(crate) fn keep_members(keep: &[JsonPointer], value: &Value) -> Value {
    if keep.is_empty() {
        return value.clone();
    }
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| select_members(keep, item))
            .collect(),
        single => select_members(keep, single),
    }
}

fn select_members(keep: &[JsonPointer], value: &Value) -> Value {
    if !value.is_object() {
        return value.clone();
    }
    let mut members = Map::new();
    for pointer in keep {
        if let Some(found) = pointer.find(value) {
            members.insert(member_name(pointer, &members), found.clone());
        }
    }
    Value::Object(members)
}

/// The last segment names the member; a duplicate is named by its whole path.
fn member_name(pointer: &JsonPointer, taken: &Map<String, Value>) -> String {
    let whole = pointer.as_str().trim_start_matches('/');
    let last = pointer.last().filter(|last| !taken.contains_key(last));
    last.unwrap_or_else(|| whole.to_owned())
}

fn parse_lines(rule: &AnswerRule, received: &ReceivedResponse) -> Vec<Value> {
    let text = body_text(received);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned())))
        .map(|line| pick_part(rule, &line))
        .collect()
}

fn image_type(rule: &AnswerRule, received: &ReceivedResponse) -> String {
    let sent = media_type(received).filter(|kind| kind.starts_with("image/"));
    sent.unwrap_or(&rule.image_type).to_owned()
}

fn encode_bytes(received: &ReceivedResponse) -> Value {
    json!({
        "base64": STANDARD.encode(&received.body),
        "type": media_type(received).unwrap_or("application/octet-stream"),
        "bytes": received.body.len(),
    })
}

fn media_type(received: &ReceivedResponse) -> Option<&str> {
    let kind = received.content_type()?.split(';').next()?;
    Some(kind.trim())
}
