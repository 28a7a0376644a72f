//! The sessions of people who look at the pages: in memory, ended by signing out, a revoked key, a
//! long pause or a restart of the gateway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use kitbag_gateway::state::random_ids::random_token;

use super::notice::Notice;

/// A session ends after a night without a request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(12 * 60 * 60);
/// A program that ignores cookies begins a session with every request; the oldest ones end first.
const MAX_SESSIONS: usize = 1000;

/// The random value of the session cookie.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionId(Arc<str>);

#[derive(Clone)]
pub(super) struct Session {
    /// The key that the person signed in with; `None` if this machine needs no key.
    pub(super) key: Option<Arc<str>>,
    /// Proves that a form comes from one of our pages.
    pub(super) csrf: Arc<str>,
    notice: Option<Notice>,
    last_used: Instant,
}

#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<SessionId, Session>>);

impl SessionId {
    pub(super) fn from_cookie(value: &str) -> Self {
        Self(value.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Sessions {
    pub(super) fn start_session(&self, key: Option<&str>) -> (SessionId, Session) {
        let id = SessionId(random_token().into());
        let session = Session {
            key: key.map(Arc::from),
            csrf: random_token().into(),
            notice: None,
            last_used: Instant::now(),
        };
        let mut sessions = lock(&self.0);
        sessions.retain(|_, session| session.last_used.elapsed() < IDLE_TIMEOUT);
        if sessions.len() >= MAX_SESSIONS
            && let Some(oldest) = oldest_session(&sessions)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(id.clone(), session.clone());
        (id, session)
    }

    pub(super) fn find_session(&self, id: &SessionId) -> Option<Session> {
        let mut sessions = lock(&self.0);
        let session = sessions.get_mut(id)?;
        if session.last_used.elapsed() >= IDLE_TIMEOUT {
            sessions.remove(id);
            return None;
        }
        session.last_used = Instant::now();
        Some(session.clone())
    }

    /// Returns the key of a session, if there is such a session and it has one. This is no use of
    /// the session.
    pub(super) fn key_of(&self, id: &SessionId) -> Option<Option<Arc<str>>> {
        Some(lock(&self.0).get(id)?.key.clone())
    }

    pub(super) fn end_session(&self, id: &SessionId) {
        lock(&self.0).remove(id);
    }

    /// Stores a notice for the next page of the session.
    pub(super) fn set_notice(&self, id: &SessionId, notice: Notice) {
        if let Some(session) = lock(&self.0).get_mut(id) {
            session.notice = Some(notice);
        }
    }

    pub(super) fn take_notice(&self, id: &SessionId) -> Option<Notice> {
        lock(&self.0).get_mut(id)?.notice.take()
    }
}

fn oldest_session(sessions: &HashMap<SessionId, Session>) -> Option<SessionId> {
    let oldest = sessions.iter().min_by_key(|(_, session)| session.last_used);
    oldest.map(|(id, _)| id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_session_gives_way() {
        let sessions = Sessions::default();
        let (first, _) = sessions.start_session(None);
        for _ in 0..MAX_SESSIONS {
            sessions.start_session(None);
        }
        assert!(sessions.find_session(&first).is_none());
        assert_eq!(lock(&sessions.0).len(), MAX_SESSIONS);
    }

    #[test]
    fn an_ended_session_is_not_found() {
        let sessions = Sessions::default();
        let (id, _) = sessions.start_session(Some("kb_x"));
        assert!(sessions.find_session(&id).is_some());
        sessions.end_session(&id);
        assert!(sessions.find_session(&id).is_none());
    }

    #[test]
    fn a_notice_is_shown_once() {
        let sessions = Sessions::default();
        let (id, _) = sessions.start_session(None);
        sessions.set_notice(&id, Notice::done("Saved."));
        assert!(sessions.take_notice(&id).is_some());
        assert!(sessions.take_notice(&id).is_none());
    }
}
