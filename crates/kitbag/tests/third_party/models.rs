//! The official SDKs of two model vendors, with and without the gateway, against a scripted vendor: both
//! give the same results.

use std::process::Command;

use axum::body::Body;
use axum::response::Response;
use kitbag_testkit::vendor::{Received, ScriptedVendor};
use serde_json::{Value, json};

use crate::driver::Sdk;
use crate::gateway::{TestGateway, tools};

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_official_sdks_of_the_vendors_work_through_the_gateway_unchanged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let vendor = runtime.block_on(ScriptedVendor::start(answer));
    let test_gateway = TestGateway::in_front_of(&vendor.tables());
    let base = test_gateway.endpoint().trim_end_matches("/mcp");
    for sdk in [Sdk::Python, Sdk::TypeScript] {
        assert_eq!(sdk_results(sdk, base), expected(), "{sdk:?}");
    }
}

/// Everything that an SDK returns for the responses.
fn sdk_results(sdk: Sdk, base: &str) -> Value {
    let mut command: Command = sdk.script_command("model_sdks");
    let output = command
        .arg(base)
        .env("KITBAG_TOOLS", tools())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sdk:?}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("the scripts print JSON")
}

fn expected() -> Value {
    json!({
        "message": ["Hello there", 5, "req_1"],
        "stream": ["Hello there", "end_turn"],
        "tool": ["look_up", { "q": 1 }],
        "busy": [429, "slow down", "7"],
        "overloaded": [529, "overloaded_error"],
        "count": 3,
        "chat": ["Hello there", "req_2"],
        "chat_stream": "Hello there",
        "chat_tool": "look_up",
        "chat_bad": [400, "no such model"],
        "response": "Hello there",
        "response_stream": "Hello there",
        "models": ["m"],
    })
}

/// Answers like the vendors.
fn answer(received: &Received) -> Response {
    let asked: Value = serde_json::from_slice(&received.body).unwrap_or_default();
    let (path, stream) = (received.uri.path(), asked["stream"] == true);
    match (path, asked["model"].as_str().unwrap_or_default()) {
        ("/v1/messages", "busy") => error(429, "rate_limit_error", "slow down"),
        ("/v1/messages", "overloaded") => error(529, "overloaded_error", "come back later"),
        ("/v1/messages", _) if stream => events(&anthropic_events()),
        ("/v1/messages", _) => whole(&anthropic_message(&asked)),
        ("/v1/messages/count_tokens", _) => whole(&json!({ "input_tokens": 3 })),
        ("/v1/chat/completions", "bad") => error(400, "invalid_request_error", "no such model"),
        ("/v1/chat/completions", _) if stream => events(&chat_events()),
        ("/v1/chat/completions", _) => whole(&chat_completion(&asked)),
        ("/v1/responses", _) if stream => events(&response_events()),
        ("/v1/responses", _) => whole(&response("Hello there")),
        ("/v1/models", _) => whole(&json!({ "object": "list", "data": [
            { "id": "m", "object": "model", "created": 1, "owned_by": "x" },
        ] })),
        _ => error(404, "not_found_error", path),
    }
}

fn whole(body: &Value) -> Response {
    with_ids(200, "application/json", body.to_string())
}

fn error(status: u16, kind: &str, message: &str) -> Response {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    with_ids(status, "application/json", body.to_string())
}

/// An event without a name is a bare data line.
fn events(events: &[(&str, Value)]) -> Response {
    let lines = events.iter().map(|(name, data)| match (*name, data) {
        ("", Value::String(text)) => format!("data: {text}\n\n"),
        ("", data) => format!("data: {data}\n\n"),
        (name, data) => format!("event: {name}\ndata: {data}\n\n"),
    });
    with_ids(200, "text/event-stream", lines.collect())
}

fn with_ids(status: u16, kind: &str, body: String) -> Response {
    let answer = Response::builder()
        .status(status)
        .header("content-type", kind)
        .header("request-id", "req_1")
        .header("x-request-id", "req_2")
        .header("retry-after", "7");
    answer.body(Body::from(body)).unwrap()
}

fn anthropic_message(asked: &Value) -> Value {
    let content = match asked["tools"].is_array() {
        true => json!([{ "type": "tool_use", "id": "t1", "name": "look_up", "input": { "q": 1 } }]),
        false => json!([{ "type": "text", "text": "Hello there" }]),
    };
    let usage = json!({ "input_tokens": 3, "output_tokens": 5 });
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
        "stop_reason": "end_turn", "stop_sequence": null, "usage": usage,
    })
}

fn anthropic_events() -> Vec<(&'static str, Value)> {
    let mut message = anthropic_message(&Value::Null);
    message["content"] = json!([]);
    let delta = |text: &str| {
        let delta = json!({ "type": "text_delta", "text": text });
        json!({ "type": "content_block_delta", "index": 0, "delta": delta })
    };
    let block = json!({ "type": "text", "text": "" });
    let stop = json!({ "stop_reason": "end_turn", "stop_sequence": null });
    let usage = json!({ "output_tokens": 5 });
    vec![
        (
            "message_start",
            json!({ "type": "message_start", "message": message }),
        ),
        (
            "content_block_start",
            json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        ),
        ("ping", json!({ "type": "ping" })),
        ("content_block_delta", delta("Hello ")),
        ("content_block_delta", delta("there")),
        (
            "content_block_stop",
            json!({ "type": "content_block_stop", "index": 0 }),
        ),
        (
            "message_delta",
            json!({ "type": "message_delta", "delta": stop, "usage": usage }),
        ),
        ("message_stop", json!({ "type": "message_stop" })),
    ]
}

fn chat_completion(asked: &Value) -> Value {
    let message = match asked["tools"].is_array() {
        true => {
            let function = json!({ "name": "look_up", "arguments": "{}" });
            let call = json!({ "id": "c1", "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        false => json!({ "role": "assistant", "content": "Hello there" }),
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice] })
}

fn chat_events() -> Vec<(&'static str, Value)> {
    let chunk = |content: &str| {
        let choice = json!({ "index": 0, "delta": { "content": content }, "finish_reason": null });
        let chunk = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice] });
        ("", chunk)
    };
    vec![chunk("Hello "), chunk("there"), ("", json!("[DONE]"))]
}

fn response(text: &str) -> Value {
    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
    let message = json!({
        "id": "o1", "type": "message", "role": "assistant", "status": "completed", "content": content,
    });
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "output": [message], "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    })
}

fn response_events() -> Vec<(&'static str, Value)> {
    let delta = |number: u64, text: &str| {
        let name = "response.output_text.delta";
        let event = json!({
            "type": name, "sequence_number": number, "item_id": "o1", "output_index": 0, "content_index": 0,
            "delta": text, "logprobs": [],
        });
        (name, event)
    };
    let done = json!({ "type": "response.completed", "sequence_number": 4, "response": response("Hello there") });
    let created =
        json!({ "type": "response.created", "sequence_number": 1, "response": response("") });
    vec![
        ("response.created", created),
        delta(2, "Hello "),
        delta(3, "there"),
        ("response.completed", done),
    ]
}
