//! Hostile servers and callers, each next to a good one: memory stays bounded, and the good one is
//! served as usual.
//!
//! # Layout
//! - [`servers`]: attacks by servers: floods, silence, dripping, leftover processes
//! - [`lists`]: endless lists
//! - [`nesting`]: deeply nested JSON from either side
//! - [`callers`]: one caller against another: sessions and slots
//! - [`connections`]: attacks without a key, or by not reading; [`pages`]: attacks from web pages

mod callers;
mod connections;
mod lists;
mod nesting;
mod pages;
mod servers;

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Client, Era, Gateway, Testbed};

/// Memory limit of the gateway under attack, in MB. An unoptimized build with its model loaded needs
/// about a quarter of it; anything unbounded exceeds it within seconds.
const MOST_MEMORY: usize = 500;
/// Time limit of a call to the good server. Otherwise it takes a few milliseconds; tests share two cores
/// with other tests.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// How long the good server is watched.
const WATCHED_FOR: Duration = Duration::from_secs(4);

/// A gateway in front of a hostile server, `evil`, and a good one.
async fn beside_a_good_one(evil: &Testbed) -> (Gateway, Client) {
    let gateway = Gateway::with(&(evil.table() + &Testbed::new("good").table())).await;
    let client = gateway.client(Era::Legacy).await;
    client.knows_of("good__echo").await;
    (gateway, client)
}

/// Calls the good server for a while in both eras, and checks the gateway's health.
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
