//! Recognising a key: by a keyed hash, from memory where it was seen lately, noting its use.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::sync;
use kitbag_domain::{Caller, KeyId, Role, Tenant, Timestamp};
use subtle::ConstantTimeEq;

use crate::keys::{ID_BYTES, PREFIX, SECRET_BYTES, parse_role, parse_tenant};
use crate::pepper::Pepper;
use crate::{Error, Store, failed, unreadable};

/// What became of a presented token. That a key was revoked or has expired is said of none whose
/// secret was not right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    Known(Caller),
    /// Malformed, of an unknown id, or with a wrong secret.
    Unknown,
    Revoked(KeyId),
    Expired(KeyId),
}

impl Store {
    /// Who presents this token.
    ///
    /// A key that was seen lately is recognised from memory. What memory says is at most
    /// one second old, which is therefore how long a key may outlive its revocation by
    /// another process; a revocation by this one is noticed at once.
    pub async fn authenticate(&self, token: &str, at: Timestamp) -> Result<Recognition, Error> {
        let Some(presented) = Presented::parse(token) else {
            return Ok(Recognition::Unknown);
        };
        let hash = self.door.pepper.hash(presented.secret);
        let Some(lock) = self.lock(presented.id).await? else {
            return Ok(Recognition::Unknown);
        };
        let found = lock.open(presented.id, &hash, at);
        if matches!(found, Recognition::Known(_)) {
            self.door.used(presented.id, at);
        }
        Ok(found)
    }

    /// Writes down when keys were last used, as far as that is not written yet.
    pub async fn keep_key_uses(&self) -> Result<(), Error> {
        const ACTION: &str = "note the use of keys";
        let unwritten = self.door.unwritten();
        if unwritten.is_empty() {
            return Ok(());
        }
        let mut transaction = self.sqlite.writer.begin().await.map_err(failed(ACTION))?;
        for (id, at) in &unwritten {
            // Another process may have seen it later.
            sqlx::query(
                "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?",
            )
            .bind(at.0)
            .bind(id)
            .execute(&mut *transaction)
            .await
            .map_err(failed(ACTION))?;
        }
        transaction.commit().await.map_err(failed(ACTION))?;
        self.door.written(&unwritten);
        Ok(())
    }

    async fn lock(&self, id: &str) -> Result<Option<Lock>, Error> {
        let Some(known) = self.door.known(id) else {
            let read = self.read_lock(id).await?;
            if let Some(lock) = &read {
                self.door.remember(id, lock.clone());
            }
            return Ok(read);
        };
        // Held while reading, so that of many requests with one key a single one goes to the
        // database when the memory has aged, and the others wait for what it finds.
        let mut lock = known.lock().await;
        if lock.read_at.elapsed() > Door::TRUSTED_FOR {
            match self.read_lock(id).await? {
                Some(read) => *lock = read,
                None => return Ok(None),
            }
        }
        Ok(Some(lock.clone()))
    }

    async fn read_lock(&self, id: &str) -> Result<Option<Lock>, Error> {
        let read_at = Instant::now();
        let row: Option<LockRow> = sqlx::query_as(
            "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL FROM api_keys WHERE id = ?",
        )
        .bind(id)
        .fetch_optional(&self.sqlite.reader)
        .await
        .map_err(failed("look up a key"))?;
        let Some((tenant, role, hash, expires_at, revoked)) = row else {
            return Ok(None);
        };
        let hash = hash
            .try_into()
            .map_err(|_| unreadable("key hash", "(not shown)"))?;
        let (tenant, role) = (parse_tenant(&tenant)?, parse_role(&role)?);
        let expires_at = expires_at.map(Timestamp);
        Ok(Some(Lock {
            fitting: Some(Fitting {
                tenant,
                role,
                hash,
                expires_at,
                revoked,
            }),
            read_at,
        }))
    }
}

type LockRow = (String, String, Vec<u8>, Option<i64>, bool);

/// A token as it came in, of the right shape; the secret is still unchecked.
struct Presented<'a> {
    id: &'a str,
    secret: &'a str,
}

impl<'a> Presented<'a> {
    fn parse(token: &'a str) -> Option<Self> {
        let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
        let fits = id.len() == 2 * ID_BYTES
            && secret.len() == 2 * SECRET_BYTES
            && is_hex(id)
            && is_hex(secret);
        fits.then_some(Self { id, secret })
    }
}

/// What it takes to recognise keys: the pepper, and a memory of those seen lately.
///
/// Unknown ids are not remembered, so nobody can fill the memory by guessing.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) pepper: Pepper,
    known: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Lock>>>>,
    uses: Mutex<HashMap<String, Use>>,
}

/// What the table said about one key, and when.
#[derive(Debug, Clone)]
struct Lock {
    /// Absent right after this process has revoked the key.
    fitting: Option<Fitting>,
    read_at: Instant,
}

#[derive(Clone)]
struct Fitting {
    tenant: Tenant,
    role: Role,
    hash: [u8; blake3::OUT_LEN],
    expires_at: Option<Timestamp>,
    revoked: bool,
}

/// When a key was used, and which of its uses the table knows.
#[derive(Debug, Clone, Copy)]
struct Use {
    at: Timestamp,
    written: Option<Timestamp>,
}

impl Door {
    const TRUSTED_FOR: Duration = Duration::from_secs(1);
    /// How exactly the last use is known, in milliseconds. A busy key is written once in this time.
    const USE_IS_EXACT_TO: i64 = 60_000;

    pub(crate) fn new(pepper: Pepper) -> Self {
        Self {
            pepper,
            known: Mutex::default(),
            uses: Mutex::default(),
        }
    }

    fn known(&self, id: &str) -> Option<Arc<tokio::sync::Mutex<Lock>>> {
        sync::lock(&self.known).get(id).cloned()
    }

    /// Keeps what is already known: it may be a revocation that came after `lock` was read.
    fn remember(&self, id: &str, lock: Lock) {
        let mut known = sync::lock(&self.known);
        known
            .entry(id.to_owned())
            .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(lock)));
    }

    pub(crate) fn bar(&self, id: &str) {
        let barred = Lock {
            fitting: None,
            read_at: Instant::now(),
        };
        let mut known = sync::lock(&self.known);
        known.insert(id.to_owned(), Arc::new(tokio::sync::Mutex::new(barred)));
    }

    pub(crate) fn forget(&self, id: &str) {
        sync::lock(&self.known).remove(id);
    }

    fn used(&self, id: &str, at: Timestamp) {
        let mut uses = sync::lock(&self.uses);
        match uses.get_mut(id) {
            Some(known) => known.at = at,
            None => drop(uses.insert(id.to_owned(), Use { at, written: None })),
        }
    }

    fn unwritten(&self) -> Vec<(String, Timestamp)> {
        let uses = sync::lock(&self.uses);
        let due = |it: &Use| {
            it.written
                .is_none_or(|then| it.at.0.saturating_sub(then.0) >= Self::USE_IS_EXACT_TO)
        };
        uses.iter()
            .filter(|(_, it)| due(it))
            .map(|(id, it)| (id.clone(), it.at))
            .collect()
    }

    fn written(&self, written: &[(String, Timestamp)]) {
        let mut uses = sync::lock(&self.uses);
        for (id, at) in written {
            if let Some(known) = uses.get_mut(id) {
                known.written = Some(*at);
            }
        }
    }
}

impl Lock {
    fn open(self, id: &str, hash: &blake3::Hash, at: Timestamp) -> Recognition {
        let Some(fitting) = self.fitting else {
            return Recognition::Unknown;
        };
        let id = KeyId(id.to_owned());
        if !bool::from(fitting.hash.ct_eq(hash.as_bytes())) {
            Recognition::Unknown
        } else if fitting.revoked {
            Recognition::Revoked(id)
        } else if fitting.expires_at.is_some_and(|end| end <= at) {
            Recognition::Expired(id)
        } else {
            Recognition::Known(match fitting.role {
                Role::User => Caller::user(fitting.tenant, id),
                Role::Operator => Caller::operator(id),
            })
        }
    }
}

impl fmt::Debug for Fitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fitting")
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KeyOrder, NewKey, hex};
    use crate::tests::{path, store};

    const NOW: Timestamp = Timestamp(10);

    async fn created(store: &Store) -> NewKey {
        store
            .create_key(&KeyOrder::user("acme".parse().unwrap()), Timestamp(5))
            .await
            .unwrap()
    }

    async fn found(store: &Store, token: &str) -> Recognition {
        store.authenticate(token, NOW).await.unwrap()
    }

    fn known(key: &NewKey) -> Recognition {
        Recognition::Known(Caller::user("acme".parse().unwrap(), key.id.clone()))
    }

    #[tokio::test]
    async fn a_key_opens_the_door_for_its_tenant_also_after_a_restart() {
        let (directory, store) = store().await;
        let key = created(&store).await;
        assert_eq!(found(&store, key.token.reveal()).await, known(&key));
        assert_eq!(
            found(&store, key.token.reveal()).await,
            known(&key),
            "from memory"
        );
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(found(&store, key.token.reveal()).await, known(&key));
    }

    #[tokio::test]
    async fn nothing_but_the_exact_token_opens_the_door() {
        let (_directory, store) = store().await;
        let (key, other) = (created(&store).await, created(&store).await);
        let token = key.token.reveal();
        let (head, secret) = token.rsplit_once('_').unwrap();
        let (other_head, _) = other.token.reveal().rsplit_once('_').unwrap();
        let last = if secret.ends_with('0') { "1" } else { "0" };
        for wrong in [
            String::new(),
            "kb_".to_owned(),
            "kb__".to_owned(),
            head.to_owned(),
            secret.to_owned(),
            format!("{head}_"),
            format!("{other_head}_{secret}"),
            format!("{}{last}", &token[..token.len() - 1]),
            format!("{token} "),
            token.to_uppercase(),
            format!("kb_00000000_{secret}"),
            "kb_é_é".to_owned(),
        ] {
            assert_eq!(found(&store, &wrong).await, Recognition::Unknown, "{wrong}");
        }
        assert_eq!(found(&store, token).await, known(&key));
    }

    #[tokio::test]
    async fn an_operators_key_is_recognised_as_one() {
        let (_directory, store) = store().await;
        let key = store
            .create_key(&KeyOrder::operator(), Timestamp(5))
            .await
            .unwrap();
        let operator = Recognition::Known(Caller::operator(key.id.clone()));
        assert_eq!(found(&store, key.token.reveal()).await, operator);
    }

    #[tokio::test]
    async fn a_revoked_key_no_longer_opens_the_door() {
        let (directory, store) = store().await;
        let key = created(&store).await;
        assert_eq!(found(&store, key.token.reveal()).await, known(&key));
        assert!(store.revoke_key(&key.id, Timestamp(9)).await.unwrap());
        assert_eq!(
            found(&store, key.token.reveal()).await,
            Recognition::Unknown
        );
        assert_eq!(
            found(&store, key.token.reveal()).await,
            Recognition::Unknown,
            "from memory"
        );
        assert!(
            !store.revoke_key(&key.id, Timestamp(10)).await.unwrap(),
            "revoked twice"
        );
        assert_eq!(
            store.keys().await.unwrap()[0].revoked_at,
            Some(Timestamp(9))
        );
        let later = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(
            found(&later, key.token.reveal()).await,
            Recognition::Revoked(key.id)
        );
    }

    #[tokio::test]
    async fn a_key_opens_the_door_until_it_expires() {
        let (_directory, store) = store().await;
        let order = KeyOrder {
            expires_at: Some(Timestamp(100)),
            ..KeyOrder::user("acme".parse().unwrap())
        };
        let key = store.create_key(&order, Timestamp(5)).await.unwrap();
        let at = async |at| {
            store
                .authenticate(key.token.reveal(), Timestamp(at))
                .await
                .unwrap()
        };
        assert_eq!(at(99).await, known(&key));
        assert_eq!(at(100).await, Recognition::Expired(key.id.clone()));
        assert!(store.has_active_keys(Timestamp(99)).await.unwrap());
        assert!(!store.has_active_keys(Timestamp(100)).await.unwrap());
        let mut wrong = key.token.reveal().to_owned();
        let last = if wrong.ends_with('0') { "1" } else { "0" };
        wrong.replace_range(wrong.len() - 1.., last);
        let guessed = store.authenticate(&wrong, Timestamp(100)).await.unwrap();
        assert_eq!(
            guessed,
            Recognition::Unknown,
            "a guess is not told that it was near"
        );
    }

    #[tokio::test]
    async fn a_key_revoked_elsewhere_is_refused_within_two_seconds() {
        let (directory, here) = store().await;
        let elsewhere = Store::open(&path(&directory)).await.unwrap();
        let key = created(&here).await;
        assert_eq!(found(&here, key.token.reveal()).await, known(&key));
        elsewhere.revoke_key(&key.id, Timestamp(9)).await.unwrap();
        let refused = async {
            while found(&here, key.token.reveal()).await == known(&key) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), refused)
            .await
            .expect("the revocation was noticed");
    }

    #[tokio::test]
    async fn a_key_that_was_found_to_have_ended_is_refused_from_then_on() {
        let (directory, here) = store().await;
        let elsewhere = Store::open(&path(&directory)).await.unwrap();
        let key = created(&here).await;
        assert_eq!(found(&here, key.token.reveal()).await, known(&key));
        elsewhere.revoke_key(&key.id, Timestamp(9)).await.unwrap();
        let ended = here
            .ended_keys(std::slice::from_ref(&key.id), NOW)
            .await
            .unwrap();
        assert_eq!(ended, std::slice::from_ref(&key.id));
        assert_eq!(
            found(&here, key.token.reveal()).await,
            Recognition::Revoked(key.id)
        );
    }

    #[tokio::test]
    async fn a_key_created_elsewhere_works_at_once() {
        let (directory, here) = store().await;
        let elsewhere = Store::open(&path(&directory)).await.unwrap();
        let key = created(&elsewhere).await;
        assert_eq!(found(&here, key.token.reveal()).await, known(&key));
    }

    #[tokio::test]
    async fn the_last_use_is_written_down_once_a_minute_at_most() {
        let (_directory, store) = store().await;
        let key = created(&store).await;
        let written = async |at| {
            store
                .authenticate(key.token.reveal(), Timestamp(at))
                .await
                .unwrap();
            store.keep_key_uses().await.unwrap();
            store.keys().await.unwrap()[0].last_used_at
        };
        assert_eq!(store.keys().await.unwrap()[0].last_used_at, None);
        assert_eq!(written(1_000).await, Some(Timestamp(1_000)));
        assert_eq!(
            written(60_999).await,
            Some(Timestamp(1_000)),
            "not a minute later"
        );
        assert_eq!(written(61_000).await, Some(Timestamp(61_000)));
        store
            .authenticate("kb_00000000_nothing", Timestamp(900_000))
            .await
            .unwrap();
        assert_eq!(
            store.keys().await.unwrap()[0].last_used_at,
            Some(Timestamp(61_000))
        );
    }

    #[tokio::test]
    async fn a_secret_is_neither_printed_nor_stored() {
        let (directory, store) = store().await;
        let key = created(&store).await;
        found(&store, key.token.reveal()).await;
        let (_, secret) = key.token.reveal().rsplit_once('_').unwrap();
        let hash = hex(store.door.pepper.hash(secret).as_bytes());
        let printed = format!("{key:?} {store:?}");
        assert!(
            !printed.contains(secret) && !printed.contains(&hash),
            "{printed}"
        );

        store.close().await;
        for entry in std::fs::read_dir(directory.path().join("data")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(
                !bytes
                    .windows(secret.len())
                    .any(|window| window == secret.as_bytes())
            );
        }
    }
}
