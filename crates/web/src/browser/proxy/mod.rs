//! A page's access to the network: a proxy that resolves names through the guard and connects
//! itself, so that a name cannot lead elsewhere in between.
//!
//! It only accepts `CONNECT` and only forwards TLS, so nothing travels unencrypted. It lives as
//! long as the screenshot, and all connections end with it.

mod tunnel;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use kitbag_fetch::AddressGuard;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use super::error::BrowserError;

/// Pages request everything at once; Chromium itself opens at most six connections for each host.
const MAX_TUNNELS: usize = 256;
/// For everything that a page requests.
const MAX_BYTES: u64 = 200 * 1024 * 1024;
/// More would be a page that probes addresses.
const MAX_REFUSALS: usize = 20;

#[derive(Debug)]
pub(super) struct GuardProxy {
    address: SocketAddr,
    log: Arc<RefusalLog>,
    serving: JoinHandle<()>,
}

/// The requests that were not passed on.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<Vec<Refusal>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) host: String,
    pub(super) reason: String,
    /// True if the guard rejected the address; false if it could not be reached.
    pub(super) by_guard: bool,
}

/// One page's share of the network.
struct ProxyContext {
    guard: AddressGuard,
    log: Arc<RefusalLog>,
    bytes_left: AtomicU64,
}

impl GuardProxy {
    pub(super) async fn start(guard: AddressGuard) -> Result<Self, BrowserError> {
        let log = Arc::<RefusalLog>::default();
        let context = Arc::new(ProxyContext {
            guard,
            log: Arc::clone(&log),
            bytes_left: AtomicU64::new(MAX_BYTES),
        });
        let (listener, address) = bind_local()
            .await
            .map_err(|error| BrowserError::NotStarted {
                reason: format!("its proxy cannot listen: {error}"),
            })?;
        Ok(Self {
            address,
            log,
            serving: tokio::spawn(accept_tunnels(listener, context)),
        })
    }

    /// Returns the address in Chromium's format.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn refusals(&self) -> Vec<Refusal> {
        lock(&self.log.0).clone()
    }
}

impl Drop for GuardProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn bind_local() -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

async fn accept_tunnels(listener: TcpListener, context: Arc<ProxyContext>) {
    let mut tunnels = JoinSet::new();
    loop {
        if let Ok((client, _)) = listener.accept().await {
            tunnels.spawn(tunnel::run_tunnel(client, Arc::clone(&context)));
        }
        while tunnels.try_join_next().is_some() {}
        if tunnels.len() >= MAX_TUNNELS {
            tunnels.join_next().await;
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.host, self.reason)
    }
}

impl RefusalLog {
    fn add(&self, refusal: Refusal) {
        let mut all = lock(&self.0);
        if all.len() < MAX_REFUSALS && !all.contains(&refusal) {
            all.push(refusal);
        }
    }
}
