//! The statements of the table `api_keys`, for PostgreSQL.

use kitbag_domain::{KeyId, Timestamp};

use super::KeyOrder;
use super::cache::KeyHash;
use super::row::{InfoRow, RecordRow};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

/// Inserts a key, unless there is one with this id. Returns true if it was inserted.
pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    id: &KeyId,
    hash: &KeyHash,
    order: &KeyOrder,
    at: Timestamp,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "INSERT INTO api_keys (id, tenant, role, label, secret_hash, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
    )
    .bind(&id.0)
    .bind(order.tenant.as_str())
    .bind(order.role.as_str())
    .bind(order.label.as_deref())
    .bind(hash.as_bytes())
    .bind(at.0)
    .bind(order.expires_at.map(|at| at.0))
    .execute(&mut **transaction)
    .await
    .map_err(failed("create a key"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn select_all(postgres: &Postgres) -> Result<Vec<InfoRow>, Error> {
    sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys ORDER BY created_at, id",
    )
    .fetch_all(&postgres.pool)
    .await
    .map_err(failed("list the keys"))
}

/// Locks the row, so that of two that rotate the key at once the second sees what the first did.
pub(super) async fn select_one(
    transaction: &mut PostgresTransaction,
    id: &KeyId,
) -> Result<Option<InfoRow>, Error> {
    sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys WHERE id = $1 FOR UPDATE",
    )
    .bind(&id.0)
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed("read a key"))
}

/// Reads the columns that are needed to recognise the key.
pub(super) async fn select_record(
    postgres: &Postgres,
    id: &str,
) -> Result<Option<RecordRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL
         FROM api_keys WHERE id = $1",
    )
    .bind(id)
    .fetch_optional(&postgres.pool)
    .await
    .map_err(failed("look up a key"))
}

/// Returns the ids of those keys that are neither revoked nor expired.
pub(super) async fn select_active(
    postgres: &Postgres,
    of: &[KeyId],
    at: Timestamp,
) -> Result<Vec<String>, Error> {
    let ids: Vec<&str> = of.iter().map(|id| id.0.as_str()).collect();
    sqlx::query_scalar(
        "SELECT id FROM api_keys WHERE id = ANY($1)
         AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
    )
    .bind(ids)
    .bind(at.0)
    .fetch_all(&postgres.pool)
    .await
    .map_err(failed("look for revoked keys"))
}

pub(super) async fn any_active(postgres: &Postgres, at: Timestamp) -> Result<bool, Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM api_keys
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1))",
    )
    .bind(at.0)
    .fetch_one(&postgres.pool)
    .await
    .map_err(failed("look for keys"))
}

/// Returns true if the hash of any key that was not revoked depends on the pepper.
pub(super) async fn any_unrevoked(postgres: &Postgres) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_one(&postgres.pool)
        .await
        .map_err(failed("look for keys"))
}

/// Returns true if there was such a key and it was not revoked before.
pub(super) async fn revoke(postgres: &Postgres, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
    let done =
        sqlx::query("UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
            .bind(at.0)
            .bind(&id.0)
            .execute(&postgres.pool)
            .await
            .map_err(failed("revoke a key"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn expire(
    transaction: &mut PostgresTransaction,
    id: &KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query("UPDATE api_keys SET expires_at = $1 WHERE id = $2")
        .bind(at.0)
        .bind(&id.0)
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("end a key"))
}

/// Notes when the keys were used, unless another process has seen a later use. The rows are locked
/// in the order of their ids, so that two gateways do not wait for each other.
pub(super) async fn note_uses(
    transaction: &mut PostgresTransaction,
    uses: &[(String, Timestamp)],
) -> Result<(), Error> {
    let (ids, times): (Vec<&str>, Vec<i64>) =
        uses.iter().map(|(id, at)| (id.as_str(), at.0)).unzip();
    sqlx::query(
        "WITH locked AS (SELECT id FROM api_keys WHERE id = ANY($1) ORDER BY id FOR UPDATE)
         UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at)
         FROM unnest($1, $2) AS used (id, at) JOIN locked USING (id)
         WHERE api_keys.id = used.id",
    )
    .bind(ids)
    .bind(times)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed("note the use of keys"))
}
