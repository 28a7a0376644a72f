//! A block of a server's answer, as people read it: its text, or its kind.

use serde_json::Value;

pub(super) fn block(block: &Value) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    let inner = |key: &str| {
        block
            .get("resource")
            .and_then(|resource| resource.get(key))
            .and_then(Value::as_str)
    };
    let size = |data: &str| data.len() / 4 * 3;
    match (text("type"), text("text"), text("data"), inner("text")) {
        (Some("text"), Some(text), ..) | (Some("resource"), .., Some(text)) => text.to_owned(),
        (Some("resource_link"), ..) => format!("[{}]", text("uri").unwrap_or("resource")),
        (Some("resource"), ..) => format!("[{}]", inner("uri").unwrap_or("resource")),
        (Some(kind), _, Some(data), _) => {
            format!(
                "[{kind} {}, about {} bytes]",
                text("mimeType").unwrap_or_default(),
                size(data)
            )
        }
        _ => format!("{block:#}"),
    }
}
