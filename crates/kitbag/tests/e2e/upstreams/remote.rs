//! Servers reached over HTTP, of every transport and era, while they come and go.

use serde_json::json;

use super::call_with_progress;
use crate::harness::{Client, Era, Gateway, Remote, Testbed, until};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Http(&'static str),
    Sse,
}

impl Kind {
    const ALL: [Self; 4] = [
        Self::Http("legacy"),
        Self::Http("modern"),
        Self::Http("dual"),
        Self::Sse,
    ];

    async fn start(self) -> Remote {
        match self {
            Self::Http(era) => Remote::http(&["--era", era]).await,
            Self::Sse => Remote::sse(&["--era", "legacy"]).await,
        }
    }
}

#[tokio::test]
async fn a_remote_server_of_any_kind_lists_answers_and_reports_progress() {
    for kind in Kind::ALL {
        let remote = kind.start().await;
        let gateway = Gateway::with(&remote.table("far", "")).await;
        for client_era in Era::each() {
            let client = gateway.client(client_era).await;
            client.knows("far__echo").await;
            assert_eq!(
                client.call("far__echo", &json!({ "a": 1 })).await.text(),
                r#"{"a":1}"#,
                "{kind:?}"
            );
            let params = call_with_progress("far__slow", &json!({ "ms": 60, "steps": 3 }));
            let reply = client.request("tools/call", &params).await;
            assert_eq!(
                reply.notifications("notifications/progress").len(),
                3,
                "{kind:?} {client_era:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_server_of_the_old_transport_is_detected() {
    let remote = Remote::sse(&["--era", "legacy"]).await;
    let gateway = Gateway::with(&format!("[servers.far]\nurl = \"{}\"\n", remote.url)).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("far__echo").await;
    assert_eq!(client.call("far__echo", &json!({})).await.text(), "{}");
}

#[tokio::test]
async fn a_restarted_server_without_our_session_serves_the_next_call() {
    for kind in Kind::ALL {
        let remote = kind.start().await;
        let gateway = Gateway::with(&remote.table("far", "")).await;
        let client = gateway.client(Era::Legacy).await;
        client.knows("far__echo").await;
        client.call("far__echo", &json!({})).await.text();
        let _remote = remote.restart().await;
        match kind {
            Kind::Http(_) => drop(client.call("far__echo", &json!({})).await.text()),
            // A call made before the end of the stream is noticed is lost with it.
            Kind::Sse => {
                until("it serves again", async || {
                    answers(&client).await.then_some(())
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_is_down_is_named_and_comes_back_by_itself() {
    for kind in Kind::ALL {
        let remote = kind.start().await;
        let gateway =
            Gateway::with(&(remote.table("far", "") + &Testbed::new("near").table())).await;
        let client = gateway.client(Era::Modern).await;
        client.knows("far__echo").await;
        client.knows("near__echo").await;
        let remote = remote.end();
        let output = client.call("far__echo", &json!({})).await.tool_error();
        let says_so =
            output.contains("onnection refused") || output.contains("the event stream ended");
        assert!(output.contains("`far`") && says_so, "{kind:?}: {output}");
        assert_eq!(client.call("near__echo", &json!({})).await.text(), "{}");
        let _remote = remote.start().await;
        until("it is back", async || answers(&client).await.then_some(())).await;
    }
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_ends_the_call_at_once() {
    for kind in Kind::ALL {
        let remote = kind.start().await;
        let gateway = Gateway::with(&remote.table("far", "")).await;
        let client = gateway.client(Era::Legacy).await;
        client.knows("far__slow").await;
        let params = call_with_progress("far__slow", &json!({ "ms": 60_000, "steps": 600 }));
        let mut call = client.start("tools/call", &params).await;
        call.wait_for("notifications/progress").await;
        drop(remote);
        let output = call.finish().await.tool_error();
        assert!(
            output.contains("`far` disconnected during the call"),
            "{kind:?}: {output}"
        );
    }
}

#[tokio::test]
async fn an_address_without_a_server_gets_a_clear_error() {
    let remote = Remote::http(&[]).await;
    let elsewhere = remote.url.replace("/mcp", "/nothing-here");
    let gateway = Gateway::with(&format!("[servers.lost]\nurl = \"{elsewhere}\"\n")).await;
    let client = gateway.client(Era::Modern).await;
    let output = client.call("lost__echo", &json!({})).await.tool_error();
    assert!(
        output.contains("`lost`") && output.contains("404"),
        "{output}"
    );
}

async fn answers(client: &Client) -> bool {
    client.call("far__echo", &json!({})).await.result()["isError"] != true
}
