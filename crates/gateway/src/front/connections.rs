//! Tracks all connections to the HTTP endpoint, limits their number, and chooses which to close for
//! a new one.
//!
//! A connection costs a client nothing and the gateway a file descriptor, so their number is
//! limited, in total and per address. At the limit, the gateway closes the connection whose request
//! it has waited for longest: a client that wants an answer sends its request at once.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

/// More than a gateway of this size can serve at once.
const MOST: usize = 10_000;
/// The share of the process's file limit for connections; the rest is for servers, logs and the
/// store.
const PART_OF_FILES: usize = 2;
/// The share of all connections for one address. All clients behind a proxy have the same address,
/// so it cannot be small.
const PART_EACH: usize = 2;

pub(super) struct Connections {
    open: Mutex<HashMap<u64, OpenConnection>>,
    next: Mutex<u64>,
    most: usize,
    most_each: usize,
}

struct OpenConnection {
    address: IpAddr,
    state: Arc<ConnectionState>,
    ended: CancellationToken,
}

struct ConnectionState {
    /// Requests whose responses are not sent yet.
    serving: AtomicUsize,
    /// Requests so far.
    request_count: AtomicUsize,
    waiting_since: Mutex<Instant>,
}

/// One connection's entry; removed when the connection ends.
pub(super) struct ConnectionGuard {
    connections: Arc<Connections>,
    number: u64,
    state: Arc<ConnectionState>,
    /// Cancelled when the connection must close in favour of a newer one.
    pub(super) ended: CancellationToken,
}

/// A request in progress, until its response is sent.
pub(super) struct RequestGuard {
    admitted: Arc<ConnectionGuard>,
}

impl Connections {
    /// Returns the connections of a process with this limit of open files.
    pub(super) fn with_file_limit(files: usize) -> Arc<Self> {
        let most = MOST.min(files / PART_OF_FILES).max(1);
        let most_each = (most / PART_EACH).max(1);
        Arc::new(Self {
            open: Mutex::default(),
            next: Mutex::default(),
            most,
            most_each,
        })
    }

    /// Admits a connection, if necessary by closing an idle one. Returns `None` if all connections
    /// are serving requests.
    pub(super) fn admit_connection(
        self: &Arc<Self>,
        address: IpAddr,
    ) -> Option<Arc<ConnectionGuard>> {
        let mut open = lock(&self.open);
        let own = open.values().filter(|it| it.address == address).count();
        let holder = if own >= self.most_each {
            Some(address)
        } else if open.len() >= self.most {
            largest_holder(open.values().map(|it| (it.address, 1)))
        } else {
            None
        };
        if let Some(holder) = holder {
            let number = longest_waiting(&open, holder)?;
            if let Some(gone) = open.remove(&number) {
                gone.ended.cancel();
            }
        }
        let number = self.next_number();
        let ended = CancellationToken::new();
        let (serving, request_count) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let state = Arc::new(ConnectionState {
            serving,
            request_count,
            waiting_since: Mutex::new(Instant::now()),
        });
        open.insert(
            number,
            OpenConnection {
                address,
                state: state.clone(),
                ended: ended.clone(),
            },
        );
        Some(Arc::new(ConnectionGuard {
            connections: self.clone(),
            number,
            state,
            ended,
        }))
    }

    fn next_number(&self) -> u64 {
        let mut next = lock(&self.next);
        *next += 1;
        *next
    }
}

fn longest_waiting(open: &HashMap<u64, OpenConnection>, address: IpAddr) -> Option<u64> {
    let waiting = open.iter().filter(|(_, it)| it.address == address);
    let waiting = waiting.filter(|(_, it)| it.state.serving.load(Ordering::Relaxed) == 0);
    waiting
        .map(|(number, it)| (*lock(&it.state.waiting_since), *number))
        .min()
        .map(|(_, number)| number)
}

impl ConnectionGuard {
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestGuard {
        self.state.serving.fetch_add(1, Ordering::Relaxed);
        self.state.request_count.fetch_add(1, Ordering::Relaxed);
        RequestGuard {
            admitted: self.clone(),
        }
    }

    pub(super) fn is_serving(&self) -> bool {
        self.state.serving.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of requests received so far.
    pub(super) fn request_count(&self) -> usize {
        self.state.request_count.load(Ordering::Relaxed)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let state = &self.admitted.state;
        *lock(&state.waiting_since) = Instant::now();
        state.serving.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        lock(&self.connections.open).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_new_connection_replaces_the_one_that_is_idle_for_longest() {
        let connections = Connections::with_file_limit(16);
        let first = connections.admit_connection(HERE).unwrap();
        let served = connections.admit_connection(HERE).unwrap();
        let serving = served.begin_request();
        let third = connections.admit_connection(HERE).unwrap();
        let crowd: Vec<_> = (0..2)
            .map(|_| connections.admit_connection(HERE).unwrap())
            .collect();
        assert!(first.ended.is_cancelled() && !served.ended.is_cancelled());
        assert!(!third.ended.is_cancelled() && !crowd[1].ended.is_cancelled());
        drop(serving);
        assert_eq!(lock(&connections.open).len(), 4);
    }

    #[test]
    fn one_address_does_not_use_up_the_connections_of_others() {
        let connections = Connections::with_file_limit(16);
        let other = connections.admit_connection(address(1)).unwrap();
        let _crowd: Vec<_> = (0..100)
            .filter_map(|_| connections.admit_connection(HERE))
            .collect();
        assert!(!other.ended.is_cancelled());
        assert_eq!(lock(&connections.open).len(), 5);
    }

    #[test]
    fn a_new_connection_is_rejected_while_all_are_busy() {
        let connections = Connections::with_file_limit(8);
        let served: Vec<_> = (0..2)
            .map(|_| connections.admit_connection(HERE).unwrap())
            .collect();
        let serving: Vec<_> = served.iter().map(ConnectionGuard::begin_request).collect();
        assert!(connections.admit_connection(HERE).is_none());
        assert!(
            connections.admit_connection(address(1)).is_some(),
            "other addresses have their share"
        );
        drop(serving);
        assert!(connections.admit_connection(HERE).is_some());
    }
}
