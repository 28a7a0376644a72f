//! Bad input at the HTTP door.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::deep;
use crate::harness::{Client, Gateway, Manner, Reply, Testbed};

/// What a refusal must look like.
struct Expect {
    status: u16,
    /// The JSON-RPC code, where the answer is a JSON-RPC message.
    code: Option<i64>,
    /// The id, where one could be read.
    id: Value,
    words: &'static str,
}

fn refused(status: u16, code: i64, words: &'static str) -> Expect {
    Expect {
        status,
        code: Some(code),
        id: Value::Null,
        words,
    }
}

fn told(status: u16, words: &'static str) -> Expect {
    Expect {
        status,
        code: None,
        id: Value::Null,
        words,
    }
}

impl Expect {
    fn id(mut self, id: impl Into<Value>) -> Self {
        self.id = id.into();
        self
    }

    #[track_caller]
    fn check(&self, reply: &Reply, what: &str) {
        let body = reply.messages.last().cloned().unwrap_or_default();
        assert_eq!(reply.status, self.status, "{what}: {body}");
        assert!(body.contains(self.words), "{what}: {body}");
        if let Some(code) = self.code {
            assert_eq!(reply.code(), code, "{what}: {body}");
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(answer["jsonrpc"], "2.0", "{what}: {body}");
            assert_eq!(answer["id"], self.id, "{what}: {body}");
        }
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

async fn gateway() -> Gateway {
    Gateway::with(&Testbed::named("good").table()).await
}

async fn still_works(gateway: &Gateway, what: &str) {
    for manner in Manner::BOTH {
        let client = gateway.client(manner).await;
        client.knows("good__echo").await;
        assert_eq!(
            client.call("good__echo", &json!({ "a": 1 })).await.text(),
            r#"{"a":1}"#,
            "after {what}"
        );
    }
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_a_reason() {
    let gateway = gateway().await;
    let session = gateway.client(Manner::Legacy).await;
    let headers = session.headers("", &Value::Null);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let cases: Vec<(Vec<u8>, Expect)> = [
        (
            r#"{"jsonrpc":"2.0","id":1,"#,
            refused(400, -32700, "not valid JSON"),
        ),
        ("", refused(400, -32700, "not valid JSON")),
        ("hello", refused(400, -32700, "not valid JSON")),
        ("\u{feff}{}", refused(400, -32700, "not valid JSON")),
        ("42", refused(400, -32600, "JSON object")),
        ("null", refused(400, -32600, "JSON object")),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            refused(400, -32600, "batches"),
        ),
        ("[]", refused(400, -32600, "batches")),
        ("{}", refused(400, -32600, "`jsonrpc`")),
        (
            r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#,
            refused(400, -32600, "`jsonrpc`").id(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":"x","method":5}"#,
            refused(400, -32600, "`method`").id("x"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            refused(400, -32600, "neither").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            refused(400, -32600, "`params`").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            refused(400, -32600, "`params`").id(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            refused(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            refused(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            refused(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
            refused(400, -32600, "`id`"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            refused(400, -32700, "duplicate"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            refused(400, -32600, "both").id(1),
        ),
    ]
    .into_iter()
    .map(|(body, expect)| (body.as_bytes().to_vec(), expect))
    .chain([
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".to_vec(),
            refused(400, -32700, "not valid JSON"),
        ),
        (
            b"\xff\xfe\x00".to_vec(),
            refused(400, -32700, "not valid JSON"),
        ),
        (
            "[".repeat(10_000).into(),
            refused(400, -32700, "not valid JSON"),
        ),
        (
            r#"{"a":"#.repeat(10_000).into(),
            refused(400, -32700, "not valid JSON"),
        ),
        (deep().into(), refused(400, -32600, "batches")),
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
async fn a_call_of_the_wrong_shape_is_an_error_of_that_call_alone() {
    let gateway = gateway().await;
    for manner in Manner::BOTH {
        for path in ["/mcp/all", "/servers/good/mcp"] {
            let client = gateway.visitor(path, manner).connect().await;
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
async fn arguments_nested_beyond_reason_are_refused_and_break_nothing() {
    let gateway = gateway().await;
    for manner in Manner::BOTH {
        let client = gateway.client(manner).await;
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
    for (manner, status) in [(Manner::Legacy, 200), (Manner::Modern, 404)] {
        for path in ["/mcp/all", "/servers/good/mcp"] {
            let client = gateway.visitor(path, manner).connect().await;
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
    let modern = gateway.client(Manner::Modern).await;
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
    let legacy = gateway.client(Manner::Legacy).await;
    for not_yet in ["server/discover", "subscriptions/listen", "tasks/update"] {
        assert_eq!(
            legacy.request(not_yet, &json!({})).await.code(),
            -32601,
            "{not_yet}"
        );
    }
}

/// A good modern request with one thing about it changed.
struct Knock {
    headers: Vec<(String, String)>,
    body: Value,
}

impl Knock {
    fn new(client: &Client) -> Self {
        let params = json!({ "name": "good__echo", "arguments": {} });
        let body = client.body(1, "tools/call", &params.to_string());
        Self {
            headers: client.headers("tools/call", &params),
            body: serde_json::from_str(&body).unwrap(),
        }
    }

    fn without(mut self, header: &str) -> Self {
        self.headers.retain(|(name, _)| name != header);
        self
    }

    fn with(self, header: &str, value: &str) -> Self {
        let mut knock = self.without(header);
        knock.headers.push((header.to_owned(), value.to_owned()));
        knock
    }

    fn meta(mut self, key: &str, value: Option<Value>) -> Self {
        let meta = self.body["params"]["_meta"].as_object_mut().unwrap();
        match value {
            Some(value) => meta.insert(key.to_owned(), value),
            None => meta.shift_remove(key),
        };
        self
    }

    async fn send(self, gateway: &Gateway) -> Reply {
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway
            .post("/mcp/all", &headers, self.body.to_string())
            .await
    }
}

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

#[tokio::test]
async fn a_modern_request_whose_headers_or_meta_are_wrong_is_told_what_is_wrong() {
    let gateway = gateway().await;
    let client = gateway.client(Manner::Modern).await;
    client.knows("good__echo").await;
    let knock = || Knock::new(&client);
    let header = |words| refused(400, -32020, words).id(1);
    let params = |words| refused(400, -32602, words).id(1);
    let cases = [
        (
            "no version",
            knock().without("mcp-protocol-version"),
            header("MCP-Protocol-Version"),
        ),
        (
            "another version",
            knock().with("mcp-protocol-version", "2025-11-25"),
            header("MCP-Protocol-Version"),
        ),
        (
            "no method",
            knock().without("mcp-method"),
            header("Mcp-Method"),
        ),
        (
            "another method",
            knock().with("mcp-method", "tools/list"),
            header("Mcp-Method"),
        ),
        ("no name", knock().without("mcp-name"), header("Mcp-Name")),
        (
            "another name",
            knock().with("mcp-name", "good__exotic"),
            header("Mcp-Name"),
        ),
        (
            "broken base64",
            knock().with("mcp-name", "=?base64?%%%?="),
            header("Mcp-Name"),
        ),
        (
            "base64 of another",
            knock().with("mcp-name", "=?base64?eA==?="),
            header("Mcp-Name"),
        ),
        (
            "no version in meta",
            knock().meta(VERSION, None),
            params("protocolVersion"),
        ),
        (
            "no capabilities",
            knock().meta(CAPABILITIES, None),
            params("clientCapabilities"),
        ),
        (
            "ill-typed capabilities",
            knock().meta(CAPABILITIES, Some(json!([]))),
            params("clientCapabilities"),
        ),
        (
            "ill-typed version",
            knock().meta(VERSION, Some(json!(5))),
            params("protocolVersion"),
        ),
        (
            "unknown log level",
            knock().meta(LOG_LEVEL, Some(json!("loud"))),
            params("log level"),
        ),
    ];
    for (what, knock, expect) in cases {
        expect.check(&knock.send(&gateway).await, what);
    }
    let encoded = format!("=?base64?{}?=", STANDARD.encode("good__echo"));
    assert_eq!(
        knock()
            .with("mcp-name", &encoded)
            .send(&gateway)
            .await
            .text(),
        "{}"
    );
}

#[tokio::test]
async fn a_version_from_the_future_is_answered_with_those_we_speak() {
    let gateway = gateway().await;
    let client = gateway.client(Manner::Modern).await;
    let knock = Knock::new(&client)
        .with("mcp-protocol-version", "2031-01-01")
        .meta(VERSION, Some(json!("2031-01-01")));
    let reply = knock.send(&gateway).await;
    refused(400, -32022, "2031-01-01")
        .id(1)
        .check(&reply, "a version from the future");
    assert_eq!(
        reply.error()["data"],
        json!({ "supported": ["2026-07-28"], "requested": "2031-01-01" })
    );

    let legacy = gateway.visitor("/mcp/all", Manner::Legacy).unannounced();
    let params = json!({ "protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let answered = legacy.request("initialize", &params).await.result();
    assert_eq!(
        answered["protocolVersion"], "2025-11-25",
        "a legacy client is offered the latest it could know"
    );
}

#[tokio::test]
async fn a_session_is_wanted_and_must_be_known() {
    let gateway = gateway().await;
    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for body in [PING, NOTE, ANSWER] {
        let id = if body == PING { json!(1) } else { Value::Null };
        let none = gateway.post("/mcp/all", &[JSON, BOTH], body).await;
        refused(400, -32600, "Mcp-Session-Id")
            .id(id.clone())
            .check(&none, body);
        let unknown = gateway
            .post(
                "/mcp/all",
                &[JSON, BOTH, ("mcp-session-id", "nobody")],
                body,
            )
            .await;
        refused(404, -32600, "session").id(id).check(&unknown, body);
    }
    let session = gateway.client(Manner::Legacy).await;
    let headers = session.headers("", &Value::Null);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let elsewhere = gateway.post("/servers/good/mcp", &headers, PING).await;
    refused(404, -32600, "session")
        .id(1)
        .check(&elsewhere, "the session of another door");
    let mut future = headers.clone();
    future.retain(|(name, _)| *name != "mcp-protocol-version");
    future.push(("mcp-protocol-version", "1999-01-01"));
    refused(400, -32022, "1999-01-01").id(1).check(
        &gateway.post("/mcp/all", &future, PING).await,
        "an unknown version",
    );
    assert_eq!(session.request("ping", &json!({})).await.raw_result(), "{}");
}

#[tokio::test]
async fn other_verbs_than_post_do_what_they_should_and_no_more() {
    let gateway = gateway().await;
    let http = reqwest::Client::new();
    let send = async |method: &str, path: &str, headers: &[(String, String)]| {
        let request = http.request(method.parse().unwrap(), format!("{}{path}", gateway.base));
        let request = headers
            .iter()
            .fold(request, |it, (name, value)| it.header(name, value));
        request.send().await.unwrap().status().as_u16()
    };
    let stream = [("accept".to_owned(), "text/event-stream".to_owned())];
    assert_eq!(
        send("GET", "/mcp/all", &stream).await,
        405,
        "a stream without a session"
    );
    assert_eq!(send("DELETE", "/mcp/all", &[]).await, 405);
    for method in ["PUT", "PATCH", "OPTIONS", "HEAD", "TRACE"] {
        assert_eq!(send(method, "/mcp/all", &[]).await, 405, "{method}");
    }
    assert_eq!(send("GET", "/", &[]).await, 404);
    assert_eq!(send("POST", "/servers/nobody/mcp", &[]).await, 404);
    assert_eq!(send("POST", "/servers/a%2Fb/mcp", &[]).await, 404);

    let session = gateway.client(Manner::Legacy).await;
    let mut headers = session.headers("", &Value::Null);
    headers.retain(|(name, _)| name != "accept" && name != "content-type");
    let html = [
        headers.clone(),
        vec![("accept".to_owned(), "text/html".to_owned())],
    ]
    .concat();
    assert_eq!(
        send("GET", "/mcp/all", &html).await,
        406,
        "a stream as a web page"
    );
    assert_eq!(send("DELETE", "/mcp/all", &headers).await, 204);
    assert_eq!(
        send("DELETE", "/mcp/all", &headers).await,
        404,
        "it is gone"
    );
    assert_eq!(session.request("ping", &json!({})).await.status, 404);

    let modern = gateway
        .client(Manner::Modern)
        .await
        .headers("", &Value::Null);
    for method in ["GET", "DELETE"] {
        assert_eq!(
            send(method, "/mcp/all", &modern).await,
            405,
            "{method} has no meaning for a modern client"
        );
    }
    still_works(&gateway, "all of it").await;
}

#[tokio::test]
async fn headers_that_change_nothing_about_the_message_are_forgiven() {
    let gateway = gateway().await;
    let client = gateway.client(Manner::Modern).await;
    client.knows("good__echo").await;
    for (header, value) in [
        ("accept", "application/json"),
        ("accept", "text/html"),
        ("content-type", "application/json; charset=utf-8"),
        ("mcp-session-id", "left over from another day"),
        ("last-event-id", "7"),
    ] {
        assert_eq!(
            Knock::new(&client)
                .with(header, value)
                .send(&gateway)
                .await
                .text(),
            "{}",
            "{header}: {value}"
        );
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_however_it_comes() {
    const LIMIT: usize = 20_000;
    let serve = format!("[serve]\nbind = \"127.0.0.1:0\"\nmax_body_bytes = {LIMIT}\n");
    let gateway = Gateway::with(&format!("{serve}{}", Testbed::named("good").table())).await;
    let expect = told(413, "max_body_bytes");
    expect.check(
        &gateway
            .post("/mcp/all", &[JSON, BOTH], "x".repeat(LIMIT + 1))
            .await,
        "announced",
    );
    let chunks = futures::stream::iter((0..100).map(|_| Ok::<_, std::io::Error>("x".repeat(1000))));
    expect.check(
        &gateway
            .post(
                "/mcp/all",
                &[JSON, BOTH],
                reqwest::Body::wrap_stream(chunks),
            )
            .await,
        "in chunks",
    );

    let client = gateway.client(Manner::Modern).await;
    client.knows("good__echo").await;
    let filler = |length| json!({ "name": "good__echo", "arguments": { "x": "x".repeat(length) } });
    let around = client.body(9, "tools/call", &filler(0).to_string()).len();
    let at_the_limit = client
        .request("tools/call", &filler(LIMIT - around - 2))
        .await;
    assert!(at_the_limit.text().len() > LIMIT / 2);
    still_works(&gateway, "giants").await;
}

#[tokio::test]
async fn clients_that_stall_in_the_middle_keep_nobody_waiting() {
    let gateway = gateway().await;
    let address = gateway.base.strip_prefix("http://").unwrap();
    let head =
        format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    let stalls = [
        "POST /mcp HT".to_owned(),
        head.clone(),
        format!("{head}content-length: 1000\r\n\r\n{{\"jsonrpc\":"),
        format!("{head}content-length: 99999999999\r\n\r\n{{"),
        format!("{head}transfer-encoding: chunked\r\n\r\n5\r\n{{\"js"),
    ];
    let mut stalled = Vec::new();
    for stall in stalls.iter().cycle().take(100) {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(stall.as_bytes()).await.unwrap();
        stalled.push(connection);
    }
    still_works(&gateway, "a hundred stalls").await;
    drop(stalled);
    still_works(&gateway, "their end").await;
}

#[tokio::test]
async fn what_is_not_even_http_is_turned_away() {
    let gateway = gateway().await;
    let address = gateway.base.strip_prefix("http://").unwrap();
    for junk in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"{\"jsonrpc\":\"2.0\"}\n\n",
        b"GET / HTTP/9.9\r\n\r\n",
        &[0; 100_000],
    ] {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let _ = connection.write_all(junk).await;
        let _ = connection.shutdown().await;
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    still_works(&gateway, "junk").await;
}
