//! OpenAI's Chat Completions, which many other services and programs speak as well.

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, InvalidHeaderValue};
use serde_json::{Value, json};

use super::{Answer, Conversation, Given, ToolCall, Usage, text};
use crate::tools::Tool;

pub(super) fn headers(key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(format!("Bearer {key}"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

pub(super) fn tool(tool: &Tool) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
    json!({ "type": "function", "function": function })
}

pub(super) fn body(model: &str, tools: &[Value], conversation: &Conversation) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": conversation.prompt })];
    if let Some(retry) = &conversation.retry {
        let result =
            |(id, error): &(String, String)| json!({ "role": "tool", "tool_call_id": id, "content": error });
        messages.push(retry.said.clone());
        messages.extend(retry.errors.iter().map(result));
    }
    json!({ "model": model, "tools": tools, "messages": messages })
}

pub(super) fn read(body: &Value) -> Result<Answer, String> {
    let said = body.pointer("/choices/0/message").ok_or("there is no `choices[0].message`")?;
    let calls = said.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let call = |call: &Value| {
        let function = call.get("function").unwrap_or(&Value::Null);
        ToolCall {
            id: text(call, "id"),
            name: text(function, "name"),
            arguments: Given::read(function.get("arguments")),
        }
    };
    Ok(Answer { said: said.clone(), calls: calls.iter().map(call).collect(), usage: usage(body) })
}

fn usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    let tokens = |key: &str| usage.get(key).and_then(Value::as_u64);
    Some(Usage { input: tokens("prompt_tokens")?, output: tokens("completion_tokens")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &Value, expected: &Given) {
        let function = json!({ "name": "echo", "arguments": arguments });
        let body =
            json!({ "choices": [{ "message": { "tool_calls": [{ "id": "c1", "function": function }] } }] });
        assert_eq!(read(&body).unwrap().calls[0].arguments, *expected);
    }

    #[test]
    fn arguments_are_json_in_a_string_or_what_else_was_written() {
        let arguments = |value: Value| Given::Arguments(value.as_object().unwrap().clone());
        check(&json!("{\"word\":\"hi\"}"), &arguments(json!({ "word": "hi" })));
        check(&json!({ "word": "hi" }), &arguments(json!({ "word": "hi" })));
        check(&json!(""), &arguments(json!({})));
        check(&json!("{\"word\":"), &Given::Malformed("{\"word\":".to_owned()));
        check(&json!("[1]"), &Given::Malformed("[1]".to_owned()));
        check(&json!(7), &Given::Malformed("7".to_owned()));
    }

    #[test]
    fn words_without_a_call_are_an_answer_too() {
        let answer = read(&json!({ "choices": [{ "message": { "content": "Hi." } }] })).unwrap();
        assert_eq!((answer.calls.len(), answer.usage), (0, None));
    }
}
