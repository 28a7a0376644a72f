//! Everything except the tools passes unchanged, in both directions.

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::HeaderMap;
use kitbag_testkit::vendor::{AnswerSource, Received, in_pieces};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::Proxied;
use crate::harness::{PATIENCE, until};

/// Sends the same request to the vendor directly and through the gateway; neither side can see a
/// difference.
async fn same_both_ways(
    client: &Client,
    proxied: &Proxied,
    (vendor, path): (&str, &str),
    body: Option<&str>,
) {
    let mut seen = Vec::new();
    for url in [
        format!("{}{path}", proxied.vendor.url),
        format!("{}/{vendor}{path}", proxied.gateway.base),
    ] {
        let request = match body {
            Some(body) => client.post(url).body(body.to_owned()),
            None => client.get(url),
        };
        let request = request
            .header("x-api-key", "sk-ant-secret-of-the-client")
            .header("anthropic-beta", "a")
            .header("anthropic-beta", "b")
            .header("user-agent", "an SDK/1.0");
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        seen.push((
            proxied.vendor.last(),
            (
                status,
                comparable_headers(&headers),
                answer.bytes().await.unwrap(),
            ),
        ));
    }
    let [(sent, got), (sent_through, got_through)] = seen.try_into().unwrap();
    // Compares the bodies first: a failed comparison must not print megabytes.
    assert!(sent.body == sent_through.body, "{path}: other bytes arrive");
    assert!(got.2 == got_through.2, "{path}: other bytes come back");
    assert_eq!(request_of(&sent), request_of(&sent_through));
    assert_eq!((got.0, got.1), (got_through.0, got_through.1), "{path}");
}

/// Follows no redirects, so that a test sees the responses of the gateway.
fn plain_client() -> Client {
    let builder = Client::builder().redirect(Policy::none());
    builder.build().unwrap()
}

fn request_of(received: &Received) -> (String, String, Vec<(String, String)>) {
    let Received { method, uri, .. } = received;
    (
        method.to_string(),
        uri.to_string(),
        comparable_headers(&received.headers),
    )
}

/// All headers except those that differ for each connection or response.
fn comparable_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let own = ["host", "date", "x-kitbag-request-id"];
    let mut output: Vec<(String, String)> = headers
        .iter()
        .filter(|(name, _)| !own.contains(&name.as_str()))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    output.sort();
    output
}

fn answer_with_status(status: u16) -> impl Fn(&Received) -> Response + Send + Sync {
    move |_| {
        let error = json!({ "type": "error", "error": { "type": "x", "message": "no" } });
        Response::builder()
            .status(status)
            .header("retry-after", "7")
            .header("request-id", "req_1")
            .header("x-request-id", "req_2")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("content-encoding", "br")
            .body(Body::from(error.to_string()))
            .unwrap()
    }
}

#[tokio::test]
async fn paths_bodies_headers_and_errors_pass_as_they_are() {
    let client = plain_client();
    let proxied = Proxied::with("").await;
    for status in [200, 302, 400, 404, 429, 500, 529] {
        proxied.vendor.set_script(answer_with_status(status));
        for (vendor, path, body) in [
            (
                "anthropic",
                "/v1/messages",
                Some(r#"{ "tools": [ ] , "messages":[]}"#),
            ),
            ("anthropic", "/v1/messages?beta=true", Some("{\"not json")),
            ("anthropic", "/v1/messages/count_tokens", Some("{ }")),
            ("anthropic", "/v1/models?limit=2&after_id=a%2Fb", None),
            (
                "openai",
                "/v1/chat/completions",
                Some(r#"{"tools":[{"type":"function","function":{"name":"x"}}],"messages":[]}"#),
            ),
            (
                "openai",
                "/v1/responses",
                Some(r#"{"input":"hi","tools":[]}"#),
            ),
            ("openai", "/v1/files/a%20b", None),
        ] {
            same_both_ways(&client, &proxied, (vendor, path), body).await;
        }
    }
    let log = proxied.gateway.log();
    assert!(!log.contains("sk-ant-secret"), "{log}");
}

#[tokio::test]
async fn large_bodies_pass_and_too_large_ones_are_rejected_in_the_vendors_format() {
    let client = plain_client();
    let proxied = Proxied::with("").await;
    let large = |bytes: usize| {
        let image = "A".repeat(bytes);
        json!({ "tools": [{ "name": "x" }], "messages": [{ "role": "user", "content":
            [{ "type": "image", "source": { "type": "base64", "data": image } }] }] })
        .to_string()
    };
    let body = large(10_000_000);
    proxied
        .vendor
        .set_script(|received| Response::new(received.body.clone().into()));
    same_both_ways(
        &client,
        &proxied,
        ("anthropic", "/v1/messages"),
        Some(&body),
    )
    .await;
    same_both_ways(
        &client,
        &proxied,
        ("anthropic", "/v1/files"),
        Some(&large(13_000_000)),
    )
    .await;
    let refused = proxied
        .gateway
        .post("/openai/v1/responses", &[], large(13_000_000))
        .await;
    assert_eq!(refused.status, 413);
    let output: Value = serde_json::from_str(refused.raw()).unwrap();
    assert!(
        output["error"]["message"]
            .as_str()
            .unwrap()
            .starts_with("Kitbag: "),
        "{output}"
    );
}

/// Requests a stream and waits for its first event.
async fn open_stream(proxied: &Proxied) -> (reqwest::Response, AnswerSource) {
    let (sources, mut source) = tokio::sync::mpsc::unbounded_channel();
    proxied.vendor.set_script(move |_| {
        let (body, source) = in_pieces();
        let _ = source.pieces.send(Ok(Bytes::from("event: one\n\n")));
        let _ = sources.send(source);
        let answer = Response::builder().header("content-type", "text/event-stream");
        answer.body(body).unwrap()
    });
    let body = json!({ "stream": true, "tools": [], "messages": [] }).to_string();
    let url = format!("{}/anthropic/v1/messages", proxied.gateway.base);
    let mut answer = Client::new().post(url).body(body).send().await.unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "event: one\n\n");
    (answer, source.recv().await.unwrap())
}

#[tokio::test]
async fn a_stream_passes_event_by_event_and_ends_as_it_was_ended() {
    let proxied = Proxied::with("").await;
    let (mut answer, source) = open_stream(&proxied).await;
    for event in ["event: two\n\n", "event: three\n\n"] {
        source.pieces.send(Ok(Bytes::from(event))).unwrap();
        assert_eq!(answer.chunk().await.unwrap().unwrap(), event);
    }
    drop(source.pieces);
    assert_eq!(answer.chunk().await.unwrap(), None);

    let (mut answer, source) = open_stream(&proxied).await;
    let broken = std::io::Error::other("the vendor is gone");
    source.pieces.send(Err(broken)).unwrap();
    assert!(
        answer.chunk().await.is_err(),
        "a broken stream must not end cleanly"
    );

    let (answer, source) = open_stream(&proxied).await;
    drop(answer);
    let left = tokio::time::timeout(PATIENCE, source.gone).await;
    assert!(
        left.is_ok(),
        "the vendor never heard that the client has gone"
    );
}

#[tokio::test]
async fn an_unreachable_vendor_is_reported_in_its_own_error_format() {
    let Proxied {
        gateway,
        vendor,
        _shop,
    } = Proxied::with("").await;
    let place = vendor.url.clone();
    drop(vendor);
    let refused = until("the vendor is away", async || {
        let refused = gateway.post("/anthropic/v1/messages", &[], "{}").await;
        (refused.status == 502).then_some(refused)
    })
    .await;
    let output: Value = serde_json::from_str(refused.raw()).unwrap();
    assert_eq!(
        (&output["type"], &output["error"]["type"]),
        (&json!("error"), &json!("api_error"))
    );
    assert!(
        output["error"]["message"]
            .as_str()
            .unwrap()
            .contains(&place),
        "{output}"
    );
}
