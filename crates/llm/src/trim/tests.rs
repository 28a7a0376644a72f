//! Requests of all three APIs, parsed and written with fewer tools.

use serde_json::{Value, json};

use crate::trim::{ConversationMemory, ModelApi, ModelRequest};

fn read(api: ModelApi, body: &str) -> ModelRequest<'_> {
    ModelRequest::parse(api, body).expect("the request is well-formed")
}

/// Summarizes a request in one line.
#[track_caller]
fn check(api: ModelApi, body: &Value, expect: &str) {
    let body = body.to_string();
    let request = read(api, &body);
    let functions = request
        .tools
        .iter()
        .map(|tool| tool.function.as_deref().unwrap_or("-"));
    let dialogue = &request.dialogue;
    let summary = format!(
        "{} | {} | {} of {} | {}",
        functions.collect::<Vec<_>>().join(" "),
        dialogue.words,
        dialogue.calls_for_user_text().join(" "),
        dialogue.calls.join(" "),
        request.demanded.join(" "),
    );
    assert_eq!(summary, expect);
}

#[test]
fn tools_texts_and_calls_of_every_api_are_parsed() {
    let messages = json!({
        "tools": [
            { "name": "a", "input_schema": {} },
            { "type": "custom", "name": "b", "input_schema": {} },
            { "type": "web_search_20250305", "name": "web_search" },
        ],
        "tool_choice": { "type": "tool", "name": "a" },
        "messages": [
            { "role": "user", "content": "first" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "a", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "x" },
                { "type": "text", "text": "<system-reminder>hint</system-reminder>" },
                { "type": "text", "text": "second" }] },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "2", "name": "b", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "2", "content": "y" },
                { "type": "text", "text": "<system-reminder>hint</system-reminder>" }] },
        ],
    });
    check(
        ModelApi::Messages,
        &messages,
        "a b - | second | b of a b | a",
    );
    let chat = json!({
        "tools": [
            { "type": "function", "function": { "name": "a" } },
            { "type": "custom", "custom": { "name": "c" } },
        ],
        "tool_choice": { "type": "function", "function": { "name": "a" } },
        "messages": [
            { "role": "system", "content": "be good" },
            { "role": "user", "content": [{ "type": "text", "text": "first" }] },
            { "role": "assistant", "content": null,
                "tool_calls": [{ "id": "1", "type": "function", "function": { "name": "a", "arguments": "{}" } }] },
            { "role": "tool", "tool_call_id": "1", "content": "x" },
        ],
    });
    check(ModelApi::ChatCompletions, &chat, "a - | first | a of a | a");
    let responses = json!({
        "tools": [{ "type": "function", "name": "a" }, { "type": "web_search" }],
        "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [{ "type": "function", "name": "a" }] },
        "input": [
            { "role": "user", "content": "first" },
            { "type": "reasoning", "summary": [] },
            { "type": "function_call", "call_id": "1", "name": "a", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "1", "output": "x" },
        ],
    });
    check(ModelApi::Responses, &responses, "a - | first | a of a | a");
    let short = json!({ "tools": [], "input": "only this" });
    check(ModelApi::Responses, &short, " | only this |  of  | ");
}

/// Keeps the tools with these names.
#[track_caller]
fn check_trim(body: &str, kept: &[&str], expect: &str) {
    let request = read(ModelApi::Messages, body);
    let is_kept: Vec<bool> = request
        .tools
        .iter()
        .map(|it| kept.contains(&it.function.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(request.with_tools(&is_kept), expect);
}

#[test]
fn every_byte_outside_of_the_tools_stays() {
    let body = r#" {"a" : 1.00, "tools" : [ {"name":"a", "x":1e2} , {"name":"b"},{"name":"c"} ] ,"messages":[],"z":"\u00e9"} "#;
    let expect = r#" {"a" : 1.00, "tools" : [{"name":"a", "x":1e2},{"name":"c"}] ,"messages":[],"z":"\u00e9"} "#;
    check_trim(body, &["a", "c"], expect);
}

#[test]
fn the_mark_of_a_cache_moves_to_the_last_kept_tool_before_it() {
    let body = r#"{"tools":[{"name":"a"},{"name":"d","defer_loading":true},{"name":"b","cache_control":{"type":"ephemeral"}},{"name":"c"}],"messages":[]}"#;
    let expect = r#"{"tools":[{"name":"a","cache_control":{"type":"ephemeral"}},{"name":"d","defer_loading":true},{"name":"c"}],"messages":[]}"#;
    check_trim(body, &["a", "d", "c"], expect);
    let unmarked = r#"{"tools":[{"name":"c"}],"messages":[]}"#;
    check_trim(body, &["c"], unmarked);
}

#[test]
fn invalid_requests_are_left_to_the_vendor() {
    for body in [
        "",
        "[]",
        "{}",
        r#"{"tools":[],"tools":[],"messages":[]}"#,
        r#"{"tools":{},"messages":[]}"#,
        r#"{"tools":[],"messages":7}"#,
    ] {
        assert!(
            ModelRequest::parse(ModelApi::Messages, body).is_none(),
            "{body}"
        );
    }
}

#[test]
fn a_conversation_is_identified_by_its_beginning() {
    let user =
        |text: &str| json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
    let marked = json!({ "role": "user", "content":
        [{ "type": "text", "text": "one", "cache_control": { "type": "ephemeral" } }] });
    let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "a", "input": {} }] });
    let billing = |data: &str| {
        json!([
            { "type": "text", "text": format!("x-anthropic-billing-header: {data}") },
            { "type": "text", "text": "be good" },
        ])
    };
    let first = json!({ "tools": [], "system": billing("1"), "messages": [marked] }).to_string();
    let second =
        json!({ "tools": [], "system": billing("2"), "messages": [user("one"), call] }).to_string();
    let other =
        json!({ "tools": [], "system": billing("2"), "messages": [user("two")] }).to_string();
    let [first, second, other] =
        [&first, &second, &other].map(|it| read(ModelApi::Messages, it).dialogue);
    assert_eq!(first.conversation, second.conversation);
    assert_ne!(first.conversation, other.conversation);
    let mut memory = ConversationMemory::default();
    assert!(memory.record_dialogue(&first).are_words_new);
    let said = memory.record_dialogue(&second);
    assert_eq!(
        (said.are_words_new, said.calls),
        (false, &["a".to_owned()][..])
    );
    assert!(memory.record_dialogue(&second).calls.is_empty());
}

#[test]
fn a_conversation_stored_by_the_vendor_is_identified_by_its_id() {
    let read_id = |fields: Value| {
        let mut body = json!({ "tools": [], "input": "x" });
        body.as_object_mut()
            .expect("an object")
            .extend(fields.as_object().expect("fields").clone());
        read(ModelApi::Responses, &body.to_string())
            .dialogue
            .conversation
    };
    assert_eq!(read_id(json!({ "previous_response_id": "resp_1" })), None);
    let named = read_id(json!({ "conversation": "conv_1" }));
    assert_eq!(
        named,
        read_id(json!({ "conversation": { "id": "conv_1" } }))
    );
    assert!(named.is_some() && named != read_id(json!({})));
}
