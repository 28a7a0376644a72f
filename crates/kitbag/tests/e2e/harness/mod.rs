//! Everything a test needs to stand up a gateway, talk to it, and watch what it does.
//!
//! # Layout
//! - [`gateway`]: a person's folder with a configuration, and the gateways started in it
//! - [`client`]: a raw MCP client in both eras; [`exchange`]: what comes back to it
//! - [`pipe`]: the stdio door
//! - [`testbed`]: the servers behind the gateway; [`guarded`]: one that wants a token
//! - [`embeddings`]: a service that gives vectors; [`api`]: an HTTP API; [`model`]: one that chooses tools
//! - [`world`]: servers of both eras over both transports, and every way to them
//! - [`store`]: the database of a test, on either engine
//! - [`processes`]: signals, and which processes run

pub(crate) mod api;
pub(crate) mod client;
pub(crate) mod embeddings;
pub(crate) mod exchange;
pub(crate) mod gateway;
pub(crate) mod guarded;
pub(crate) mod model;
pub(crate) mod pipe;
pub(crate) mod shop;
pub(crate) mod store;
pub(crate) mod testbed;
pub(crate) mod world;

use std::time::{Duration, Instant};

pub(crate) use kitbag_testkit::processes;
pub(crate) use {
    client::{Client, Era},
    exchange::{Exchange, Reply},
    gateway::{Gateway, Home},
    testbed::{Remote, Testbed},
};

/// How long anything may take before the test has failed, also on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Asks again and again until there is an answer; `what` is told when there never is one.
pub(crate) async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
