//! API keys: created once, shown once, listed, rotated and revoked.
//!
//! A token is `kb_<id>_<secret>`. The id is public and finds the row; the secret has 256 random
//! bits and is stored nowhere. How a key is recognised is in `key_door`.

use std::fmt;
use std::time::Duration;

use kitbag_domain::{KeyId, Role, Tenant, Timestamp};
use sqlx::{SqliteConnection, SqlitePool};

use crate::pepper::random;
use crate::{Error, Store, failed, unreadable};

/// What a key is to be made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyOrder {
    /// `local` for an operator, who belongs to no tenant.
    pub tenant: Tenant,
    pub role: Role,
    /// A few words by which people recognise the key.
    pub label: Option<String>,
    /// From then on the key opens nothing.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub token: Token,
}

/// A key that takes the place of another.
#[derive(Debug)]
pub struct Rotated {
    pub order: KeyOrder,
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
    /// To the minute, and not at once.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl KeyOrder {
    /// A key with which tools are called for that tenant, without an end.
    pub fn user(tenant: Tenant) -> Self {
        Self {
            tenant,
            role: Role::User,
            label: None,
            expires_at: None,
        }
    }

    /// A key with which every tenant's figures are read, without an end.
    pub fn operator() -> Self {
        Self {
            role: Role::Operator,
            ..Self::user(Tenant::local())
        }
    }
}

impl KeyInfo {
    pub fn is_expired(&self, at: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= at)
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

impl Store {
    pub async fn create_key(&self, order: &KeyOrder, at: Timestamp) -> Result<NewKey, Error> {
        let mut writer = self
            .sqlite
            .writer
            .acquire()
            .await
            .map_err(failed("create a key"))?;
        self.insert_key(&mut writer, order, at).await
    }

    /// Makes a key like that one, which itself goes on working for `grace`; nothing if there is
    /// no such key that still works. A key that lasts for a while is followed by one that lasts
    /// as long, unless `expires_at` says otherwise.
    pub async fn rotate_key(
        &self,
        id: &KeyId,
        grace: Duration,
        expires_at: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Option<Rotated>, Error> {
        const ACTION: &str = "rotate a key";
        let mut transaction = self.sqlite.writer.begin().await.map_err(failed(ACTION))?;
        let row: Option<InfoRow> = sqlx::query_as(SELECT_ONE)
            .bind(&id.0)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(failed(ACTION))?;
        let former = match row.map(info).transpose()? {
            Some(former) if former.revoked_at.is_none() && !former.is_expired(at) => former,
            _ => return Ok(None),
        };
        let lifetime = former
            .expires_at
            .map(|end| end.0.saturating_sub(former.created_at.0));
        let like_former = lifetime.map(|lifetime| Timestamp(at.0.saturating_add(lifetime)));
        let order = KeyOrder {
            tenant: former.tenant,
            role: former.role,
            label: former.label,
            expires_at: expires_at.or(like_former),
        };
        let key = self.insert_key(&mut transaction, &order, at).await?;
        let end_of_grace =
            Timestamp(at.0.saturating_add(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX)));
        let former_ends_at = former
            .expires_at
            .map_or(end_of_grace, |end| end.min(end_of_grace));
        sqlx::query("UPDATE api_keys SET expires_at = ? WHERE id = ?")
            .bind(former_ends_at.0)
            .bind(&id.0)
            .execute(&mut *transaction)
            .await
            .map_err(failed(ACTION))?;
        transaction.commit().await.map_err(failed(ACTION))?;
        Ok(Some(Rotated {
            order,
            key,
            former_ends_at,
        }))
    }

    /// Every key there ever was, the oldest first.
    pub async fn keys(&self) -> Result<Vec<KeyInfo>, Error> {
        let rows: Vec<InfoRow> = sqlx::query_as(SELECT_ALL)
            .fetch_all(&self.sqlite.reader)
            .await
            .map_err(failed("list the keys"))?;
        rows.into_iter().map(info).collect()
    }

    /// Whether there was such a key and it was not revoked before.
    pub async fn revoke_key(&self, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
        let done =
            sqlx::query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
                .bind(at.0)
                .bind(&id.0)
                .execute(&self.sqlite.writer)
                .await
                .map_err(failed("revoke a key"))?;
        self.door.bar(&id.0);
        Ok(done.rows_affected() == 1)
    }

    /// Whether any key opens the door at that moment.
    pub async fn has_active_keys(&self, at: Timestamp) -> Result<bool, Error> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM api_keys
             WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))",
        )
        .bind(at.0)
        .fetch_one(&self.sqlite.reader)
        .await
        .map_err(failed("look for keys"))
    }

    /// Which of these keys no longer open anything: revoked, expired or gone. None of them is
    /// recognised from memory after that.
    pub async fn ended_keys(&self, of: &[KeyId], at: Timestamp) -> Result<Vec<KeyId>, Error> {
        let ids: Vec<&str> = of.iter().map(|id| id.0.as_str()).collect();
        let living: Vec<String> = sqlx::query_scalar(
            "SELECT id FROM api_keys WHERE id IN (SELECT value FROM json_each(?))
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)",
        )
        .bind(format!("[\"{}\"]", ids.join("\",\"")))
        .bind(at.0)
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("look for revoked keys"))?;
        let ended: Vec<KeyId> = of
            .iter()
            .filter(|id| !living.contains(&id.0))
            .cloned()
            .collect();
        ended.iter().for_each(|id| self.door.forget(&id.0));
        Ok(ended)
    }

    async fn insert_key(
        &self,
        connection: &mut SqliteConnection,
        order: &KeyOrder,
        at: Timestamp,
    ) -> Result<NewKey, Error> {
        let secret = hex(&random::<SECRET_BYTES>());
        let hash = self.door.pepper.hash(&secret);
        loop {
            let id = hex(&random::<ID_BYTES>());
            let done = sqlx::query(
                "INSERT INTO api_keys (id, tenant, role, label, secret_hash, created_at, expires_at)
                 VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            )
            .bind(&id)
            .bind(order.tenant.as_str())
            .bind(order.role.as_str())
            .bind(order.label.as_deref())
            .bind(hash.as_bytes().as_slice())
            .bind(at.0)
            .bind(order.expires_at.map(|at| at.0))
            .execute(&mut *connection)
            .await
            .map_err(failed("create a key"))?;
            if done.rows_affected() == 1 {
                let token = Token(format!("{PREFIX}{id}_{secret}"));
                return Ok(NewKey {
                    id: KeyId(id),
                    token,
                });
            }
        }
    }
}

/// Whether a hash in the table depends on the pepper and was not given up.
pub(crate) async fn any_unrevoked(pool: &SqlitePool) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_one(pool)
        .await
        .map_err(failed("look for keys"))
}

pub(crate) const PREFIX: &str = "kb_";
pub(crate) const ID_BYTES: usize = 4;
pub(crate) const SECRET_BYTES: usize = 32;

const SELECT_ALL: &str =
    "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
     FROM api_keys ORDER BY created_at, id";
const SELECT_ONE: &str =
    "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
     FROM api_keys WHERE id = ?";

type InfoRow = (
    String,
    String,
    String,
    Option<String>,
    i64,
    Option<i64>,
    Option<i64>,
    Option<i64>,
);

fn info(row: InfoRow) -> Result<KeyInfo, Error> {
    let (id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at) = row;
    Ok(KeyInfo {
        id: KeyId(id),
        tenant: parse_tenant(&tenant)?,
        role: parse_role(&role)?,
        label,
        created_at: Timestamp(created_at),
        expires_at: expires_at.map(Timestamp),
        last_used_at: last_used_at.map(Timestamp),
        revoked_at: revoked_at.map(Timestamp),
    })
}

pub(crate) fn parse_tenant(text: &str) -> Result<Tenant, Error> {
    text.parse().map_err(|_| unreadable("tenant", text))
}

pub(crate) fn parse_role(text: &str) -> Result<Role, Error> {
    text.parse().map_err(|_| unreadable("role", text))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_door::Recognition;
    use crate::tests::store;

    fn acme() -> Tenant {
        "acme".parse().unwrap()
    }

    #[tokio::test]
    async fn keys_are_listed_with_everything_but_their_secret() {
        let (_directory, store) = store().await;
        assert!(!store.has_active_keys(Timestamp(5)).await.unwrap());
        let labelled = KeyOrder {
            label: Some("laptop".to_owned()),
            ..KeyOrder::user(acme())
        };
        let first = store.create_key(&labelled, Timestamp(5)).await.unwrap();
        let lasting = KeyOrder {
            expires_at: Some(Timestamp(50)),
            ..KeyOrder::operator()
        };
        let second = store.create_key(&lasting, Timestamp(6)).await.unwrap();
        store.revoke_key(&second.id, Timestamp(7)).await.unwrap();
        let listed = |key: &NewKey, order: &KeyOrder, created_at, revoked_at| KeyInfo {
            id: key.id.clone(),
            tenant: order.tenant.clone(),
            role: order.role,
            label: order.label.clone(),
            created_at: Timestamp(created_at),
            expires_at: order.expires_at,
            last_used_at: None,
            revoked_at,
        };
        assert_eq!(
            store.keys().await.unwrap(),
            [
                listed(&first, &labelled, 5, None),
                listed(&second, &lasting, 6, Some(Timestamp(7)))
            ]
        );
        assert!(store.has_active_keys(Timestamp(8)).await.unwrap());
        store.revoke_key(&first.id, Timestamp(8)).await.unwrap();
        assert!(!store.has_active_keys(Timestamp(8)).await.unwrap());
    }

    #[tokio::test]
    async fn a_rotated_key_works_until_its_grace_ends_and_its_successor_from_the_start() {
        let (_directory, store) = store().await;
        let order = KeyOrder {
            label: Some("laptop".to_owned()),
            expires_at: Some(Timestamp(1_000)),
            ..KeyOrder::user(acme())
        };
        let former = store.create_key(&order, Timestamp(0)).await.unwrap();
        let rotated = store
            .rotate_key(&former.id, Duration::from_millis(50), None, Timestamp(100))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            rotated.order,
            KeyOrder {
                expires_at: Some(Timestamp(1_100)),
                ..order
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

    #[tokio::test]
    async fn grace_never_lengthens_the_life_of_a_key_and_a_dead_one_is_not_rotated() {
        let (_directory, store) = store().await;
        let order = KeyOrder {
            expires_at: Some(Timestamp(100)),
            ..KeyOrder::user(acme())
        };
        let key = store.create_key(&order, Timestamp(0)).await.unwrap();
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

    #[tokio::test]
    async fn of_the_keys_in_use_those_that_ended_are_named() {
        let (_directory, store) = store().await;
        let living = store
            .create_key(&KeyOrder::user(acme()), Timestamp(0))
            .await
            .unwrap();
        let lasting = KeyOrder {
            expires_at: Some(Timestamp(10)),
            ..KeyOrder::user(acme())
        };
        let expiring = store.create_key(&lasting, Timestamp(0)).await.unwrap();
        let revoked = store
            .create_key(&KeyOrder::user(acme()), Timestamp(0))
            .await
            .unwrap();
        store.revoke_key(&revoked.id, Timestamp(5)).await.unwrap();
        let all = [living.id.clone(), expiring.id.clone(), revoked.id.clone()];
        let ended = store.ended_keys(&all, Timestamp(9)).await.unwrap();
        assert_eq!(ended, std::slice::from_ref(&revoked.id));
        assert_eq!(
            store.ended_keys(&all, Timestamp(10)).await.unwrap(),
            [expiring.id, revoked.id]
        );
        assert_eq!(store.ended_keys(&[], Timestamp(10)).await.unwrap(), []);
    }
}
