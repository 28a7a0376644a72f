//! Anthropic's Messages.

use http::header::{HeaderMap, HeaderValue, InvalidHeaderValue};
use serde_json::{Value, json};

use super::{Answer, Conversation, Given, ToolCall, Usage, text};
use crate::tools::Tool;

/// Room for a thought and a call; the format wants a number.
const MAX_TOKENS: u32 = 4096;

pub(super) fn headers(key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::new();
    headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(key)?;
        value.set_sensitive(true);
        headers.insert("x-api-key", value);
    }
    Ok(headers)
}

pub(super) fn tool(tool: &Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema })
}

pub(super) fn body(model: &str, tools: &[Value], conversation: &Conversation) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": conversation.prompt })];
    if let Some(retry) = &conversation.retry {
        let result = |(id, error): &(String, String)| json!({ "type": "tool_result", "tool_use_id": id, "content": error, "is_error": true });
        messages.push(json!({ "role": "assistant", "content": retry.said }));
        let results: Vec<Value> = retry.errors.iter().map(result).collect();
        messages.push(json!({ "role": "user", "content": results }));
    }
    json!({ "model": model, "max_tokens": MAX_TOKENS, "tools": tools, "messages": messages })
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let content = body.get("content").ok_or("there is no `content`")?;
    let blocks = content.as_array().ok_or("`content` is not a list")?;
    let calls = blocks.iter().filter(|block| text(block, "type") == "tool_use");
    let call = |block: &Value| ToolCall {
        id: text(block, "id"),
        name: text(block, "name"),
        arguments: Given::read(block.get("input")),
    };
    Ok(Answer { said: content.clone(), calls: calls.map(call).collect(), usage: usage(body) })
}

/// What was read from or written to a cache was input, too.
fn usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    let tokens = |key: &str| usage.get(key).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].into_iter().filter_map(tokens);
    Some(Usage { input: tokens("input_tokens")? + cached.sum::<u64>(), output: tokens("output_tokens")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_among_thoughts_and_words_is_found() {
        let body = json!({
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "Let me look." },
                { "type": "tool_use", "id": "t1", "name": "echo", "input": { "word": "hi" } },
            ],
            "usage": { "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3 },
        });
        let answer = read(&body).unwrap();
        let word = json!({ "word": "hi" }).as_object().unwrap().clone();
        assert_eq!(
            answer.calls,
            [ToolCall { id: "t1".into(), name: "echo".into(), arguments: Given::Arguments(word) }]
        );
        assert_eq!(answer.usage, Some(Usage { input: 15, output: 3 }));
        assert_eq!(answer.said, body["content"]);
        assert_eq!(read(&json!({ "type": "error" })), Err("there is no `content`".to_owned()));
    }
}
