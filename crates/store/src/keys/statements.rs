//! The statements of the table `api_keys`.

use std::collections::BTreeMap;

use kitbag_domain::{KeyId, Timestamp};

use super::KeySpec;
use super::cache::KeyHash;
use super::row::{InfoRow, RecordRow};
use crate::Error;
use crate::engine::{Engine, Transaction};

const INFO_COLUMNS: &str =
    "id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at";

/// Inserts a key, unless there is one with this id. Returns true if it was inserted.
pub(super) async fn insert_key(
    transaction: &mut Transaction,
    id: &KeyId,
    hash: &KeyHash,
    spec: &KeySpec,
    at: Timestamp,
) -> Result<bool, Error> {
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
        .execute("create a key")
        .await?;
    Ok(inserted == 1)
}

pub(super) async fn select_keys(engine: &Engine) -> Result<Vec<InfoRow>, Error> {
    engine
        .query("SELECT ")
        .push(INFO_COLUMNS)
        .push(" FROM api_keys ORDER BY created_at, id")
        .fetch_all("list the keys")
        .await
}

/// Locks the row, so that when two gateways rotate the key at once, the second sees the changes of
/// the first. On SQLite only one transaction writes at a time anyway.
pub(super) async fn lock_key(
    transaction: &mut Transaction,
    id: &KeyId,
) -> Result<Option<InfoRow>, Error> {
    let lock = transaction.pick("", " FOR UPDATE");
    transaction
        .query("SELECT ")
        .push(INFO_COLUMNS)
        .push_bind(" FROM api_keys WHERE id = ", &id.0)
        .push(lock)
        .fetch_optional("read a key")
        .await
}

/// Reads the columns needed to verify the key.
pub(super) async fn select_record(engine: &Engine, id: &str) -> Result<Option<RecordRow>, Error> {
    engine
        .query(
            "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL
             FROM api_keys WHERE id = $1",
        )
        .bind(id)
        .fetch_optional("look up a key")
        .await
}

/// Returns which of these keys are neither revoked nor expired.
pub(super) async fn select_active(
    engine: &Engine,
    ids: &[KeyId],
    at: Timestamp,
) -> Result<Vec<String>, Error> {
    let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
    let elements = engine.pick(
        "SELECT value FROM json_each($1)",
        "SELECT json_array_elements_text($1::json)",
    );
    engine
        .query("SELECT id FROM api_keys WHERE id IN (")
        .push(elements)
        .push(") AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)")
        .bind(serde_json::json!(ids).to_string())
        .bind(at.0)
        .fetch_scalars("look for revoked keys")
        .await
}

pub(super) async fn has_active_keys(engine: &Engine, at: Timestamp) -> Result<bool, Error> {
    engine
        .query(
            "SELECT EXISTS (SELECT 1 FROM api_keys
             WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1))",
        )
        .bind(at.0)
        .fetch_scalar("look for keys")
        .await
}

pub(super) async fn has_unrevoked_keys(engine: &Engine) -> Result<bool, Error> {
    engine
        .query("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_scalar("look for keys")
        .await
}

/// Returns true if there is such a key and it was not revoked before.
pub(super) async fn revoke_key(engine: &Engine, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
    let updated = engine
        .query("UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
        .bind(at.0)
        .bind(&id.0)
        .execute("revoke a key")
        .await?;
    Ok(updated == 1)
}

pub(super) async fn set_expiry(
    transaction: &mut Transaction,
    id: &KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    transaction
        .query("UPDATE api_keys SET expires_at = $1 WHERE id = $2")
        .bind(at.0)
        .bind(&id.0)
        .execute("set the expiry of a key")
        .await
        .map(drop)
}

/// Writes when the keys were last used, unless another process has seen a later use. PostgreSQL
/// locks the rows in id order, so that two gateways do not deadlock.
pub(super) async fn update_last_used(
    transaction: &mut Transaction,
    uses: &[(String, Timestamp)],
) -> Result<(), Error> {
    let update = transaction.pick(
        "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), used.at)
         FROM (SELECT key AS id, value AS at FROM json_each($1)) AS used WHERE api_keys.id = used.id",
        "WITH used AS (SELECT key AS id, value::bigint AS at FROM json_each_text($1::json)),
              locked AS (SELECT id FROM api_keys JOIN used USING (id) ORDER BY id FOR UPDATE OF api_keys)
         UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
         FROM used JOIN locked USING (id) WHERE api_keys.id = used.id",
    );
    let uses: BTreeMap<&str, i64> = uses.iter().map(|(id, at)| (id.as_str(), at.0)).collect();
    transaction
        .query(update)
        .bind(serde_json::json!(uses).to_string())
        .execute("record the use of keys")
        .await
        .map(drop)
}
