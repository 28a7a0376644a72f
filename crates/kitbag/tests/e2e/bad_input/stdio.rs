//! Invalid input over stdio.

use serde_json::{Value, json};

use super::deep;
use crate::harness::{Client, Era, Home, Testbed};

fn home() -> std::sync::Arc<Home> {
    Home::new(&Testbed::new("good").table())
}

#[tokio::test]
async fn a_line_that_is_not_a_message_is_answered_and_the_next_one_works() {
    let home = home();
    let client = Client::stdio(&home, Era::Legacy).connect().await;
    client.knows("good__echo").await;
    let cases: [(&[u8], i64, Value); 12] = [
        (b"hello", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700, Value::Null),
        (b"\xff\xfe\xfd", -32700, Value::Null),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}",
            -32700,
            Value::Null,
        ),
        (b"42", -32600, Value::Null),
        (
            b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\",\"params\":[]}",
            -32600,
            json!("a"),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"nope\"}",
            -32601,
            json!(77),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":78,\"method\":\"tools/call\"}",
            -32602,
            json!(78),
        ),
        (deep().leak().as_bytes(), -32600, Value::Null),
    ];
    for (line, code, id) in cases {
        let what = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        client.pipe().send(line);
        let answer = answer(&client).await;
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{what}: {answer}"
        );
        assert_eq!(
            client.request("ping", &json!({})).await.raw_result(),
            "{}",
            "after {what}"
        );
    }
    assert_eq!(
        client.call("good__echo", &json!({ "a": 1 })).await.text(),
        r#"{"a":1}"#
    );
}

#[tokio::test]
async fn blank_lines_strange_line_ends_and_unknown_notifications_are_ignored() {
    let home = home();
    let client = Client::stdio(&home, Era::Legacy).connect().await;
    for line in [
        &b""[..],
        b"   \t ",
        b"\r",
        b"\n\n\n",
        br#"{"jsonrpc":"2.0","method":"notifications/nobody_knows","params":{}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never-was"}}"#,
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        br#"{"jsonrpc":"2.0","id":12345,"result":{"to":"no question"}}"#,
    ] {
        client.pipe().send(line);
        let reply = client.request("ping", &json!({})).await;
        let answers = reply.messages.iter().filter(|message| message.contains(r#""id":"#));
        assert_eq!(answers.count(), 1, "{:?} after {}", reply.messages, String::from_utf8_lossy(line));
    }
    client
        .pipe()
        .send(b"  {\"jsonrpc\":\"2.0\",\"id\":\"crlf\",\"method\":\"ping\"}\r");
    assert_eq!(
        answer(&client).await,
        json!({ "jsonrpc": "2.0", "id": "crlf", "result": {} })
    );
}

#[tokio::test]
async fn a_very_long_line_passes_or_is_rejected_and_breaks_nothing() {
    let home = home();
    let client = Client::stdio(&home, Era::Legacy).connect().await;
    client.knows("good__echo").await;
    let long = "x".repeat(3_000_000);
    assert_eq!(
        client
            .call("good__echo", &json!({ "long": long }))
            .await
            .result()["structuredContent"]["long"],
        json!(long)
    );
    client.pipe().send("x".repeat(30_000_000).as_bytes());
    let answer = answer(&client).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert_eq!(client.request("ping", &json!({})).await.raw_result(), "{}");
}

#[tokio::test]
async fn a_request_before_the_handshake_gets_a_clear_error() {
    let home = home();
    let client = Client::stdio(&home, Era::Legacy).without_handshake();
    let reply = client.request("tools/list", &json!({})).await;
    assert_eq!(reply.code(), -32600);
    assert!(
        reply.error()["message"]
            .as_str()
            .unwrap()
            .contains("initialize"),
        "{}",
        reply.raw()
    );
    let reply = client.request("initialize", &json!({})).await;
    assert_eq!(
        reply.result()["protocolVersion"],
        "2025-11-25",
        "a client that names no version gets the latest"
    );
    assert_eq!(client.request("ping", &json!({})).await.raw_result(), "{}");
}

#[tokio::test]
async fn both_eras_work_on_one_pipe() {
    let home = Home::new(&Testbed::new("good").era("legacy").table());
    let legacy = Client::stdio(&home, Era::Legacy).connect().await;
    legacy.knows("good__echo").await;
    let mut modern = legacy.clone();
    modern.era = Era::Modern;
    assert_eq!(
        modern.call("good__echo", &json!({})).await.result()["resultType"],
        "complete"
    );
    assert_eq!(
        legacy
            .call("good__echo", &json!({}))
            .await
            .result()
            .get("resultType"),
        None
    );
    assert_eq!(
        modern.request("server/discover", &json!({})).await.result()["supportedVersions"],
        json!(["2026-07-28"])
    );
    // As some languages write it.
    let escaped = modern.body(80, "tools/list", "{}").replace('/', r"\/");
    modern.pipe().send(escaped.as_bytes());
    let listed = answer(&modern).await;
    assert_eq!(listed["result"]["resultType"], "complete", "{listed}");
    let nothing = r#"{"jsonrpc":"2.0","id":"bare","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}"#;
    legacy.pipe().send(nothing.as_bytes());
    let refused = answer(&legacy).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
}

#[tokio::test]
async fn closing_stdin_at_any_moment_ends_the_gateway_cleanly() {
    for last in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"[..],
        b"",
        br#"{"jsonrpc":"2.0","id":99,"method":"ping"}"#,
    ] {
        let home = home();
        let client = Client::stdio(&home, Era::Legacy).connect().await;
        client.knows("good__echo").await;
        let slow = json!({ "name": "good__slow", "arguments": { "ms": 20_000 } });
        let _under_way = client.start("tools/call", &slow).await;
        client.pipe().send_part(last);
        let pipe = client.clone();
        let status = tokio::task::spawn_blocking(move || pipe.pipe().close())
            .await
            .unwrap();
        assert!(
            status.is_some_and(|status| status.success()),
            "{status:?}\n{}",
            client.pipe().log()
        );
    }
}

/// The next line that is not a notification.
async fn answer(client: &Client) -> Value {
    loop {
        let line = client.pipe().line().await.expect("the gateway still runs");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_none() {
            return message;
        }
    }
}
