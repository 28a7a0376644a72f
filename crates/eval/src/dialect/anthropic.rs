//! Anthropic's Messages format.

use serde_json::{Value, json};

use super::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, StopReason, ToolCall, Usage,
    call_id, text_field, token_count,
};

/// Enough tokens for some thinking and a call. The format requires a number.
const MAX_TOKENS: u32 = 4096;

pub(super) fn request_body(model: &str, conversation: &Conversation<'_>) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": conversation.prompt })];
    for Exchange {
        message: said,
        results,
    } in &conversation.exchanges
    {
        messages.push(json!({ "role": "assistant", "content": said }));
        let results: Vec<Value> = results.iter().map(result_block).collect();
        messages.push(json!({ "role": "user", "content": results }));
    }
    let mut body = json!({ "model": model, "max_tokens": MAX_TOKENS, "messages": messages });
    if !conversation.tools.is_empty() {
        body["tools"] = conversation.tools.into();
    }
    body
}

fn result_block(it: &CallResult) -> Value {
    let mut result = json!({ "type": "tool_result", "tool_use_id": it.id, "content": it.text });
    if it.failed {
        result["is_error"] = true.into();
    }
    result
}

pub(super) fn parse_answer(body: &Value, earlier: usize) -> Result<ModelAnswer, String> {
    let said = body.get("content").cloned();
    let mut said = said.ok_or("`content` is missing")?;
    let blocks = said.as_array_mut().ok_or("`content` is not a list")?;
    let words = blocks.iter().filter(|it| text_field(it, "type") == "text");
    let words: Vec<_> = words.map(|it| text_field(it, "text")).collect();
    let calls = blocks
        .iter_mut()
        .filter(|it| text_field(it, "type") == "tool_use");
    let calls = (earlier..).zip(calls);
    let calls = calls
        .map(|(number, call)| extract_call(call, number))
        .collect();
    Ok(ModelAnswer {
        message: said,
        text: words.join("\n"),
        calls,
        stop: parse_stop(body),
        usage: parse_usage(body),
    })
}

/// Extracts a call from the message, and leaves it in a form that can be sent back.
fn extract_call(call: &mut Value, number: usize) -> ToolCall {
    let arguments = GivenArguments::from_value(call.get("input"));
    let taken = ToolCall {
        id: call_id(call, number),
        name: text_field(call, "name"),
        arguments,
    };
    call["id"] = taken.id.clone().into();
    call["input"] = taken.arguments.to_repeatable();
    taken
}

fn parse_stop(body: &Value) -> Option<StopReason> {
    match text_field(body, "stop_reason").as_str() {
        "max_tokens" | "model_context_window_exceeded" => Some(StopReason::Length),
        "refusal" => Some(StopReason::Refusal),
        _ => None,
    }
}

/// Tokens that were read from or written to a cache count as input, too.
fn parse_usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"]
        .into_iter()
        .filter_map(|key| token_count(usage, key));
    Some(Usage {
        input: token_count(usage, "input_tokens")? + cached.sum::<u64>(),
        output: token_count(usage, "output_tokens")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_among_thoughts_and_text_is_found() {
        let body = json!({
            "content": [
                { "type": "thinking", "thinking": "hm", "signature": "s" },
                { "type": "text", "text": "Let me look." },
                { "type": "tool_use", "id": "t1", "name": "echo", "input": { "word": "hi" } },
            ],
            "usage": { "input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3 },
        });
        let answer = parse_answer(&body, 0).unwrap();
        let word = json!({ "word": "hi" }).as_object().unwrap().clone();
        assert_eq!(
            answer.calls,
            [ToolCall {
                id: "t1".into(),
                name: "echo".into(),
                arguments: GivenArguments::Arguments(word)
            }]
        );
        assert_eq!(
            answer.usage,
            Some(Usage {
                input: 15,
                output: 3
            })
        );
        assert_eq!(
            (&answer.message, answer.text.as_str()),
            (&body["content"], "Let me look.")
        );
        assert_eq!(
            parse_answer(&json!({ "type": "error" }), 0),
            Err("`content` is missing".to_owned())
        );
    }

    #[test]
    fn a_truncated_call_is_repeated_as_a_call_and_reported_as_truncated() {
        let call = json!({ "type": "tool_use", "id": "", "name": "echo", "input": "{\"word\":" });
        let answer = parse_answer(
            &json!({ "content": [call], "stop_reason": "max_tokens" }),
            0,
        )
        .unwrap();
        assert_eq!(
            (&answer.message[0]["id"], &answer.message[0]["input"]),
            (&json!("call_0"), &json!({}))
        );
        assert_eq!(
            (answer.calls[0].id.as_str(), answer.stop),
            ("call_0", Some(StopReason::Length))
        );
        let refused = parse_answer(&json!({ "content": [], "stop_reason": "refusal" }), 0).unwrap();
        assert_eq!(refused.stop, Some(StopReason::Refusal));
    }
}
