//! Modern requests with wrong headers or `_meta`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{gateway, rpc_error};
use crate::harness::{Client, Era, Gateway, Reply};

/// A valid modern request with one change.
struct ModernRequest {
    headers: Vec<(String, String)>,
    body: Value,
}

impl ModernRequest {
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
        let mut request = self.without(header);
        request.headers.push((header.to_owned(), value.to_owned()));
        request
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
async fn a_modern_request_with_wrong_headers_or_meta_gets_a_clear_error() {
    let gateway = gateway().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("good__echo").await;
    let request = || ModernRequest::new(&client);
    let header = |words| rpc_error(400, -32020, words).id(1);
    let params = |words| rpc_error(400, -32602, words).id(1);
    let cases = [
        (
            "no version",
            request().without("mcp-protocol-version"),
            header("MCP-Protocol-Version"),
        ),
        (
            "another version",
            request().with("mcp-protocol-version", "2025-11-25"),
            header("MCP-Protocol-Version"),
        ),
        (
            "no method",
            request().without("mcp-method"),
            header("Mcp-Method"),
        ),
        (
            "another method",
            request().with("mcp-method", "tools/list"),
            header("Mcp-Method"),
        ),
        ("no name", request().without("mcp-name"), header("Mcp-Name")),
        (
            "another name",
            request().with("mcp-name", "good__exotic"),
            header("Mcp-Name"),
        ),
        (
            "broken base64",
            request().with("mcp-name", "=?base64?%%%?="),
            header("Mcp-Name"),
        ),
        (
            "base64 of another",
            request().with("mcp-name", "=?base64?eA==?="),
            header("Mcp-Name"),
        ),
        (
            "no version in meta",
            request().meta(VERSION, None),
            params("protocolVersion"),
        ),
        (
            "no capabilities",
            request().meta(CAPABILITIES, None),
            params("clientCapabilities"),
        ),
        (
            "ill-typed capabilities",
            request().meta(CAPABILITIES, Some(json!([]))),
            params("clientCapabilities"),
        ),
        (
            "ill-typed version",
            request().meta(VERSION, Some(json!(5))),
            params("protocolVersion"),
        ),
        (
            "unknown log level",
            request().meta(LOG_LEVEL, Some(json!("loud"))),
            params("log level"),
        ),
    ];
    for (what, request, expect) in cases {
        expect.check(&request.send(&gateway).await, what);
    }
    let encoded = format!("=?base64?{}?=", STANDARD.encode("good__echo"));
    assert_eq!(
        request()
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
    let client = gateway.client(Era::Modern).await;
    let request = ModernRequest::new(&client)
        .with("mcp-protocol-version", "2031-01-01")
        .meta(VERSION, Some(json!("2031-01-01")));
    let reply = request.send(&gateway).await;
    rpc_error(400, -32022, "2031-01-01")
        .id(1)
        .check(&reply, "a version from the future");
    assert_eq!(
        reply.error()["data"],
        json!({ "supported": ["2026-07-28"], "requested": "2031-01-01" })
    );

    let legacy = gateway
        .client_at("/mcp/all", Era::Legacy)
        .without_handshake();
    let params = json!({ "protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let answered = legacy.request("initialize", &params).await.result();
    assert_eq!(
        answered["protocolVersion"], "2025-11-25",
        "a legacy client is offered the latest it could know"
    );
}

#[tokio::test]
async fn headers_that_change_nothing_about_the_message_are_tolerated() {
    let gateway = gateway().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("good__echo").await;
    for (header, value) in [
        ("accept", "application/json"),
        ("accept", "text/html"),
        ("content-type", "application/json; charset=utf-8"),
        ("mcp-session-id", "left over from another day"),
        ("last-event-id", "7"),
    ] {
        assert_eq!(
            ModernRequest::new(&client)
                .with(header, value)
                .send(&gateway)
                .await
                .text(),
            "{}",
            "{header}: {value}"
        );
    }
}
