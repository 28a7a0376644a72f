//! API keys: created once, shown once, recognised by a keyed hash.
//!
//! A token is `kb_<id>_<secret>`. The id is public and finds the row; the secret has 256 random
//! bits and is stored nowhere.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::{Caller, KeyId, Tenant, Timestamp};
use sqlx::SqlitePool;
use subtle::ConstantTimeEq;

use crate::pepper::{Pepper, random};
use crate::{Error, Store, failed, unreadable};

#[derive(Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub token: Token,
}

/// The whole credential. It exists only between its creation and the one time it is shown.
pub struct Token(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    pub id: KeyId,
    pub tenant: Tenant,
    pub label: Option<String>,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

impl Token {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Store {
    pub async fn create_key(
        &self,
        tenant: &Tenant,
        label: Option<&str>,
        at: Timestamp,
    ) -> Result<NewKey, Error> {
        let secret = hex(&random::<SECRET_BYTES>());
        let hash = self.door.pepper.hash(&secret);
        loop {
            let id = hex(&random::<ID_BYTES>());
            let done = sqlx::query(
                "INSERT INTO api_keys (id, tenant, label, secret_hash, created_at) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT (id) DO NOTHING",
            )
            .bind(&id)
            .bind(tenant.as_str())
            .bind(label)
            .bind(hash.as_bytes().as_slice())
            .bind(at.0)
            .execute(&self.sqlite.writer)
            .await
            .map_err(failed("create a key"))?;
            if done.rows_affected() == 1 {
                let token = Token(format!("{PREFIX}{id}_{secret}"));
                return Ok(NewKey { id: KeyId(id), token });
            }
        }
    }

    /// Who presents this token; nobody if it is malformed, unknown, wrong or revoked.
    ///
    /// A key that was seen lately is recognised from memory. What memory says is at most
    /// one second old, which is therefore how long a key may outlive its revocation by
    /// another process; a revocation by this one is noticed at once.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Caller>, Error> {
        let Some(presented) = Presented::parse(token) else { return Ok(None) };
        let hash = self.door.pepper.hash(presented.secret);
        let Some(lock) = self.lock(presented.id).await? else { return Ok(None) };
        let caller = |tenant| Caller { tenant, key: Some(KeyId(presented.id.to_owned())) };
        Ok(lock.open(&hash).map(caller))
    }

    /// Every key there ever was, the oldest first.
    pub async fn keys(&self) -> Result<Vec<KeyInfo>, Error> {
        let rows: Vec<InfoRow> = sqlx::query_as(
            "SELECT id, tenant, label, created_at, revoked_at FROM api_keys ORDER BY created_at, id",
        )
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("list the keys"))?;
        rows.into_iter().map(info).collect()
    }

    /// Whether there was such a key and it was not revoked before.
    pub async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
        let done = sqlx::query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
            .bind(at.0)
            .bind(&id.0)
            .execute(&self.sqlite.writer)
            .await
            .map_err(failed("revoke a key"))?;
        self.door.bar(&id.0);
        Ok(done.rows_affected() == 1)
    }

    pub async fn has_active_keys(&self) -> Result<bool, Error> {
        any_active(&self.sqlite.reader).await
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
        let row: Option<(String, Vec<u8>, bool)> =
            sqlx::query_as("SELECT tenant, secret_hash, revoked_at IS NULL FROM api_keys WHERE id = ?")
                .bind(id)
                .fetch_optional(&self.sqlite.reader)
                .await
                .map_err(failed("look up a key"))?;
        let Some((tenant, hash, active)) = row else { return Ok(None) };
        let hash = hash.try_into().map_err(|_| unreadable("key hash", "(not shown)"))?;
        let tenant = parse_tenant(&tenant)?;
        Ok(Some(Lock { fitting: active.then_some(Fitting { tenant, hash }), read_at }))
    }
}

pub(crate) async fn any_active(pool: &SqlitePool) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_one(pool)
        .await
        .map_err(failed("look for keys"))
}

const PREFIX: &str = "kb_";
const ID_BYTES: usize = 4;
const SECRET_BYTES: usize = 32;

/// A token as it came in, of the right shape; the secret is still unchecked.
struct Presented<'a> {
    id: &'a str,
    secret: &'a str,
}

impl<'a> Presented<'a> {
    fn parse(token: &'a str) -> Option<Self> {
        let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
        let fits =
            id.len() == 2 * ID_BYTES && secret.len() == 2 * SECRET_BYTES && is_hex(id) && is_hex(secret);
        fits.then_some(Self { id, secret })
    }
}

/// What it takes to recognise keys: the pepper, and a memory of those seen lately.
///
/// Unknown ids are not remembered, so nobody can fill the memory by guessing.
#[derive(Debug)]
pub(crate) struct Door {
    pepper: Pepper,
    known: Mutex<HashMap<String, Arc<tokio::sync::Mutex<Lock>>>>,
}

/// What the table said about one key, and when.
#[derive(Debug, Clone)]
struct Lock {
    /// Absent when the key is revoked.
    fitting: Option<Fitting>,
    read_at: Instant,
}

#[derive(Clone)]
struct Fitting {
    tenant: Tenant,
    hash: [u8; blake3::OUT_LEN],
}

impl Door {
    const TRUSTED_FOR: Duration = Duration::from_secs(1);

    pub(crate) fn new(pepper: Pepper) -> Self {
        Self { pepper, known: Mutex::default() }
    }

    fn known(&self, id: &str) -> Option<Arc<tokio::sync::Mutex<Lock>>> {
        self.known.lock().expect(NEVER_POISONED).get(id).cloned()
    }

    /// Keeps what is already known: it may be a revocation that came after `lock` was read.
    fn remember(&self, id: &str, lock: Lock) {
        let mut known = self.known.lock().expect(NEVER_POISONED);
        known.entry(id.to_owned()).or_insert_with(|| Arc::new(tokio::sync::Mutex::new(lock)));
    }

    fn bar(&self, id: &str) {
        let barred = Lock { fitting: None, read_at: Instant::now() };
        let mut known = self.known.lock().expect(NEVER_POISONED);
        known.insert(id.to_owned(), Arc::new(tokio::sync::Mutex::new(barred)));
    }
}

const NEVER_POISONED: &str = "nothing panics while holding this lock";

impl Lock {
    fn open(self, hash: &blake3::Hash) -> Option<Tenant> {
        let Fitting { tenant, hash: expected } = self.fitting?;
        bool::from(expected.ct_eq(hash.as_bytes())).then_some(tenant)
    }
}

impl fmt::Debug for Fitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fitting").field("tenant", &self.tenant).finish_non_exhaustive()
    }
}

type InfoRow = (String, String, Option<String>, i64, Option<i64>);

fn info((id, tenant, label, created_at, revoked_at): InfoRow) -> Result<KeyInfo, Error> {
    Ok(KeyInfo {
        id: KeyId(id),
        tenant: parse_tenant(&tenant)?,
        label,
        created_at: Timestamp(created_at),
        revoked_at: revoked_at.map(Timestamp),
    })
}

fn parse_tenant(text: &str) -> Result<Tenant, Error> {
    text.parse().map_err(|_| unreadable("tenant", text))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, store};

    fn acme() -> Tenant {
        "acme".parse().unwrap()
    }

    #[tokio::test]
    async fn a_key_opens_the_door_for_its_tenant_also_after_a_restart() {
        let (directory, store) = store().await;
        let key = store.create_key(&acme(), Some("laptop"), Timestamp(5)).await.unwrap();
        let expected = Some(Caller { tenant: acme(), key: Some(key.id.clone()) });
        assert_eq!(store.authenticate(key.token.reveal()).await.unwrap(), expected);
        assert_eq!(store.authenticate(key.token.reveal()).await.unwrap(), expected, "from memory");
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(store.authenticate(key.token.reveal()).await.unwrap(), expected);
    }

    #[tokio::test]
    async fn nothing_but_the_exact_token_opens_the_door() {
        let (_directory, store) = store().await;
        let key = store.create_key(&acme(), None, Timestamp(5)).await.unwrap();
        let other = store.create_key(&acme(), None, Timestamp(5)).await.unwrap();
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
            assert_eq!(store.authenticate(&wrong).await.unwrap(), None, "{wrong}");
        }
        assert!(store.authenticate(token).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_revoked_key_no_longer_opens_the_door() {
        let (_directory, store) = store().await;
        let key = store.create_key(&acme(), None, Timestamp(5)).await.unwrap();
        assert!(store.authenticate(key.token.reveal()).await.unwrap().is_some());
        assert!(store.revoke_key(&key.id, Timestamp(9)).await.unwrap());
        assert_eq!(store.authenticate(key.token.reveal()).await.unwrap(), None);
        assert_eq!(store.authenticate(key.token.reveal()).await.unwrap(), None, "from memory");
        assert!(!store.revoke_key(&key.id, Timestamp(10)).await.unwrap(), "revoked twice");
        assert_eq!(store.keys().await.unwrap()[0].revoked_at, Some(Timestamp(9)));
    }

    #[tokio::test]
    async fn a_key_revoked_elsewhere_is_refused_within_two_seconds() {
        let (directory, here) = store().await;
        let elsewhere = Store::open(&path(&directory)).await.unwrap();
        let key = here.create_key(&acme(), None, Timestamp(5)).await.unwrap();
        assert!(here.authenticate(key.token.reveal()).await.unwrap().is_some());
        elsewhere.revoke_key(&key.id, Timestamp(9)).await.unwrap();
        let refused = async {
            while here.authenticate(key.token.reveal()).await.unwrap().is_some() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(2), refused).await.expect("the revocation was noticed");
    }

    #[tokio::test]
    async fn a_key_created_elsewhere_works_at_once() {
        let (directory, here) = store().await;
        let elsewhere = Store::open(&path(&directory)).await.unwrap();
        let key = elsewhere.create_key(&acme(), None, Timestamp(5)).await.unwrap();
        assert!(here.authenticate(key.token.reveal()).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn keys_are_listed_with_everything_but_their_secret() {
        let (_directory, store) = store().await;
        assert!(!store.has_active_keys().await.unwrap());
        let first = store.create_key(&acme(), Some("laptop"), Timestamp(5)).await.unwrap();
        let second = store.create_key(&Tenant::local(), None, Timestamp(6)).await.unwrap();
        store.revoke_key(&second.id, Timestamp(7)).await.unwrap();
        let listed = |id: &KeyId, tenant, label: Option<&str>, created_at, revoked_at| KeyInfo {
            id: id.clone(),
            tenant,
            label: label.map(str::to_owned),
            created_at: Timestamp(created_at),
            revoked_at,
        };
        assert_eq!(
            store.keys().await.unwrap(),
            [
                listed(&first.id, acme(), Some("laptop"), 5, None),
                listed(&second.id, Tenant::local(), None, 6, Some(Timestamp(7))),
            ]
        );
        assert!(store.has_active_keys().await.unwrap());
        store.revoke_key(&first.id, Timestamp(8)).await.unwrap();
        assert!(!store.has_active_keys().await.unwrap());
    }

    #[tokio::test]
    async fn a_secret_is_neither_printed_nor_stored() {
        let (directory, store) = store().await;
        let key = store.create_key(&acme(), None, Timestamp(5)).await.unwrap();
        store.authenticate(key.token.reveal()).await.unwrap();
        let (_, secret) = key.token.reveal().rsplit_once('_').unwrap();
        let hash = hex(store.door.pepper.hash(secret).as_bytes());
        let printed = format!("{key:?} {store:?}");
        assert!(!printed.contains(secret) && !printed.contains(&hash), "{printed}");

        store.close().await;
        for entry in std::fs::read_dir(directory.path().join("data")).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}
