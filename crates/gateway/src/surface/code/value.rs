//! A tool's result as a program sees it: data if there is data, text otherwise.

use kitbag_sandbox::HostError;
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::value::RawValue;

/// Returns the structured content of a result; or else its text, parsed as JSON if it is an object
/// or a list; or else its unchanged content. An error result is an error.
pub(super) fn result_value(result: &Raw) -> Result<Raw, HostError> {
    let object = RawObject::open(result).unwrap_or_default();
    if object.read("isError") == Some(true) {
        return Err(tool_error(result, &object));
    }
    if let Some(structured) = object.get("structuredContent") {
        return Ok(structured.to_owned());
    }
    let content: Vec<Raw> = object.read("content").unwrap_or_default();
    let texts: Option<Vec<String>> = content.iter().map(|block| block_text(block)).collect();
    Ok(match texts.as_deref() {
        Some([text]) => parse_text(text),
        Some(texts) => raw(&texts
            .iter()
            .map(|text| parse_text(text))
            .collect::<Vec<_>>()),
        None => raw(&content),
    })
}

/// Returns the body of an API's answer. The first text of such a result is its head.
pub(super) fn api_value(result: &Raw) -> Result<Raw, HostError> {
    let object = RawObject::open(result).unwrap_or_default();
    if object.read("isError") == Some(true) {
        return Err(tool_error(result, &object));
    }
    let content: Vec<Raw> = object.read("content").unwrap_or_default();
    let body = content.last().and_then(|block| block_text(block));
    Ok(parse_text(&body.unwrap_or_default()))
}

pub(super) fn is_error(result: &Raw) -> bool {
    let flag = RawObject::peek_member(result, "isError");
    flag.is_some_and(|flag| flag.get() == "true")
}

/// Many tools write their data as JSON into a text. A bare number or word stays text.
fn parse_text(text: &str) -> Raw {
    let trimmed = text.trim();
    let is_data = trimmed.starts_with(['{', '[']);
    let data = is_data.then(|| serde_json::from_str::<Box<RawValue>>(trimmed).ok());
    data.flatten().unwrap_or_else(|| raw(text))
}

fn block_text(block: &RawValue) -> Option<String> {
    let block = RawObject::open(block).ok()?;
    let kind: String = block.read("type")?;
    (kind == "text").then(|| block.read("text"))?
}

fn tool_error(result: &Raw, object: &RawObject) -> HostError {
    let content: Vec<Raw> = object.read("content").unwrap_or_default();
    let texts: Vec<String> = content
        .iter()
        .filter_map(|block| block_text(block))
        .collect();
    let message = match texts.is_empty() {
        true => "the tool reported an error without a message".to_owned(),
        false => texts.join("\n"),
    };
    HostError {
        kind: "tool_error".to_owned(),
        message,
        result: Some(result.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(result: &Value, expected: &Value) {
        let value = result_value(&raw(result)).unwrap();
        let value: Value = serde_json::from_str(value.get()).unwrap();
        assert_eq!(value, *expected);
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    #[test]
    fn a_program_gets_data_if_there_is_data_and_text_otherwise() {
        check(
            &json!({ "content": [text("3 rows")], "structuredContent": { "rows": 3 } }),
            &json!({ "rows": 3 }),
        );
        check(&json!({ "content": [text(" [1, 2] ")] }), &json!([1, 2]));
        check(&json!({ "content": [text("{broken")] }), &json!("{broken"));
        check(&json!({ "content": [text("42")] }), &json!("42"));
        check(
            &json!({ "content": [text("a"), text("{}")] }),
            &json!(["a", {}]),
        );
        check(&json!({ "content": [] }), &json!([]));
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        check(&json!({ "content": [image] }), &json!([image]));
    }

    #[test]
    fn an_error_result_becomes_an_error_with_its_text() {
        let result = raw(&json!({ "content": [text("no such branch")], "isError": true }));
        let error = result_value(&result).unwrap_err();
        assert_eq!(
            (&*error.kind, &*error.message),
            ("tool_error", "no such branch")
        );
        assert_eq!(error.result.unwrap().get(), result.get());
    }
}
