//! Servers that send endlessly, or do not read their input.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, Era, Gateway, Testbed, until};

/// Memory that a flood may cost the gateway at most.
const ALLOWANCE: u64 = 64 << 20;

fn neighbour() -> String {
    Testbed::new("good").table()
}

#[tokio::test]
async fn a_server_that_pings_and_never_reads_is_ended_and_costs_its_neighbours_nothing() {
    let calm = Gateway::with(&neighbour()).await;
    answers_at_once(&calm.client(Era::Legacy).await).await;
    let usual = calm.peak_memory();

    let evil = Testbed::new("evil")
        .era("legacy")
        .manner("flood-pings")
        .table();
    let gateway = Gateway::with(&(neighbour() + &evil)).await;
    let client = gateway.client(Era::Legacy).await;
    until("the server is given up", async || {
        answers_at_once(&client).await;
        gateway
            .log()
            .contains("it did not read its input")
            .then_some(())
    })
    .await;
    let peak = gateway.peak_memory();
    assert!(peak < usual + ALLOWANCE, "{peak} bytes instead of {usual}");
}

async fn answers_at_once(client: &Client) {
    client.knows("good__echo").await;
    let asked = Instant::now();
    assert_eq!(client.call("good__echo", &json!({})).await.text(), "{}");
    assert!(
        asked.elapsed() < Duration::from_secs(30),
        "{:?}",
        asked.elapsed()
    );
}
