//! A block of a server's answer, as people read it: its text, or its kind.

use serde_json::Value;

pub(super) fn block(block: &Value) -> String {
    let resource = block.get("resource").unwrap_or(&Value::Null);
    let (kind, data) = (member(block, "type"), member(block, "data"));
    match (kind, member(block, "text"), data, member(resource, "text")) {
        (Some("text"), Some(text), ..) | (Some("resource"), .., Some(text)) => text.to_owned(),
        (Some("resource_link"), ..) => named(block),
        (Some("resource"), ..) => named(resource),
        (Some(kind), _, Some(data), _) => {
            let media = member(block, "mimeType").unwrap_or_default();
            // Four letters of Base64 stand for three bytes.
            let size = data.len() / 4 * 3;
            format!("[{kind} {media}, about {size} bytes]")
        }
        _ => format!("{block:#}"),
    }
}

fn named(resource: &Value) -> String {
    format!("[{}]", member(resource, "uri").unwrap_or("resource"))
}

/// Returns the text under a key of an object.
pub(super) fn member<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}
