//! Concurrent calls per server, and time limits.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{ERAS, call_with_progress};
use crate::harness::{Era, Gateway, Home, Remote, Testbed, until};

#[tokio::test]
async fn one_call_runs_one_waits_and_the_third_is_rejected() {
    let settings = "max_concurrent = 1\nmax_queued = 1";
    let gateway = Gateway::with(&Testbed::new("small").with(settings).table()).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("small__slow").await;
    // Long enough for all three to arrive while the first one runs.
    let arguments = json!({ "ms": 4000 });
    let call = || client.call("small__slow", &arguments);
    let started = Instant::now();
    let (a, b, c) = tokio::join!(call(), call(), call());
    assert!(
        started.elapsed() >= Duration::from_secs(8),
        "they ran one after the other"
    );
    let (busy, done): (Vec<_>, Vec<_>) = [a, b, c]
        .into_iter()
        .partition(|reply| reply.result()["isError"] == true);
    assert_eq!((busy.len(), done.len()), (1, 2));
    let output = busy[0].tool_error();
    assert!(
        output.contains("`small` has 1 calls running and 1 waiting"),
        "{output}"
    );
    assert!(output.contains("try again"), "{output}");
}

#[tokio::test]
async fn calls_within_the_limit_run_side_by_side() {
    let gateway = Gateway::with(&Testbed::new("wide").table()).await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("wide__slow").await;
    let arguments = json!({ "ms": 3000 });
    let started = Instant::now();
    let replies =
        futures::future::join_all((0..20).map(|_| client.call("wide__slow", &arguments))).await;
    assert!(
        replies
            .iter()
            .all(|reply| reply.text().starts_with("slept"))
    );
    assert!(
        started.elapsed() < Duration::from_secs(40),
        "one after the other they take a minute: {:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn progress_keeps_a_long_call_alive() {
    for era in ERAS {
        let gateway = Gateway::with(&Testbed::new("slow").era(era).with(LENIENT).table()).await;
        let calls = Era::BOTH.map(async |client_era| {
            let client = gateway.client(client_era).await;
            client.knows("slow__slow").await;
            let params = call_with_progress("slow__slow", &json!({ "ms": 8000, "steps": 40 }));
            let reply = client.request("tools/call", &params).await;
            assert_eq!(reply.text(), "slept 8000 ms in 40 steps");
            assert_eq!(
                reply.notifications("notifications/progress").len(),
                40,
                "{era} {client_era:?}"
            );
        });
        futures::future::join_all(calls).await;
    }
}

#[tokio::test]
async fn a_silent_call_is_cancelled_at_the_server() {
    for era in ERAS {
        let home = Home::new("");
        let trace = home.path("trace");
        home.configure(
            &Testbed::new("slow")
                .era(era)
                .data_dir(&trace)
                .with(SHORT)
                .table(),
        );
        let gateway = home.serve().await;
        let client = gateway.client(Era::Modern).await;
        client.knows("slow__slow").await;
        let output = client
            .call("slow__slow", &json!({ "ms": 20_000 }))
            .await
            .tool_error();
        assert!(
            output.contains("`slow` did not answer within 1 s"),
            "{output}"
        );
        assert!(
            output.contains("raise `call_timeout` of [servers.slow]"),
            "{output}"
        );
        until("the server hears that no client waits", async || {
            let events = fs::read_to_string(trace.join("events.log")).unwrap_or_default();
            events.contains("cancelled slow").then_some(())
        })
        .await;
        assert_eq!(
            client.call("slow__echo", &json!({})).await.text(),
            "{}",
            "the server is still there"
        );
    }
}

#[tokio::test]
async fn progress_cannot_stretch_a_call_beyond_its_deadline() {
    let settings = "call_timeout = \"1s\"\ncall_deadline = \"2s\"";
    let gateway = Gateway::with(&Testbed::new("slow").with(settings).table()).await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("slow__slow").await;
    let started = Instant::now();
    let params = call_with_progress("slow__slow", &json!({ "ms": 100_000, "steps": 500 }));
    let output = client.request("tools/call", &params).await.tool_error();
    assert!(output.contains("`slow` did not answer within"), "{output}");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_rejected_and_the_next_one_is_not() {
    for era in ERAS {
        let child = Testbed::new("chatty").era(era).with(SMALL).table();
        let remote = Remote::http(&["--era", era]).await;
        let gateway = Gateway::with(&(child + &remote.table("far", SMALL))).await;
        let client = gateway.client(Era::Modern).await;
        for server in ["chatty", "far"] {
            client.knows(&format!("{server}__big")).await;
            let big = format!("{server}__big");
            let output = client
                .call(&big, &json!({ "bytes": 200_000 }))
                .await
                .tool_error();
            assert!(output.contains("max_message_bytes"), "{server}: {output}");
            assert_eq!(
                client
                    .call(&big, &json!({ "bytes": 1000 }))
                    .await
                    .text()
                    .len(),
                1000
            );
        }
    }
}

const SMALL: &str = "max_message_bytes = 100_000";
/// Longer than a step takes on a busy machine, and shorter than the call.
const LENIENT: &str = "call_timeout = \"5s\"";
const SHORT: &str = "call_timeout = \"1s\"";
