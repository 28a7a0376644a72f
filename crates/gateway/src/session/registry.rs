//! All legacy sessions, and everybody who wants to hear of changes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use kitbag_domain::{Caller, KeyId};
use kitbag_wire::RawObject;

use super::Session;
use super::announcements::Subscriber;
use crate::secret::random_token;
use crate::surface::{Door, Surfaces};
use crate::sync::lock;

/// A session nobody has used for this long is over.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);
/// More sessions than any honest use; beyond it the longest unused must go.
const MAX_SESSIONS: usize = 10_000;

#[derive(Default)]
pub(crate) struct Registry {
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
}

impl Registry {
    pub(crate) fn open(
        &self,
        surfaces: &Surfaces,
        caller: Caller,
        door: Door,
        params: &RawObject,
    ) -> Arc<Session> {
        let session = Session::open(random_token(), surfaces, caller, door, params);
        self.subscribe(&session.subscriber);
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS {
            sessions.retain(|_, session| !session.abandoned(Duration::ZERO));
        }
        sessions.insert(session.id.clone(), session.clone());
        session
    }

    /// A session is only ever found by the caller who opened it, through the door it was
    /// opened at.
    pub(crate) fn find(&self, id: &str, caller: &Caller, door: &Door) -> Option<Arc<Session>> {
        let session = lock(&self.sessions).get(id).cloned()?;
        (session.caller() == caller && session.door == *door).then(|| {
            session.touch();
            session
        })
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.sessions).len()
    }

    pub(crate) fn close(&self, session: &Session) {
        lock(&self.sessions).remove(&session.id);
        session.close();
    }

    pub(crate) fn subscribe(&self, subscriber: &Arc<Subscriber>) {
        let mut subscribers = lock(&self.subscribers);
        subscribers.retain(|it| it.strong_count() > 0);
        subscribers.push(Arc::downgrade(subscriber));
    }

    pub(crate) fn subscribers(&self) -> Vec<Arc<Subscriber>> {
        lock(&self.subscribers).iter().filter_map(Weak::upgrade).collect()
    }

    /// The keys that sessions were opened with.
    pub(crate) fn keys(&self) -> HashSet<KeyId> {
        lock(&self.sessions).values().filter_map(|session| session.caller().key.clone()).collect()
    }

    /// Takes out the sessions of keys that open nothing any more.
    pub(crate) fn close_of(&self, ended: &[KeyId]) -> Vec<Arc<Session>> {
        let is_ended =
            |session: &Session| session.caller().key.as_ref().is_some_and(|key| ended.contains(key));
        let gone: Vec<_> = lock(&self.sessions).extract_if(|_, session| is_ended(session)).collect();
        gone.into_iter().map(|(_, session)| session).inspect(|session| session.close()).collect()
    }

    /// Takes out the sessions nobody came back to.
    pub(crate) fn forget_abandoned(&self) -> Vec<Arc<Session>> {
        let mut sessions = lock(&self.sessions);
        let gone: Vec<_> = sessions.values().filter(|it| it.abandoned(FORGOTTEN_AFTER)).cloned().collect();
        for session in &gone {
            sessions.remove(&session.id);
            session.close();
        }
        gone
    }

    pub(crate) fn close_all(&self) {
        for (_, session) in lock(&self.sessions).drain() {
            session.close();
        }
        for subscriber in self.subscribers() {
            subscriber.mailbox.close();
        }
    }
}
