//! Servers and callers that mean harm, each beside one that does not: the gateway's memory stays
//! within bounds, and the neighbour is answered as if it were alone.
//!
//! # Layout
//! - [`servers`]: what servers do: floods, silence, dripping, what they leave behind
//! - [`lists`]: lists without end
//! - [`nesting`]: JSON nested without end, from either side
//! - [`callers`]: one caller against another: sessions and places
//! - [`connections`]: what can be done without a key, or by not reading; [`pages`]: what web pages can do

mod callers;
mod connections;
mod lists;
mod nesting;
mod pages;
mod servers;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, Era, Gateway, Testbed};

/// What the gateway may take while it is attacked, in MB. An unoptimised build with its model loaded
/// takes about a quarter of that; what is unbounded passes it within seconds.
const MOST_MEMORY: usize = 500;
/// What a call to the neighbour may take. Alone it takes a few milliseconds; tests share two cores with
/// others of their kind, and with anything else the machine does.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// How long the neighbour is watched.
const WATCHED_FOR: Duration = Duration::from_secs(4);

/// A gateway in front of a server that means harm, called `evil`, and of a good one.
async fn beside_a_good_one(evil: &Testbed) -> (Gateway, Client) {
    let gateway = Gateway::with(&(evil.table() + &Testbed::named("good").table())).await;
    let client = gateway.client(Era::Legacy).await;
    client.knows_of("good__echo").await;
    (gateway, client)
}

/// Calls the good server for a while in both eras, and asks after the gateway's health.
async fn watch(gateway: &Gateway, neighbour: &Client) {
    let modern = gateway.client(Era::Modern).await;
    let (started, mut worst) = (Instant::now(), Duration::ZERO);
    while started.elapsed() < WATCHED_FOR {
        for neighbour in [neighbour, &modern] {
            let asked = Instant::now();
            let answer = neighbour.call("good__echo", &json!({ "a": 1 })).await;
            assert_eq!(answer.text(), r#"{"a":1}"#, "{:?}", neighbour.era);
            assert!(gateway.is_healthy().await);
            worst = worst.max(asked.elapsed());
        }
    }
    assert!(worst < LONGEST_ANSWER, "the neighbour waited {worst:?}");
    assert_memory(gateway);
}

#[track_caller]
fn assert_memory(gateway: &Gateway) {
    let peak = gateway.memory().peak_mb;
    assert!(peak < MOST_MEMORY, "the gateway took {peak} MB");
}
