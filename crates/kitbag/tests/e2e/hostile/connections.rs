//! Attacks over HTTP without a key, or by not reading responses.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::assert_memory;
use crate::harness::{Client, Era, Gateway, Home, Testbed};

/// The usual default limit of open files.
const USUAL_FILES: usize = 1024;

fn address(gateway: &Gateway) -> String {
    gateway.base.trim_start_matches("http://").to_owned()
}

async fn send(gateway: &Gateway, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address(gateway)).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// A gateway that requires a key, and a client that has one.
async fn gateway_with_key() -> (Gateway, Client) {
    let serve = "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n";
    let home = Home::new(&format!(
        "{serve}{}[tenants.acme]\n",
        Testbed::new("good").table()
    ));
    home.begin_with_files(USUAL_FILES);
    let key = home.key("acme").await;
    let gateway = home.serve().await;
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .key(&key)
        .connect()
        .await;
    client.knows_of("good__echo").await;
    (gateway, client)
}

#[tokio::test]
async fn a_thousand_requests_that_never_end_lock_no_caller_out() {
    let (gateway, _) = gateway_with_key().await;
    let mut half_open = Vec::new();
    for _ in 0..1_100 {
        half_open.push(send(&gateway, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ").await);
    }
    let key = gateway.home.key("acme").await;
    let asked = Instant::now();
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .key(&key)
        .connect()
        .await;
    assert_eq!(client.call("good__echo", &json!({})).await.text(), "{}");
    assert!(
        asked.elapsed() < Duration::from_secs(40),
        "{:?}",
        asked.elapsed()
    );
    assert!(gateway.is_healthy().await);
    // They are closed after a while, although they never complete.
    let mut rest = Vec::new();
    let closed = half_open[0].read_to_end(&mut rest);
    tokio::time::timeout(Duration::from_secs(90), closed)
        .await
        .expect("it is closed")
        .ok();
}

#[tokio::test]
async fn the_gateway_raises_its_limit_of_open_files() {
    let (gateway, _) = gateway_with_key().await;
    let (allowed, most) = gateway.open_files();
    assert_eq!(allowed, most.min(65_536));
}

/// A request for a long response that the sender does not read.
fn large_request(client: &Client, key: &str) -> Vec<u8> {
    let params = json!({ "name": "good__big", "arguments": { "bytes": 13_500_000 } });
    let body = client.body(1, "tools/call", &params.to_string());
    let mut head = format!(
        "POST /mcp/all HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n",
        body.len()
    );
    head += &format!("Authorization: Bearer {key}\r\n");
    for (name, value) in client.headers("tools/call", &params) {
        if name != "authorization" {
            head += &format!("{name}: {value}\r\n");
        }
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// The first few kilobytes of a response.
async fn read_beginning(stream: &mut TcpStream) -> String {
    let mut piece = [0; 4096];
    let length = tokio::time::timeout(ANSWERED_WITHIN, stream.read(&mut piece))
        .await
        .expect("an answer")
        .unwrap();
    String::from_utf8_lossy(&piece[..length]).into_owned()
}

/// Eight responses of 13 MB take a while in an unoptimized build.
const ANSWERED_WITHIN: Duration = Duration::from_secs(200);

#[tokio::test]
async fn clients_that_do_not_read_long_answers_get_no_more_of_them() {
    let (gateway, client) = gateway_with_key().await;
    let greedy_key = gateway.home.key("acme").await;
    let request = large_request(&client, &greedy_key);
    let before = gateway.memory().now_mb;
    let mut unread = Vec::new();
    for _ in 0..8 {
        unread.push(send(&gateway, &request).await);
    }
    // A few have their response waiting; all others get a short error that fits the socket buffer.
    let output = join_all(unread.iter_mut().map(read_beginning)).await;
    let refused = output.iter().filter(|it| it.contains("are unread")).count();
    assert!((3..=5).contains(&refused), "{refused} of 8 were refused");
    let during = gateway.memory().now_mb;
    assert!(
        during < before + 300,
        "{before} MB before, {during} MB with eight answers unread"
    );
    let asked = Instant::now();
    assert_eq!(
        client
            .call("good__big", &json!({ "bytes": 1_000_000 }))
            .await
            .text()
            .len(),
        1_000_000
    );
    assert!(
        asked.elapsed() < Duration::from_secs(60),
        "another caller waited {:?}",
        asked.elapsed()
    );
    assert_memory(&gateway);
}
