//! API keys: created, shown once, listed, rotated and revoked.
//!
//! A token is `kb_<id>_<secret>`. The id is public and identifies the row; the secret has 256
//! random bits and is not stored.
//!
//! - [`authentication`]: from a client's token to a caller
//! - `cache`: the keys that this process has seen, so that few requests read the table
//! - `row`: the rows of the table

pub mod authentication;
mod cache;
mod row;

use std::fmt;
use std::time::Duration;

use kitbag_domain::{KeyId, Role, Tenant, Timestamp};

pub(crate) use cache::{KeyCache, KeyHash};

use crate::engine::{Engine, Transaction};
use crate::private_file::random_bytes;
use crate::{Error, Store, skip_unreadable};

/// The properties of a key to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    /// `local` for an operator, who belongs to no tenant.
    pub tenant: Tenant,
    pub role: Role,
    /// A short label for people.
    pub label: Option<String>,
    /// The key is rejected from this time on.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub token: Token,
}

/// A key that replaces another.
#[derive(Debug)]
pub struct RotatedKey {
    pub spec: KeySpec,
    pub key: NewKey,
    /// When the former key stops working.
    pub former_ends_at: Timestamp,
}

/// The whole credential. It exists only between its creation and the one time it is shown.
pub struct Token(String);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    pub id: KeyId,
    pub tenant: Tenant,
    pub role: Role,
    pub label: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// Accurate to the minute, and written some time after the use.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// The prefix of every key, which distinguishes Kitbag's keys from others.
pub const KEY_PREFIX: &str = "kb_";
/// Eight digits are short enough to be read aloud. If two keys draw the same id, the second draws
/// another one when it is inserted.
const ID_BYTES: usize = 4;
/// 256 bits, so that a secret cannot be guessed even without a limit on attempts.
const SECRET_BYTES: usize = 32;

impl KeySpec {
    /// A key for calling tools as that tenant, without an expiry.
    pub fn user(tenant: Tenant) -> Self {
        Self {
            tenant,
            role: Role::User,
            label: None,
            expires_at: None,
        }
    }

    /// A key for reading the figures of every tenant, without an expiry.
    pub fn operator() -> Self {
        Self {
            role: Role::Operator,
            ..Self::user(Tenant::local())
        }
    }

    /// The properties of the key that succeeds `former`. If `former` had a lifetime, the new key gets
    /// the same, unless `expires_at` is set.
    fn for_successor(former: KeyInfo, expires_at: Option<Timestamp>, at: Timestamp) -> Self {
        let same_lifetime = former
            .lifetime()
            .map(|lifetime| Timestamp(at.0.saturating_add(lifetime)));
        Self {
            tenant: former.tenant,
            role: former.role,
            label: former.label,
            expires_at: expires_at.or(same_lifetime),
        }
    }
}

impl KeyInfo {
    pub fn is_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
    }

    fn is_active(&self, at: Timestamp) -> bool {
        self.revoked_at.is_none() && !self.is_expired(at)
    }

    /// In milliseconds, from creation to expiry.
    fn lifetime(&self) -> Option<i64> {
        let end = self.expires_at?;
        Some(end.0.saturating_sub(self.created_at.0))
    }

    /// When this key ends if it is replaced at `at` with a grace period of `grace`.
    fn end_of_grace(&self, grace: Duration, at: Timestamp) -> Timestamp {
        let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
        let end = Timestamp(at.0.saturating_add(grace));
        self.expires_at.map_or(end, |expiry| expiry.min(end))
    }
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

const SELECT_INFO: &str = "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at FROM api_keys";

impl Store {
    pub async fn create_key(&self, spec: &KeySpec, at: Timestamp) -> Result<NewKey, Error> {
        const ACTION: &str = "create a key";
        let mut transaction = self.engine.begin(ACTION).await?;
        let key = self.insert_key(&mut transaction, spec, at).await?;
        transaction.commit(ACTION).await?;
        Ok(key)
    }

    /// Creates a key like the given one, which keeps working for `grace`. Returns `None` if there
    /// is no such active key. A key with a lifetime is followed by one with the same lifetime,
    /// unless `expires_at` is set.
    pub async fn rotate_key(
        &self,
        id: &KeyId,
        grace: Duration,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<RotatedKey>, Error> {
        const ACTION: &str = "rotate a key";
        let mut transaction = self.engine.begin(ACTION).await?;
        // Locked, so that when two gateways rotate the key at once, the second sees the changes of
        // the first. On SQLite only one transaction writes at a time anyway.
        let lock = transaction.pick("", " FOR UPDATE");
        let former = transaction
            .query(SELECT_INFO)
            .push_bind(" WHERE id = ", &id.0)
            .push(lock)
            .fetch_optional("read a key")
            .await?;
        let former = former.map(row::read_info).transpose()?;
        let Some(former) = former.filter(|former| former.is_active(at)) else {
            return Ok(None);
        };
        let former_ends_at = former.end_of_grace(grace, at);
        let spec = KeySpec::for_successor(former, expires_at, at);
        let key = self.insert_key(&mut transaction, &spec, at).await?;
        transaction
            .query("UPDATE api_keys SET expires_at = $1 WHERE id = $2")
            .bind(former_ends_at.0)
            .bind(&id.0)
            .execute("set the expiry of a key")
            .await?;
        transaction.commit(ACTION).await?;
        Ok(Some(RotatedKey {
            spec,
            key,
            former_ends_at,
        }))
    }

    /// Returns every key ever created, oldest first.
    pub async fn list_keys(&self) -> Result<Vec<KeyInfo>, Error> {
        let select = self
            .engine
            .query(SELECT_INFO)
            .push(" ORDER BY created_at, id");
        let rows = select.fetch_all("list the keys").await?;
        Ok(skip_unreadable(rows, row::read_info))
    }

    /// Returns true if there was such a key and it was not revoked before.
    pub async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
        let revoked = self
            .engine
            .query("UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
            .bind(at.0)
            .bind(&id.0)
            .execute_on_row("revoke a key")
            .await?;
        self.key_cache.reject_key(&id.0);
        Ok(revoked)
    }

    /// Returns true if any key is accepted at that time.
    pub async fn has_active_keys(&self, at: Timestamp) -> Result<bool, Error> {
        self.engine
            .query(
                "SELECT EXISTS (SELECT 1 FROM api_keys
                 WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1))",
            )
            .bind(at.0)
            .fetch_scalar("look for keys")
            .await
    }

    /// Returns which of the keys are no longer accepted: revoked, expired or deleted. They are
    /// removed from the cache.
    pub async fn inactive_keys(&self, of: &[KeyId], at: Timestamp) -> Result<Vec<KeyId>, Error> {
        let mut ended = of.to_vec();
        let ids: Vec<&str> = of.iter().map(|id| id.0.as_str()).collect();
        let elements = self.engine.pick(
            "SELECT value FROM json_each($1)",
            "SELECT json_array_elements_text($1::json)",
        );
        let active: Vec<String> = self
            .engine
            .query("SELECT id FROM api_keys WHERE id IN (")
            .push(elements)
            .push(") AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)")
            .bind(serde_json::json!(ids).to_string())
            .bind(at.0)
            .fetch_scalars("look for revoked keys")
            .await?;
        ended.retain(|id| !active.contains(&id.0));
        ended.iter().for_each(|id| self.key_cache.remove(&id.0));
        Ok(ended)
    }

    async fn insert_key(
        &self,
        transaction: &mut Transaction,
        spec: &KeySpec,
        at: Timestamp,
    ) -> Result<NewKey, Error> {
        let secret = to_hex(&random_bytes::<SECRET_BYTES>());
        let hash = self.key_cache.hash_secret(&secret);
        loop {
            let id = KeyId(to_hex(&random_bytes::<ID_BYTES>()));
            let inserted = transaction
                .query(
                    "INSERT INTO api_keys (id, tenant, role, label, secret_hash, created_at, expires_at)
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
                )
                .bind(&id.0)
                .bind(spec.tenant.as_str())
                .bind(spec.role.as_str())
                .bind(spec.label.as_deref())
                .bind(hash.as_bytes())
                .bind(at.0)
                .bind(spec.expires_at.map(|at| at.0))
                .execute_on_row("create a key")
                .await?;
            if inserted {
                let token = Token(format!("{KEY_PREFIX}{id}_{secret}"));
                return Ok(NewKey { id, token });
            }
        }
    }
}

/// Returns true if the hash of any unrevoked key depends on the pepper.
pub(crate) async fn has_unrevoked_keys(engine: &Engine) -> Result<bool, Error> {
    engine
        .query("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_scalar("look for keys")
        .await
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::authentication::Recognition;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        keys_are_listed_with_everything_but_their_secret,
        a_rotated_key_works_until_its_grace_ends_and_its_successor_from_the_start,
        grace_never_extends_a_key_and_an_inactive_key_is_not_rotated,
        inactive_keys_are_found_among_the_keys_in_use,
    );

    fn acme() -> Tenant {
        "acme".parse().unwrap()
    }

    async fn keys_are_listed_with_everything_but_their_secret(place: TestPlace) {
        let store = place.open().await;
        assert!(!store.has_active_keys(Timestamp(5)).await.unwrap());
        let labelled = KeySpec {
            label: Some("laptop".to_owned()),
            ..KeySpec::user(acme())
        };
        let first = store.create_key(&labelled, Timestamp(5)).await.unwrap();
        let lasting = KeySpec {
            expires_at: Some(Timestamp(50)),
            ..KeySpec::operator()
        };
        let second = store.create_key(&lasting, Timestamp(6)).await.unwrap();
        store.revoke_key(&second.id, Timestamp(7)).await.unwrap();
        let listed = |key: &NewKey, spec: &KeySpec, created_at, revoked_at| KeyInfo {
            id: key.id.clone(),
            tenant: spec.tenant.clone(),
            role: spec.role,
            label: spec.label.clone(),
            created_at: Timestamp(created_at),
            expires_at: spec.expires_at,
            last_used_at: None,
            revoked_at,
        };
        assert_eq!(
            store.list_keys().await.unwrap(),
            [
                listed(&first, &labelled, 5, None),
                listed(&second, &lasting, 6, Some(Timestamp(7)))
            ]
        );
        assert!(store.has_active_keys(Timestamp(8)).await.unwrap());
        store.revoke_key(&first.id, Timestamp(8)).await.unwrap();
        assert!(!store.has_active_keys(Timestamp(8)).await.unwrap());
    }

    async fn a_rotated_key_works_until_its_grace_ends_and_its_successor_from_the_start(
        place: TestPlace,
    ) {
        let store = place.open().await;
        let spec = KeySpec {
            label: Some("laptop".to_owned()),
            expires_at: Some(Timestamp(1_000)),
            ..KeySpec::user(acme())
        };
        let former = store.create_key(&spec, Timestamp(0)).await.unwrap();
        let rotated = store
            .rotate_key(&former.id, Duration::from_millis(50), None, Timestamp(100))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            rotated.spec,
            KeySpec {
                expires_at: Some(Timestamp(1_100)),
                ..spec
            }
        );
        assert_eq!(rotated.former_ends_at, Timestamp(150));
        let opens = async |key: &NewKey, at| {
            let found = store
                .authenticate(key.token.reveal(), Timestamp(at))
                .await
                .unwrap();
            matches!(found, Recognition::Known(_))
        };
        assert!(opens(&former, 149).await && opens(&rotated.key, 100).await);
        assert!(!opens(&former, 150).await && opens(&rotated.key, 150).await);
    }

    async fn grace_never_extends_a_key_and_an_inactive_key_is_not_rotated(place: TestPlace) {
        let store = place.open().await;
        let spec = KeySpec {
            expires_at: Some(Timestamp(100)),
            ..KeySpec::user(acme())
        };
        let key = store.create_key(&spec, Timestamp(0)).await.unwrap();
        let rotate = async |at| {
            let rotated = store
                .rotate_key(&key.id, Duration::from_secs(3600), None, Timestamp(at))
                .await;
            rotated.unwrap().map(|rotated| rotated.former_ends_at)
        };
        assert_eq!(rotate(10).await, Some(Timestamp(100)));
        assert_eq!(rotate(100).await, None, "it has expired");
        let none = store
            .rotate_key(
                &KeyId("none".to_owned()),
                Duration::ZERO,
                None,
                Timestamp(1),
            )
            .await;
        assert!(none.unwrap().is_none());
    }

    async fn inactive_keys_are_found_among_the_keys_in_use(place: TestPlace) {
        let store = place.open().await;
        let living = store
            .create_key(&KeySpec::user(acme()), Timestamp(0))
            .await
            .unwrap();
        let lasting = KeySpec {
            expires_at: Some(Timestamp(10)),
            ..KeySpec::user(acme())
        };
        let expiring = store.create_key(&lasting, Timestamp(0)).await.unwrap();
        let revoked = store
            .create_key(&KeySpec::user(acme()), Timestamp(0))
            .await
            .unwrap();
        store.revoke_key(&revoked.id, Timestamp(5)).await.unwrap();
        let all = [living.id.clone(), expiring.id.clone(), revoked.id.clone()];
        let ended = store.inactive_keys(&all, Timestamp(9)).await.unwrap();
        assert_eq!(ended, std::slice::from_ref(&revoked.id));
        assert_eq!(
            store.inactive_keys(&all, Timestamp(10)).await.unwrap(),
            [expiring.id, revoked.id]
        );
        assert_eq!(store.inactive_keys(&[], Timestamp(10)).await.unwrap(), []);
    }
}
