//! All legacy sessions, and all subscribers to changes.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use kitbag_config::Surfaces;
use kitbag_domain::{Caller, KeyId};
use kitbag_wire::RawObject;

use super::Session;
use super::key_requests::has_ended_key;
use super::subscriber::Subscriber;
use crate::call::failure::Failure;
use crate::state::random_ids::random_token;
use crate::turn::view::McpEndpoint;
use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

/// A session ends after this time without use.
const SESSION_LIFETIME: Duration = Duration::from_secs(3600);
/// The longest `initialize` parameters. They are stored as long as the session; a few hundred bytes
/// are common.
const MAX_INITIALIZE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
struct SessionLimits {
    /// Above this number, a session of the caller with the most sessions must end.
    all: usize,
    /// Above this number of one caller, the caller's longest-unused session must end.
    each: usize,
}

impl Default for SessionLimits {
    /// More than any honest use needs, and more clients than share one credential.
    fn default() -> Self {
        Self {
            all: 10_000,
            each: 2_000,
        }
    }
}

#[derive(Default)]
pub struct SessionRegistry {
    limits: SessionLimits,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    subscribers: Mutex<Vec<Weak<Subscriber>>>,
}

/// A new session, and the one that was evicted for it, if any. The caller still has to stop
/// watching resources for that one.
pub(crate) struct OpenedSession {
    pub(crate) session: Arc<Session>,
    pub(crate) evicted: Option<Arc<Session>>,
}

impl SessionRegistry {
    pub(crate) fn open(
        &self,
        surfaces: &Surfaces,
        caller: Caller,
        endpoint: McpEndpoint,
        params: &RawObject,
    ) -> Result<OpenedSession, Failure> {
        if params
            .iter()
            .map(|(name, value)| name.len() + value.get().len())
            .sum::<usize>()
            > MAX_INITIALIZE_BYTES
        {
            let most = MAX_INITIALIZE_BYTES / 1024;
            return Err(Failure::bad_params(format!(
                "the `initialize` parameters exceed {most} KB"
            )));
        }
        let session = Session::open(random_token(), surfaces, caller, endpoint, params);
        self.add_subscriber(&session.subscriber);
        let mut sessions = lock(&self.sessions);
        let evicted = make_room(self.limits, &mut sessions, session.caller())?;
        sessions.insert(session.id.clone(), session.clone());
        Ok(OpenedSession { session, evicted })
    }

    /// A session is found only by the caller who opened it, through the endpoint at which the
    /// caller opened it.
    pub(crate) fn find_session(
        &self,
        id: &str,
        caller: &Caller,
        endpoint: &McpEndpoint,
    ) -> Option<Arc<Session>> {
        let session = lock(&self.sessions).get(id).cloned()?;
        (session.caller() == caller && session.endpoint == *endpoint).then(|| {
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

    pub(crate) fn add_subscriber(&self, subscriber: &Arc<Subscriber>) {
        let mut subscribers = lock(&self.subscribers);
        subscribers.retain(|it| it.strong_count() > 0);
        subscribers.push(Arc::downgrade(subscriber));
    }

    pub(crate) fn subscribers(&self) -> Vec<Arc<Subscriber>> {
        lock(&self.subscribers)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Returns the keys with which sessions were opened.
    pub(crate) fn keys(&self) -> HashSet<KeyId> {
        lock(&self.sessions)
            .values()
            .filter_map(|session| session.caller().key.clone())
            .collect()
    }

    /// Removes the sessions of ended keys.
    pub(crate) fn close_for_keys(&self, ended: &[KeyId]) -> Vec<Arc<Session>> {
        let gone: Vec<_> = lock(&self.sessions)
            .extract_if(|_, session| has_ended_key(session.caller(), ended))
            .collect();
        gone.into_iter()
            .map(|(_, session)| session)
            .inspect(|session| session.close())
            .collect()
    }

    /// Removes the sessions that were idle for too long.
    pub(crate) fn expire_idle_sessions(&self) -> Vec<Arc<Session>> {
        let mut sessions = lock(&self.sessions);
        let gone: Vec<_> = sessions
            .values()
            .filter(|it| it.is_abandoned(SESSION_LIFETIME))
            .cloned()
            .collect();
        for session in &gone {
            sessions.remove(&session.id);
            session.close();
        }
        gone
    }

    /// Cancels everything that runs in any session.
    pub fn close_all(&self) {
        for (_, session) in lock(&self.sessions).drain() {
            session.close();
        }
        self.close_announcements();
    }

    /// Ends the announcement streams, which would stay open forever. Requests continue.
    pub fn close_announcements(&self) {
        for subscriber in self.subscribers() {
            subscriber.mailbox.close();
        }
    }
}

/// Evicts a session if there are too many: of the caller who opens too many, or of the caller with
/// the most sessions. Sessions in use are not evicted.
fn make_room(
    limits: SessionLimits,
    sessions: &mut HashMap<String, Arc<Session>>,
    opening: &Caller,
) -> Result<Option<Arc<Session>>, Failure> {
    let own = sessions
        .values()
        .filter(|it| it.caller() == opening)
        .count();
    let holder = if own >= limits.each {
        opening.clone()
    } else if sessions.len() >= limits.all {
        let sessions_by_caller = sessions.values().map(|it| (it.caller(), 1));
        largest_holder(sessions_by_caller)
            .cloned()
            .unwrap_or_else(|| opening.clone())
    } else {
        return Ok(None);
    };
    let idle = sessions
        .values()
        .filter(|it| *it.caller() == holder && it.is_abandoned(Duration::ZERO));
    let oldest = idle.min_by_key(|it| it.last_seen()).cloned();
    let Some(oldest) = oldest else {
        return Err(Failure::TooManySessions { own });
    };
    sessions.remove(&oldest.id);
    oldest.close();
    Ok(Some(oldest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FEW: SessionLimits = SessionLimits { all: 100, each: 20 };

    fn registry() -> SessionRegistry {
        SessionRegistry {
            limits: FEW,
            ..SessionRegistry::default()
        }
    }

    fn open(registry: &SessionRegistry, tenant: &str) -> Result<OpenedSession, Failure> {
        let caller = Caller {
            tenant: tenant.parse().unwrap(),
            ..Caller::local()
        };
        registry.open(
            &Surfaces::default(),
            caller,
            McpEndpoint::Main,
            &RawObject::new(),
        )
    }

    fn is_open(registry: &SessionRegistry, session: &Session) -> bool {
        registry
            .find_session(&session.id, session.caller(), &session.endpoint)
            .is_some()
    }

    #[test]
    fn a_caller_with_too_many_sessions_loses_its_own() {
        let registry = registry();
        let high = open(&registry, "high").unwrap().session;
        let first = open(&registry, "low").unwrap().session;
        for _ in 0..FEW.all + 10 {
            open(&registry, "low").unwrap();
        }
        assert!(is_open(&registry, &high));
        assert!(!is_open(&registry, &first));
        assert_eq!(lock(&registry.sessions).len(), FEW.each + 1);
    }

    #[test]
    fn many_callers_together_do_not_evict_one_with_few_sessions() {
        let registry = registry();
        let high = open(&registry, "high").unwrap().session;
        for number in 0..FEW.all + 50 {
            open(&registry, &format!("low{}", number % 10)).unwrap();
        }
        assert!(is_open(&registry, &high));
        assert_eq!(lock(&registry.sessions).len(), FEW.all);
    }

    #[test]
    fn sessions_in_use_are_not_ended_for_another_one() {
        let registry = registry();
        let readers: Vec<_> = (0..FEW.each)
            .map(|_| {
                open(&registry, "low")
                    .unwrap()
                    .session
                    .subscriber
                    .new_reader()
            })
            .collect();
        assert!(matches!(
            open(&registry, "low"),
            Err(Failure::TooManySessions { .. })
        ));
        drop(readers);
        assert!(open(&registry, "low").is_ok());
    }

    #[test]
    fn oversized_initialize_parameters_are_rejected() {
        let params = RawObject::new().with(
            "capabilities",
            &json!({ "x": "y".repeat(MAX_INITIALIZE_BYTES) }),
        );
        let opened = SessionRegistry::default().open(
            &Surfaces::default(),
            Caller::local(),
            McpEndpoint::Main,
            &params,
        );
        assert!(opened.is_err());
    }
}
