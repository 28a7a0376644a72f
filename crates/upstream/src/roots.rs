//! The roots of a client, for servers that ask for them between calls.
//!
//! Many servers ask right after the handshake, when the client is not known yet. Once a single
//! client uses the connection, its first call waits until the server has its roots: the server is
//! notified that the roots have changed, asks again, and gets the calling client's roots. With
//! several clients, the server gets the answer that there are no common roots.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_wire::meta::code;
use kitbag_wire::{ErrorObject, Raw, RawObject, raw};
use tokio::sync::Notify;

use crate::connection_users::ConnectionUsers;
use kitbag_domain::sync::lock;

/// A server that wants roots asks for them at once; a call waits no longer for one that does not.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Roots {
    stage: Mutex<RootsStage>,
    settled: Notify,
    /// True if the server asks for roots between calls; kept across restarts.
    wanted: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
enum RootsStage {
    Unasked,
    /// It asked when there was no client to ask, or the roots have changed since.
    Owed,
    /// The answer of the only client, if it has answered.
    Settled(Option<Raw>),
}

/// How a call waits until the server has its client's roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootsWait {
    /// The server will ask by itself.
    Only,
    /// The server needs a notification that the roots have changed.
    Notify,
}

impl Roots {
    pub(crate) fn new(wanted: Arc<AtomicBool>) -> Self {
        Self {
            stage: Mutex::new(RootsStage::Unasked),
            settled: Notify::new(),
            wanted,
        }
    }

    /// Returns the answer to a server that asks while no call of the only client is running.
    pub(crate) fn answer_between_calls(&self, users: &ConnectionUsers) -> Result<Raw, ErrorObject> {
        self.wanted.store(true, Ordering::Relaxed);
        if matches!(users, ConnectionUsers::Party(_) | ConnectionUsers::Several) {
            let why = "several clients share this server, and they have no common roots";
            return Err(ErrorObject::new(code::METHOD_NOT_FOUND, why));
        }
        let mut stage = lock(&self.stage);
        if let RootsStage::Settled(Some(known)) = &*stage {
            return Ok(known.clone());
        }
        *stage = RootsStage::Owed;
        // An empty list lets the server continue until then.
        Ok(raw(&RawObject::new().with("roots", &[(); 0])))
    }

    /// Sets the answer of a client, or that it declined.
    pub(crate) fn set_answer(&self, answer: Option<Raw>) {
        *lock(&self.stage) = RootsStage::Settled(answer);
        self.settled.notify_waiters();
    }

    /// Records that the roots of the only client have changed.
    pub(crate) fn mark_changed(&self) {
        if self.wanted.load(Ordering::Relaxed) {
            *lock(&self.stage) = RootsStage::Owed;
        }
    }

    pub(crate) fn required_wait(&self) -> Option<RootsWait> {
        match &*lock(&self.stage) {
            RootsStage::Owed => Some(RootsWait::Notify),
            RootsStage::Unasked if self.wanted.load(Ordering::Relaxed) => Some(RootsWait::Only),
            RootsStage::Unasked | RootsStage::Settled(_) => None,
        }
    }

    /// Returns when the server has the roots, or does not ask for them. While the client is being
    /// asked, that may take as long as the user takes.
    pub(crate) async fn wait_until_settled(&self, is_asking: impl Fn() -> bool) {
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            if self.required_wait().is_none() {
                return;
            }
            if tokio::time::timeout(ROOTS_TIMEOUT, settled).await.is_err() && !is_asking() {
                return self.set_answer(None);
            }
        }
    }
}
