//! OpenAI's Chat Completions format, which many other services and programs support as well.

use serde_json::{Value, json};

use super::{
    CallResult, Conversation, Exchange, GivenArguments, ModelAnswer, StopReason, ToolCall, Usage,
    call_id, text_field, token_count,
};

pub(super) fn request_body(model: &str, conversation: &Conversation<'_>) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": conversation.prompt })];
    for Exchange {
        message: said,
        results,
    } in &conversation.exchanges
    {
        messages.push(said.clone());
        messages.extend(results.iter().map(result_message));
    }
    let mut body = json!({ "model": model, "messages": messages });
    // Some services reject an empty list.
    if !conversation.tools.is_empty() {
        body["tools"] = conversation.tools.into();
    }
    body
}

/// Only the text says that a call failed, because the format has no field for it.
fn result_message(it: &CallResult) -> Value {
    json!({ "role": "tool", "tool_call_id": it.id, "content": it.text })
}

pub(super) fn parse_answer(body: &Value, earlier: usize) -> Result<ModelAnswer, String> {
    let choice = body.pointer("/choices/0");
    let choice = choice.ok_or("`choices[0]` is missing")?;
    let said = choice.get("message").cloned();
    let mut said = said.ok_or("`choices[0].message` is missing")?;
    let (words, stop) = (text_field(&said, "content"), parse_stop(choice, &said));
    let calls = said.get_mut("tool_calls").and_then(Value::as_array_mut);
    let calls = calls.into_iter().flatten();
    let calls = calls.filter(|it| it["function"].is_object());
    let calls = (earlier..).zip(calls);
    let calls = calls
        .map(|(number, call)| extract_call(call, number))
        .collect();
    Ok(ModelAnswer {
        message: said,
        text: words,
        calls,
        stop,
        usage: parse_usage(body),
    })
}

/// Extracts a call from the message, and leaves it in a form that can be sent back.
fn extract_call(call: &mut Value, number: usize) -> ToolCall {
    let function = &call["function"];
    let taken = ToolCall {
        id: call_id(call, number),
        name: text_field(function, "name"),
        arguments: GivenArguments::from_value(function.get("arguments")),
    };
    let arguments = function.get("arguments").and_then(Value::as_str);
    let as_it_came = arguments.filter(|_| matches!(taken.arguments, GivenArguments::Arguments(_)));
    let arguments = as_it_came.map_or_else(
        || taken.arguments.to_repeatable().to_string(),
        str::to_owned,
    );
    call["id"] = taken.id.clone().into();
    call["type"] = "function".into();
    call["function"]["arguments"] = arguments.into();
    taken
}

fn parse_stop(choice: &Value, said: &Value) -> Option<StopReason> {
    match text_field(choice, "finish_reason").as_str() {
        "length" => Some(StopReason::Length),
        "content_filter" => Some(StopReason::Refusal),
        _ => (!text_field(said, "refusal").is_empty()).then_some(StopReason::Refusal),
    }
}

fn parse_usage(body: &Value) -> Option<Usage> {
    let usage = body.get("usage")?;
    Some(Usage {
        input: token_count(usage, "prompt_tokens")?,
        output: token_count(usage, "completion_tokens")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &Value, expected: &GivenArguments) {
        let function = json!({ "name": "echo", "arguments": arguments });
        let body = json!({ "choices": [{ "message": { "tool_calls": [{ "id": "c1", "function": function }] } }] });
        assert_eq!(
            parse_answer(&body, 0).unwrap().calls[0].arguments,
            *expected
        );
    }

    fn arguments(value: Value) -> GivenArguments {
        GivenArguments::Arguments(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn arguments_are_json_in_a_string_or_other_text() {
        check(
            &json!("{\"word\":\"hi\"}"),
            &arguments(json!({ "word": "hi" })),
        );
        check(
            &json!({ "word": "hi" }),
            &arguments(json!({ "word": "hi" })),
        );
        check(&json!(""), &arguments(json!({})));
        check(
            &json!("{\"word\":"),
            &GivenArguments::Malformed("{\"word\":".to_owned()),
        );
        check(&json!("[1]"), &GivenArguments::Malformed("[1]".to_owned()));
        check(&json!(7), &GivenArguments::Malformed("7".to_owned()));
    }

    fn repeat_message(call: &Value) -> Value {
        let message = json!({ "content": null, "reasoning": "hm", "tool_calls": [call] });
        let body = json!({ "choices": [{ "message": message }] });
        parse_answer(&body, 0).unwrap().message
    }

    fn call(id: &str, arguments: &str) -> Value {
        let function = json!({ "name": "echo", "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    }

    #[test]
    fn messages_are_repeated_verbatim_except_for_calls_that_would_be_rejected() {
        let untouched = call("c1", "{\"word\": \"hi\"}");
        let kept = repeat_message(&untouched);
        assert_eq!(
            (&kept["tool_calls"][0], &kept["reasoning"]),
            (&untouched, &json!("hm"))
        );
        assert_eq!(
            repeat_message(&call("c1", "{\"word\":"))["tool_calls"][0],
            call("c1", "{}")
        );
        let loose = json!({ "function": { "name": "echo", "arguments": { "word": "hi" } } });
        assert_eq!(
            repeat_message(&loose)["tool_calls"][0],
            call("call_0", "{\"word\":\"hi\"}")
        );
    }

    #[test]
    fn an_answer_that_ended_early_has_a_reason() {
        let words = json!({ "content": "Well," });
        let refusal = json!({ "content": null, "refusal": "I can't." });
        for (choice, expected) in [
            (
                json!({ "message": words, "finish_reason": "length" }),
                Some(StopReason::Length),
            ),
            (
                json!({ "message": words, "finish_reason": "content_filter" }),
                Some(StopReason::Refusal),
            ),
            (
                json!({ "message": refusal, "finish_reason": "stop" }),
                Some(StopReason::Refusal),
            ),
            (
                json!({ "message": { "content": "Hi.", "refusal": null } }),
                None,
            ),
        ] {
            let body = json!({ "choices": [choice] });
            assert_eq!(parse_answer(&body, 0).unwrap().stop, expected, "{body}");
        }
    }

    #[test]
    fn text_without_a_call_is_an_answer() {
        let answer = parse_answer(
            &json!({ "choices": [{ "message": { "content": "Hi." } }] }),
            0,
        )
        .unwrap();
        assert_eq!((answer.calls.len(), answer.usage), (0, None));
    }
}
