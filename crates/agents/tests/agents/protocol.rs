//! Tests of the server in both eras, over a pair of pipes.

use std::collections::VecDeque;
use std::sync::Arc;

use kitbag_agents::{AgentAnswers, Library};
use kitbag_tool_server::serve;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};

const MODERN: &str = "2026-07-28";

#[tokio::test]
async fn a_legacy_client_greets_lists_and_calls() {
    let answers = dialogue(&[
        request(
            1,
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {} }),
        ),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(2, "ping", json!({})),
        request(3, "tools/list", json!({})),
        request(
            4,
            "tools/call",
            call(
                "lookup_capability",
                json!({ "agent": "zed", "capability": "mcp" }),
            ),
        ),
    ])
    .await;
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(
        answers[0]["result"]["serverInfo"]["name"],
        "agent-capabilities"
    );
    assert_eq!(answers[1]["result"], json!({}));
    let tools = answers[2]["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "lookup_capability",
            "compare_capability",
            "list_capabilities",
            "get_sources"
        ]
    );
    assert!(
        tools
            .iter()
            .all(|tool| tool["annotations"]["readOnlyHint"] == true)
    );
    assert!(answers[2]["result"].get("resultType").is_none());
    let result = &answers[3]["result"];
    assert_eq!(
        result["structuredContent"]["capability"]["name"],
        "MCP Support"
    );
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
}

#[tokio::test]
async fn a_modern_client_needs_no_greeting() {
    let answers = dialogue(&[
        modern(1, "server/discover", json!({})),
        modern(2, "tools/list", json!({})),
        modern(
            3,
            "tools/call",
            call("list_capabilities", json!({ "agent": "gemini" })),
        ),
        modern(4, "initialize", json!({})),
    ])
    .await;
    assert_eq!(answers[0]["result"]["supportedVersions"], json!([MODERN]));
    for answer in &answers[..3] {
        assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    }
    assert_eq!(answers[1]["result"]["cacheScope"], "public");
    assert_eq!(
        answers[2]["result"]["structuredContent"]["agent"],
        "gemini-cli"
    );
    assert_eq!(answers[3]["error"]["code"], -32601);
}

#[tokio::test]
async fn errors_have_the_codes_of_the_protocol() {
    let mut other = modern(1, "tools/list", json!({}));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2030-01-01");
    let answers = dialogue(&[
        other,
        request(2, "tools/call", call("delete_everything", json!({}))),
        request(
            3,
            "tools/call",
            call("lookup_capability", json!({ "agent": "zed" })),
        ),
        request(
            4,
            "tools/call",
            call(
                "lookup_capability",
                json!({ "agent": 7, "capability": "mcp" }),
            ),
        ),
        request(5, "resources/list", json!({})),
        json!([]),
        request(
            7,
            "tools/call",
            call("get_sources", json!({ "agnt": "zed" })),
        ),
        request(8, "tools/call", call("get_sources", json!(["zed"]))),
        request(
            6,
            "tools/call",
            call(
                "lookup_capability",
                json!({ "agent": "clippy", "capability": "mcp" }),
            ),
        ),
    ])
    .await;
    let codes: Vec<i64> = answers[..8]
        .iter()
        .map(|it| it["error"]["code"].as_i64().unwrap())
        .collect();
    assert_eq!(
        codes,
        [
            -32022, -32602, -32602, -32602, -32601, -32600, -32602, -32602
        ]
    );
    assert_eq!(answers[0]["error"]["data"]["supported"], json!([MODERN]));
    assert_eq!(
        answers[8]["result"]["isError"], true,
        "a model should read it and ask again"
    );
}

#[tokio::test]
async fn every_answer_keeps_the_schema_the_tool_declares() {
    let mut calls = VecDeque::from([
        (
            "lookup_capability",
            json!({ "agent": "cursor", "capability": "mcp" }),
        ),
        (
            "lookup_capability",
            json!({ "agent": "cursor", "capability": "agents that talk" }),
        ),
        ("compare_capability", json!({ "capability": "skills" })),
        ("list_capabilities", json!({ "agent": "aider" })),
        ("list_capabilities", json!({ "category": "testing" })),
        (
            "get_sources",
            json!({ "agent": "goose", "capability": "memory" }),
        ),
        ("get_sources", json!({})),
    ]);
    let mut requests = vec![request(0, "tools/list", json!({}))];
    requests.extend(calls.iter().enumerate().map(|(at, (tool, arguments))| {
        request(at + 1, "tools/call", call(tool, arguments.clone()))
    }));
    let answers = dialogue(&requests).await;
    let tools = answers[0]["result"]["tools"].as_array().unwrap();
    for answer in &answers[1..] {
        let (name, arguments) = calls.pop_front().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert!(
            jsonschema::is_valid(&tool["inputSchema"], &arguments),
            "{arguments}"
        );
        let result = &answer["result"]["structuredContent"];
        assert!(
            jsonschema::is_valid(&tool["outputSchema"], result),
            "{name} {arguments}: {answer}"
        );
    }
}

fn request(id: usize, method: &str, params: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params.into() })
}

fn modern(id: usize, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    request(id, method, params)
}

fn call(tool: &str, arguments: impl Into<Value>) -> Value {
    json!({ "name": tool, "arguments": arguments.into() })
}

/// Everything the server says to these messages.
async fn dialogue(messages: &[Value]) -> Vec<Value> {
    let (client_end, server_end) = duplex(1024 * 1024);
    let (input, output) = tokio::io::split(server_end);
    let answers = Arc::new(AgentAnswers::new(Library::built_in(), None));
    let serving = tokio::spawn(serve(answers, input, output));
    let (reading, mut writing) = tokio::io::split(client_end);
    for message in messages {
        writing
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
    }
    writing.shutdown().await.unwrap();
    serving.await.unwrap().unwrap();
    let mut lines = BufReader::new(reading).lines();
    let mut said = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        said.push(serde_json::from_str(&line).unwrap());
    }
    said
}
