//! Everything a test needs to start a gateway, talk to it, and observe it.
//!
//! # Layout
//! - [`gateway`]: a home folder with a configuration, and the gateways started in it
//! - [`client`]: a raw MCP client of both eras; [`exchange`]: its replies
//! - [`pipe`]: a gateway on stdio
//! - [`testbed`]: the servers behind the gateway; [`guarded`]: a server that requires a token
//! - [`embeddings`]: an embeddings service; [`api`]: an HTTP API; [`model`]: a model that chooses tools
//! - [`world`]: servers of both eras over both transports, and all paths to them
//! - [`store`]: the database of a test, on either engine
//! - [`processes`]: signals and running processes

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

/// The time limit for any step, generous enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Polls until there is an answer; panics with `what` if there is none in time.
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
