//! The default surface in front of real servers, used by real clients: find, describe, call, and batch.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clients::{
    Caller, Client, INSPECTOR, PYTHON, PYTHON_LEGACY, TYPESCRIPT, TYPESCRIPT_MODERN,
};
use crate::gateway::{TestGateway, Transport};
use crate::servers::{self, RealServer};

/// A query for each server's one call.
const WISHES: [(&str, &str); 7] = [
    ("everything", "echo a message back"),
    ("filesystem", "read the contents of a text file"),
    ("memory", "create entities in the knowledge graph"),
    ("thinking", "think through a problem step by step"),
    ("git", "show the log of commits"),
    ("time", "convert a time between time zones"),
    ("sqlite", "run a SELECT query on the database"),
];

#[track_caller]
fn check(client: Client, transport: Transport) {
    let test_gateway = TestGateway::by_default(servers::all);
    let mut caller = client.connect(&test_gateway, transport);
    for server in &test_gateway.servers {
        let tool = server.tool_on_merged_route();
        find(&mut caller, server);
        let definition = text(&caller.call("discover_apis", &json!({ "tool": tool })));
        let definition: Value = serde_json::from_str(&definition).expect("a definition is JSON");
        assert_eq!(definition["name"], tool.as_str());
        assert_eq!(definition["inputSchema"]["type"], "object");
        let result = caller.call(
            "call_api",
            &json!({ "tool": tool, "arguments": server.arguments }),
        );
        assert!(
            text(&result).contains(server.expected),
            "{tool} should answer {:?}: {result}",
            server.expected
        );
    }
    check_mistakes(&mut caller);
    check_batch(&mut caller, &test_gateway.servers);
}

/// Servers are still being listed when the first client arrives, so it may have to search again.
#[track_caller]
fn find(caller: &mut Caller<'_>, server: &RealServer) {
    let (_, wish) = WISHES
        .into_iter()
        .find(|(name, _)| *name == server.name)
        .unwrap();
    let wanted = format!("{}(", server.tool_on_merged_route());
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = text(&caller.call("search_available_tools", &json!({ "query": wish })));
        if found.lines().any(|line| line.starts_with(&wanted)) {
            return;
        }
        assert!(
            Instant::now() < deadline,
            "`{wish}` does not lead to {wanted}…): {found}"
        );
    }
}

#[track_caller]
fn check_mistakes(caller: &mut Caller<'_>) {
    for (tool, arguments, output) in [
        (
            "filesystem__read_text_file",
            json!({}),
            "/path: missing, expected a string",
        ),
        (
            "filesystem__read_textfile",
            json!({}),
            "did you mean filesystem__read_text_file",
        ),
        (
            "git__git_log",
            json!({ "repo_path": { "a": 1 } }),
            "/repo_path: expected a string, got",
        ),
    ] {
        let result = caller.call("call_api", &json!({ "tool": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(output), "{tool}: {result}");
    }
}

#[track_caller]
fn check_batch(caller: &mut Caller<'_>, servers: &[RealServer]) {
    let call = |server: &RealServer| json!({ "tool": server.tool_on_merged_route(), "arguments": server.arguments });
    let calls: Vec<Value> = servers.iter().map(call).collect();
    let answers = text(&caller.call("batch_execute", &json!({ "calls": calls })));
    for (number, server) in servers.iter().enumerate() {
        let heading = format!(
            "[{}/{}] {}: ok",
            number + 1,
            servers.len(),
            server.tool_on_merged_route()
        );
        assert!(answers.contains(&heading), "no {heading} in {answers}");
        // Entities that exist are not created again, and the answer to that is short.
        let expected = if server.name == "memory" {
            "[]"
        } else {
            server.expected
        };
        assert!(answers.contains(expected), "no {expected} in {answers}");
    }
}

/// The text of a result.
fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().into_iter().flatten();
    blocks
        .filter_map(|block| block["text"].as_str())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_finds_and_calls_over_http() {
    check(INSPECTOR, Transport::Http);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_inspector_finds_and_calls_over_stdio() {
    check(INSPECTOR, Transport::Stdio);
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_python_client_finds_and_calls_in_both_eras_over_both_transports() {
    for transport in [Transport::Http, Transport::Stdio] {
        check(PYTHON, transport);
        check(PYTHON_LEGACY, transport);
    }
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_typescript_client_finds_and_calls_in_both_eras_over_both_transports() {
    for transport in [Transport::Http, Transport::Stdio] {
        check(TYPESCRIPT, transport);
        check(TYPESCRIPT_MODERN, transport);
    }
}

const PATIENCE: Duration = Duration::from_secs(180);
