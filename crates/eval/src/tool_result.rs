//! The result of a tool, as far as an eval looks at it.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub failed: bool,
    /// The text that a model would read.
    pub text: String,
    pub structured: Value,
}

impl ToolResult {
    /// Parses the result of `tools/call`.
    pub fn new(result: &Value) -> Self {
        let structured = result.get("structuredContent");
        let text = match (text_blocks(result), structured) {
            (texts, Some(structured)) if texts.is_empty() => structured.to_string(),
            (texts, _) => texts.join("\n"),
        };
        let failed = result.get("isError").and_then(Value::as_bool);
        // Servers of older protocol versions can put structured data only into the text.
        let structured = structured.cloned();
        let structured = structured.or_else(|| serde_json::from_str(&text).ok());
        Self {
            failed: failed.unwrap_or(false),
            text,
            structured: structured.unwrap_or_default(),
        }
    }

    /// Returns the result of a call whose arguments cannot be parsed.
    pub(crate) fn for_malformed_arguments(arguments: &str) -> Self {
        Self::from_error(format!("The arguments are not a JSON object: {arguments}"))
    }

    /// Returns the result of a call that was never made.
    pub fn from_error(text: String) -> Self {
        Self {
            failed: true,
            text,
            structured: Value::Null,
        }
    }
}

fn text_blocks(result: &Value) -> Vec<&str> {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|it| it.get("text"));
    texts.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blocks(text: &str) -> Value {
        json!([{ "type": "text", "text": text }])
    }

    #[track_caller]
    fn check(result: &Value, text: &str, structured: Value, failed: bool) {
        let text = text.to_owned();
        let expected = ToolResult {
            failed,
            text,
            structured,
        };
        assert_eq!(ToolResult::new(result), expected);
    }

    #[test]
    fn a_result_has_the_text_that_a_model_reads() {
        check(
            &json!({ "content": blocks("hi"), "structuredContent": { "n": 1 } }),
            "hi",
            json!({ "n": 1 }),
            false,
        );
        check(
            &json!({ "content": blocks("{\"n\":2}") }),
            "{\"n\":2}",
            json!({ "n": 2 }),
            false,
        );
        check(
            &json!({ "content": [], "structuredContent": { "n": 3 } }),
            "{\"n\":3}",
            json!({ "n": 3 }),
            false,
        );
        check(
            &json!({ "content": blocks("no"), "isError": true }),
            "no",
            Value::Null,
            true,
        );
    }
}
