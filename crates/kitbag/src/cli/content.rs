//! Formats a content block as text, or as its kind if it is not text.

use serde_json::Value;

pub(super) fn format_block(block: &Value) -> String {
    let resource = block.get("resource").unwrap_or(&Value::Null);
    let (kind, data) = (get_str(block, "type"), get_str(block, "data"));
    match (
        kind,
        get_str(block, "text"),
        data,
        get_str(resource, "text"),
    ) {
        (Some("text"), Some(text), ..) | (Some("resource"), .., Some(text)) => text.to_owned(),
        (Some("resource_link"), ..) => format_uri(block),
        (Some("resource"), ..) => format_uri(resource),
        (Some(kind), _, Some(data), _) => {
            let media = get_str(block, "mimeType").unwrap_or_default();
            // Four Base64 characters encode three bytes.
            let size = data.len() / 4 * 3;
            format!("[{kind} {media}, about {size} bytes]")
        }
        _ => format!("{block:#}"),
    }
}

fn format_uri(resource: &Value) -> String {
    format!("[{}]", get_str(resource, "uri").unwrap_or("resource"))
}

/// Returns the items of the array `key` of an object.
pub(crate) fn get_items<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    let items = object.get(key).and_then(Value::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the string field `key` of an object.
pub(crate) fn get_str<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}
