//! Bodies that are not valid messages or calls.

use serde_json::{Value, json};

use super::{Expect, gateway, rpc_error, still_works};
use crate::bad_input::deep;
use crate::harness::Era;

#[tokio::test]
async fn a_body_that_is_not_a_message_is_rejected_with_a_reason() {
    let gateway = gateway().await;
    let session = gateway.client(Era::Legacy).await;
    let headers = session.headers("", &Value::Null);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let cases: Vec<(Vec<u8>, Expect)> = [
        (
            r#"{"jsonrpc":"2.0","id":1,"#,
            rpc_error(400, -32700, "not valid JSON"),
        ),
        ("", rpc_error(400, -32700, "not valid JSON")),
        ("hello", rpc_error(400, -32700, "not valid JSON")),
        ("\u{feff}{}", rpc_error(400, -32700, "not valid JSON")),
        ("42", rpc_error(400, -32600, "JSON object")),
        ("null", rpc_error(400, -32600, "JSON object")),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            rpc_error(400, -32600, "batches"),
        ),
        ("[]", rpc_error(400, -32600, "batches")),
        ("{}", rpc_error(400, -32600, "`jsonrpc`")),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            rpc_error(400, -32600, "`jsonrpc`").id(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":5}"#,
            rpc_error(400, -32600, "`method`").id("x"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            rpc_error(400, -32600, "neither").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            rpc_error(400, -32600, "`params`").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            rpc_error(400, -32600, "`params`").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            rpc_error(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            rpc_error(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            rpc_error(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            rpc_error(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            rpc_error(400, -32700, "duplicate"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            rpc_error(400, -32600, "both").id(1),
        ),
    ]
    .into_iter()
    .map(|(body, expect)| (body.as_bytes().to_vec(), expect))
    .chain([
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(),
            rpc_error(400, -32700, "not valid JSON"),
        ),
        (
            b"\xff\xfe\x00".to_vec(),
            rpc_error(400, -32700, "not valid JSON"),
        ),
        (
            "[".repeat(10_000).into(),
            rpc_error(400, -32700, "not valid JSON"),
        ),
        (
            r#"{"a":"#.repeat(10_000).into(),
            rpc_error(400, -32700, "not valid JSON"),
        ),
        (deep().into(), rpc_error(400, -32600, "batches")),
    ])
    .collect();
    for (body, expect) in cases {
        let what = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        expect.check(&gateway.post("/mcp/all", &headers, body).await, &what);
        let reply = session.request("ping", &json!({})).await;
        assert_eq!(reply.raw_result(), "{}", "after {what}");
    }
    still_works(&gateway, "all of it").await;
}

#[tokio::test]
async fn a_call_of_the_wrong_shape_is_an_error_of_that_call_only() {
    let gateway = gateway().await;
    for era in Era::each() {
        for path in ["/mcp/all", "/servers/good/mcp"] {
            let client = gateway.client_at(path, era).connect().await;
            let echo = if path == "/mcp/all" {
                "good__echo"
            } else {
                "echo"
            };
            client.knows(echo).await;
            for (method, params, words) in [
                (
                    "tools/call",
                    json!({ "name": echo, "arguments": "x" }),
                    "`arguments` must be an object",
                ),
                (
                    "tools/call",
                    json!({ "name": echo, "arguments": [1] }),
                    "`arguments` must be an object",
                ),
                (
                    "tools/call",
                    json!({ "name": 5 }),
                    "`name` must be a string",
                ),
                ("tools/call", json!({}), "`name` is missing"),
                (
                    "prompts/get",
                    json!({ "name": null }),
                    "`name` must be a string",
                ),
                ("resources/read", json!({}), "`uri` is missing"),
                (
                    "completion/complete",
                    json!({ "ref": "x" }),
                    "`ref` must be an object",
                ),
                (
                    "tasks/get",
                    json!({ "taskId": 5 }),
                    "`taskId` must be a string",
                ),
                (
                    "tasks/get",
                    json!({ "taskId": "nobody-knows" }),
                    "there is no task",
                ),
            ] {
                let reply = client.request(method, &params).await;
                assert_eq!(reply.code(), -32602, "{method} {params}: {}", reply.raw());
                assert!(
                    reply.error()["message"].as_str().unwrap().contains(words),
                    "{}",
                    reply.raw()
                );
                assert_eq!(
                    client.call(echo, &json!({ "a": 1 })).await.text(),
                    r#"{"a":1}"#
                );
            }
        }
    }
}

#[tokio::test]
async fn deeply_nested_arguments_are_rejected_and_break_nothing() {
    let gateway = gateway().await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        client.knows("good__echo").await;
        let params = format!(
            r#"{{"name":"good__echo","arguments":{{"deep":{}}}}}"#,
            deep()
        );
        let reply = client.request_text("tools/call", &params).await;
        assert_eq!(
            (reply.status, reply.code()),
            (400, -32600),
            "{}",
            reply.raw()
        );
        assert!(
            reply.raw().contains("nested deeper than 128 levels"),
            "{}",
            reply.raw()
        );
    }
    still_works(&gateway, "the deep").await;
}

#[tokio::test]
async fn an_unknown_method_is_named_in_both_eras() {
    let gateway = gateway().await;
    for (era, status) in [(Era::Legacy, 200), (Era::Modern, 404)] {
        for path in ["/mcp/all", "/servers/good/mcp"] {
            let client = gateway.client_at(path, era).connect().await;
            for method in ["nope/nope", "", "tools", "initialize/x"] {
                let reply = client.request(method, &json!({})).await;
                assert_eq!(
                    (reply.status, reply.code()),
                    (status, -32601),
                    "{}",
                    reply.raw()
                );
            }
        }
    }
    let modern = gateway.client(Era::Modern).await;
    for gone in [
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
    ] {
        let reply = modern
            .request(
                gone,
                &json!({ "level": "info", "uri": "test://static-text" }),
            )
            .await;
        assert_eq!((reply.status, reply.code()), (404, -32601), "{gone}");
    }
    let legacy = gateway.client(Era::Legacy).await;
    for not_yet in ["server/discover", "subscriptions/listen", "tasks/update"] {
        assert_eq!(
            legacy.request(not_yet, &json!({})).await.code(),
            -32601,
            "{not_yet}"
        );
    }
}
