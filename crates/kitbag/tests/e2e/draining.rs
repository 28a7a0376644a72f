//! Shutdown while clients call: calls finish, and new connections are refused.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Home, Testbed, until};

/// A home with one testbed, and the file of its event log.
fn home_with_bed() -> (Arc<Home>, PathBuf) {
    let home = Home::new("");
    let trace = home.path("trace");
    home.configure(&Testbed::new("bed").data_dir(&trace).table());
    (home, trace.join("events.log"))
}

/// Waits until this many calls have reached the server.
async fn running_calls(count: usize, events: &Path) {
    until("the calls run", async || {
        let begun = fs::read_to_string(events).unwrap_or_default();
        (begun.matches("started slow").count() == count).then_some(())
    })
    .await;
}

fn slow_call(ms: u64) -> Value {
    json!({ "name": "bed__slow", "arguments": { "ms": ms } })
}

#[tokio::test]
async fn running_calls_finish_over_http_in_either_era() {
    let (home, events) = home_with_bed();
    let gateway = home.serve().await;
    let (legacy, modern) = (
        gateway.client(Era::Legacy).await,
        gateway.client(Era::Modern).await,
    );
    legacy.knows("bed__slow").await;
    let call = slow_call(2500);
    let end = async {
        running_calls(2, &events).await;
        gateway.stop().await
    };
    let (first, second, status) = tokio::join!(
        legacy.request("tools/call", &call),
        modern.request("tools/call", &call),
        end
    );
    assert!(status.success());
    for reply in [first, second] {
        assert_eq!(reply.text(), "slept 2500 ms in 0 steps");
    }
}

#[tokio::test]
async fn a_call_of_a_client_on_stdio_is_finished_too() {
    for era in Era::each() {
        let (home, events) = home_with_bed();
        let client = Client::stdio(&home, era).connect().await;
        client.knows("bed__slow").await;
        let call = client.start("tools/call", &slow_call(2500)).await;
        running_calls(1, &events).await;
        client.pipe().terminate();
        assert_eq!(
            call.finish().await.text(),
            "slept 2500 ms in 0 steps",
            "{era:?}"
        );
        while client.pipe().line().await.is_some() {}
    }
}

#[tokio::test]
async fn a_new_connection_is_refused_at_once_while_calls_finish() {
    let (home, events) = home_with_bed();
    let mut gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("bed__slow").await;
    let address = gateway.base.strip_prefix("http://").unwrap().to_owned();
    let ends_early = async {
        running_calls(1, &events).await;
        gateway.terminate();
        until("no connection is accepted", async || {
            let refused = TcpStream::connect(&address).map_err(|error| error.kind());
            matches!(refused, Err(ErrorKind::ConnectionRefused)).then_some(())
        })
        .await;
        gateway.has_ended()
    };
    let call = slow_call(100_000);
    tokio::select! {
        _ = client.request("tools/call", &call) => panic!("the call ended first"),
        has_ended = ends_early => assert!(!has_ended, "the call is still waited for"),
    }
}
