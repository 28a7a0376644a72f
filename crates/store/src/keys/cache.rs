//! The keys that this process has seen, and when they were used.
//!
//! Unknown ids are not cached, so that a client cannot fill the memory by guessing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use kitbag_domain::{Caller, KeyId, Role, Tenant, Timestamp};
use subtle::ConstantTimeEq;

use super::authentication::Recognition;
use crate::changes::ChangeFeed;
use crate::pepper::Pepper;

#[derive(Debug)]
pub(crate) struct KeyCache {
    pepper: RwLock<Pepper>,
    keys: Mutex<HashMap<String, SharedKey>>,
    uses: Mutex<HashMap<String, KeyUse>>,
}

/// Locked while the table is read, so that of many requests with one key only one reads and the
/// others wait for its result.
pub(super) type SharedKey = Arc<tokio::sync::Mutex<CachedKey>>;

/// A row of the table as it was at `read_at`.
#[derive(Debug, Clone)]
pub(super) struct CachedKey {
    /// `None` right after this process has revoked the key.
    record: Option<KeyRecord>,
    read_at: Instant,
    /// The number of received changes of keys before the row was read.
    changes: u64,
    /// When the database was last asked for the row without answering.
    unanswered_at: Option<Instant>,
}

/// The columns that decide whether a token is accepted, and for whom.
#[derive(Debug, Clone)]
pub(super) struct KeyRecord {
    pub(super) tenant: Tenant,
    pub(super) role: Role,
    pub(super) hash: KeyHash,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) revoked: bool,
}

/// The keyed hash of a key's secret. It is compared in constant time and never printed.
#[derive(Clone)]
pub(crate) struct KeyHash([u8; blake3::OUT_LEN]);

/// The last use of a key, and the last use in the table.
#[derive(Debug, Clone, Copy)]
struct KeyUse {
    at: Timestamp,
    written: Option<Timestamp>,
}

impl KeyCache {
    /// Milliseconds between two writes of a busy key's use.
    const USE_WRITE_INTERVAL: i64 = 60_000;

    pub(crate) fn new(pepper: Pepper) -> Self {
        Self {
            pepper: RwLock::new(pepper),
            keys: Mutex::default(),
            uses: Mutex::default(),
        }
    }

    pub(super) fn hash_secret(&self, secret: &str) -> KeyHash {
        self.pepper().hash_secret(secret)
    }

    pub(crate) fn pepper(&self) -> Pepper {
        let pepper = self.pepper.read();
        pepper.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the pepper, because the keys of another store were copied here.
    pub(crate) fn replace_pepper(&self, pepper: Pepper) {
        *self.pepper.write().unwrap_or_else(PoisonError::into_inner) = pepper;
        lock(&self.keys).clear();
    }

    pub(super) fn get(&self, id: &str) -> Option<SharedKey> {
        lock(&self.keys).get(id).cloned()
    }

    /// Keeps an existing entry: it may be a revocation that came after `key` was read.
    pub(super) fn add_if_absent(&self, id: &str, key: CachedKey) {
        let mut keys = lock(&self.keys);
        keys.entry(id.to_owned()).or_insert_with(|| new_shared(key));
    }

    /// Rejects the key from now on, until the table is read again.
    pub(super) fn reject_key(&self, id: &str) {
        lock(&self.keys).insert(id.to_owned(), new_shared(CachedKey::new_rejected()));
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.keys).remove(id);
    }

    pub(super) fn record_use(&self, id: &str, at: Timestamp) {
        let mut uses = lock(&self.uses);
        match uses.get_mut(id) {
            Some(last) => last.at = at,
            None => drop(uses.insert(id.to_owned(), KeyUse { at, written: None })),
        }
    }

    /// Returns the last use of each key whose row is out of date.
    pub(super) fn unwritten_uses(&self) -> Vec<(String, Timestamp)> {
        let uses = lock(&self.uses);
        let due = uses.iter().filter(|(_, last)| last.is_due());
        due.map(|(id, last)| (id.clone(), last.at)).collect()
    }

    pub(super) fn mark_uses_written(&self, written: &[(String, Timestamp)]) {
        let mut uses = lock(&self.uses);
        for (id, at) in written {
            if let Some(last) = uses.get_mut(id) {
                last.written = Some(*at);
            }
        }
    }
}

impl CachedKey {
    /// A key that another process revokes is accepted by this one for at most this long.
    const TRUSTED_FOR: Duration = Duration::from_secs(1);
    /// The same while every change is received. It limits the harm of an unreported change, such as
    /// one by an operator who has disabled the triggers.
    const TRUSTED_WHILE_LISTENING: Duration = Duration::from_secs(60);
    /// The same while the database does not answer: few keys are revoked, and all requests would
    /// fail. It limits the harm of a gateway that is cut off from a database which others reach.
    const TRUSTED_WHILE_UNAVAILABLE: Duration = Duration::from_secs(300);
    /// How long an unresponsive database is not asked again.
    const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(5);

    pub(super) fn new(record: KeyRecord, read_at: Instant, changes: u64) -> Self {
        Self {
            record: Some(record),
            read_at,
            changes,
            unanswered_at: None,
        }
    }

    fn new_rejected() -> Self {
        Self {
            record: None,
            read_at: Instant::now(),
            changes: 0,
            unanswered_at: None,
        }
    }

    /// Returns true if the table has to be read again.
    pub(super) fn needs_refresh(&self, feed: &ChangeFeed) -> bool {
        let age = self.read_at.elapsed();
        let waits = self.unanswered_at.map(|at| at.elapsed());
        if self.is_trusted_while_unavailable()
            && waits.is_some_and(|since| since < Self::BETWEEN_ATTEMPTS)
        {
            return false;
        }
        if self.record.is_none() {
            return age > Self::TRUSTED_FOR;
        }
        let listening = feed.is_current(Self::TRUSTED_FOR);
        let trusted_for = if listening {
            Self::TRUSTED_WHILE_LISTENING
        } else {
            Self::TRUSTED_FOR
        };
        self.changes != feed.key_change_count() || age > trusted_for
    }

    /// Returns true if the row is trusted although the database does not answer.
    pub(super) fn is_trusted_while_unavailable(&self) -> bool {
        self.record.is_some() && self.read_at.elapsed() < Self::TRUSTED_WHILE_UNAVAILABLE
    }

    /// Records that the database did not answer.
    pub(super) fn mark_unanswered(&mut self) {
        self.unanswered_at = Some(Instant::now());
    }

    /// Compares the hash of a presented secret with the key's. The hash is compared first: a client
    /// with a wrong secret must not learn that a key was revoked or has expired.
    pub(super) fn check_hash(self, id: &str, hash: &KeyHash, at: Timestamp) -> Recognition {
        let id = KeyId(id.to_owned());
        match self.record {
            Some(record) if record.hash.is_equal(hash) => record.into_recognition(id, at),
            _ => Recognition::Unknown,
        }
    }
}

impl KeyRecord {
    fn into_recognition(self, id: KeyId, at: Timestamp) -> Recognition {
        if self.revoked {
            Recognition::Revoked(id)
        } else if self.expires_at.is_some_and(|end| end <= at) {
            Recognition::Expired(id)
        } else {
            Recognition::Known(self.into_caller(id))
        }
    }

    fn into_caller(self, id: KeyId) -> Caller {
        match self.role {
            Role::User => Caller::user(self.tenant, id),
            Role::Operator => Caller::operator(id),
            Role::Admin => Caller::admin(id),
        }
    }
}

impl KeyHash {
    pub(crate) fn new(hash: blake3::Hash) -> Self {
        Self(*hash.as_bytes())
    }

    /// Returns `None` if the length is wrong.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn is_equal(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyHash(…)")
    }
}

impl KeyUse {
    fn is_due(&self) -> bool {
        self.written
            .is_none_or(|then| self.at.0.saturating_sub(then.0) >= KeyCache::USE_WRITE_INTERVAL)
    }
}

fn new_shared(key: CachedKey) -> SharedKey {
    Arc::new(tokio::sync::Mutex::new(key))
}
