//! One caller against another: only the flooding caller is affected.

use std::time::{Duration, Instant};

use futures::future::join_all;
use serde_json::json;

use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

/// A gateway with two tenants, and a client for each.
async fn two_tenants(config: &str, era: Era) -> (Gateway, Client, Client) {
    let home = Home::new(&format!("{config}[tenants.low]\n[tenants.high]\n"));
    let (low, high) = (home.key("low").await, home.key("high").await);
    let gateway = home.serve().await;
    let client = async |key: &str| gateway.client_at("/mcp/all", era).key(key).connect().await;
    let (low, high) = (client(&low).await, client(&high).await);
    (gateway, low, high)
}

#[tokio::test]
async fn a_caller_that_runs_all_it_can_leaves_a_slot_for_the_next() {
    for (settings, era) in [
        ("", Era::Legacy),
        ("max_concurrent = 4", Era::Legacy),
        ("", Era::Modern),
    ] {
        let home = Home::new("");
        let trace = home.path("trace");
        let slow = Testbed::new("slow").data_dir(&trace).with(settings);
        let (_gateway, low, high) = two_tenants(&slow.table(), era).await;
        high.knows_of("slow__echo").await;
        let arguments = json!({ "ms": 100_000 });
        let crowd = join_all((0..100).map(|_| low.call("slow__slow", &arguments)));
        let neighbour = async {
            until("the crowd runs", async || {
                let events = std::fs::read_to_string(trace.join("events.log")).unwrap_or_default();
                (events
                    .lines()
                    .filter(|line| *line == "started slow")
                    .count()
                    >= 3)
                    .then_some(())
            })
            .await;
            let asked = Instant::now();
            for _ in 0..10 {
                assert_eq!(high.call("slow__echo", &json!({})).await.text(), "{}");
            }
            asked.elapsed()
        };
        tokio::select! {
            waited = neighbour => assert!(waited < Duration::from_secs(40), "ten calls took {waited:?}"),
            _ = crowd => panic!("the crowd ended first"),
        }
    }
}

#[tokio::test]
async fn a_flood_of_sessions_ends_the_flooders_own() {
    // Only legacy clients have sessions.
    let good = Testbed::new("good").table();
    let (gateway, low, high) = two_tenants(&good, Era::Legacy).await;
    high.knows_of("good__echo").await;
    let greeting = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    // A few more than one caller may have.
    for _ in 0..21 {
        join_all((0..100).map(|_| low.request("initialize", &greeting))).await;
    }
    assert_eq!(
        high.call("good__echo", &json!({})).await.text(),
        "{}",
        "its session is still there"
    );
    assert_eq!(
        low.call("good__echo", &json!({})).await.status,
        404,
        "the first of the flood had to go"
    );
    super::assert_memory(&gateway);
}
