//! Sessions, HTTP methods, sizes, and connections that stall or do not speak HTTP.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{BOTH, JSON, gateway, http_error, rpc_error, still_works};
use crate::harness::{Era, Gateway, Testbed};

#[tokio::test]
async fn a_known_session_is_required() {
    let gateway = gateway().await;
    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    const NOTE: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for body in [PING, NOTE, ANSWER] {
        let id = if body == PING { json!(1) } else { Value::Null };
        let none = gateway.post("/mcp/all", &[JSON, BOTH], body).await;
        rpc_error(400, -32600, "Mcp-Session-Id")
            .id(id.clone())
            .check(&none, body);
        let unknown = gateway
            .post(
                "/mcp/all",
                &[JSON, BOTH, ("mcp-session-id", "nobody")],
                body,
            )
            .await;
        rpc_error(404, -32600, "session")
            .id(id)
            .check(&unknown, body);
    }
    let session = gateway.client(Era::Legacy).await;
    let headers = session.headers("", &Value::Null);
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let elsewhere = gateway.post("/servers/good/mcp", &headers, PING).await;
    rpc_error(404, -32600, "session")
        .id(1)
        .check(&elsewhere, "the session of another endpoint");
    let mut future = headers.clone();
    future.retain(|(name, _)| *name != "mcp-protocol-version");
    future.push(("mcp-protocol-version", "1999-01-01"));
    rpc_error(400, -32022, "1999-01-01").id(1).check(
        &gateway.post("/mcp/all", &future, PING).await,
        "an unknown version",
    );
    assert_eq!(session.request("ping", &json!({})).await.raw_result(), "{}");
}

#[tokio::test]
async fn methods_other_than_post_do_what_they_should_and_no_more() {
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
    assert_eq!(send("GET", "/nothing", &[]).await, 404);
    assert_eq!(send("POST", "/servers/nobody/mcp", &[]).await, 404);
    assert_eq!(send("POST", "/servers/a%2Fb/mcp", &[]).await, 404);

    let session = gateway.client(Era::Legacy).await;
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

    let modern = gateway.client(Era::Modern).await.headers("", &Value::Null);
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
async fn a_body_beyond_the_limit_is_rejected_however_it_is_sent() {
    const LIMIT: usize = 20_000;
    let serve = format!("[serve]\nbind = \"127.0.0.1:0\"\nmax_body_bytes = {LIMIT}\n");
    let gateway = Gateway::with(&format!("{serve}{}", Testbed::new("good").table())).await;
    let expect = http_error(413, "max_body_bytes");
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

    let client = gateway.client(Era::Modern).await;
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
async fn clients_that_stall_in_the_middle_delay_no_other_client() {
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
async fn bytes_that_are_not_http_are_rejected() {
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
