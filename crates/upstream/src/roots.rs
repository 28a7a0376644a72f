//! The roots of a client, for servers that ask for them between calls.
//!
//! Many servers ask right after the greeting, when it is not known yet for whom they will work. As
//! soon as one client alone uses the connection, its first call waits until the server has its
//! roots: the server is told that the roots have changed, asks again, and is given those of the
//! client that calls. With several clients the server is told that there are no roots for all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kitbag_wire::meta::code;
use kitbag_wire::{ErrorObject, Raw, RawObject, raw};
use tokio::sync::Notify;

use crate::users::Users;
use kitbag_domain::sync::lock;

/// How long a call waits for a server to ask for roots it is known to want.
const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Roots {
    stage: Mutex<Stage>,
    settled: Notify,
    /// Whether the server asks for roots between calls; remembered when it is started anew.
    wanted: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
enum Stage {
    Unasked,
    /// It asked when there was no client to ask, or the roots have changed since.
    Owed,
    /// What the only client has answered, if it has.
    Settled(Option<Raw>),
}

/// How a call has to wait for the server to have the roots of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The server will ask by itself.
    Only,
    /// The server has to be told that they have changed.
    Tell,
}

impl Roots {
    pub(crate) fn new(wanted: Arc<AtomicBool>) -> Self {
        Self {
            stage: Mutex::new(Stage::Unasked),
            settled: Notify::new(),
            wanted,
        }
    }

    /// The answer to a server that asks while no call of the only client runs.
    pub(crate) fn between_calls(&self, users: &Users) -> Result<Raw, ErrorObject> {
        self.wanted.store(true, Ordering::Relaxed);
        if matches!(users, Users::Party(_) | Users::Several) {
            let why =
                "several clients share this server, and there are no roots that all of them have";
            return Err(ErrorObject::new(code::METHOD_NOT_FOUND, why));
        }
        let mut stage = lock(&self.stage);
        if let Stage::Settled(Some(known)) = &*stage {
            return Ok(known.clone());
        }
        *stage = Stage::Owed;
        // An empty list lets the server go on until then.
        Ok(raw(&RawObject::new().with("roots", &[(); 0])))
    }

    /// A client has answered, or declined.
    pub(crate) fn answered(&self, answer: Option<Raw>) {
        *lock(&self.stage) = Stage::Settled(answer);
        self.settled.notify_waiters();
    }

    /// The only client has said that its roots are others now.
    pub(crate) fn changed(&self) {
        if self.wanted.load(Ordering::Relaxed) {
            *lock(&self.stage) = Stage::Owed;
        }
    }

    pub(crate) fn wait(&self) -> Option<Wait> {
        match &*lock(&self.stage) {
            Stage::Owed => Some(Wait::Tell),
            Stage::Unasked if self.wanted.load(Ordering::Relaxed) => Some(Wait::Only),
            Stage::Unasked | Stage::Settled(_) => None,
        }
    }

    /// Comes back when the server has the roots, or does not ask for them. While the client is
    /// being asked, that may take as long as a person takes.
    pub(crate) async fn settle(&self, is_asking: impl Fn() -> bool) {
        loop {
            let mut settled = std::pin::pin!(self.settled.notified());
            settled.as_mut().enable();
            if self.wait().is_none() {
                return;
            }
            if tokio::time::timeout(PATIENCE, settled).await.is_err() && !is_asking() {
                return self.answered(None);
            }
        }
    }
}
