//! The statements of the table `api_keys`, for SQLite.

use kitbag_domain::{KeyId, Timestamp};

use super::KeyOrder;
use super::cache::KeyHash;
use super::row::{InfoRow, RecordRow};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

/// Inserts a key, unless there is one with this id. Returns true if it was inserted.
pub(super) async fn insert(
    transaction: &mut SqliteTransaction,
    id: &KeyId,
    hash: &KeyHash,
    order: &KeyOrder,
    at: Timestamp,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "INSERT INTO api_keys (id, tenant, role, label, secret_hash, created_at, expires_at)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
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

pub(super) async fn select_all(sqlite: &Sqlite) -> Result<Vec<InfoRow>, Error> {
    sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys ORDER BY created_at, id",
    )
    .fetch_all(&sqlite.reader)
    .await
    .map_err(failed("list the keys"))
}

pub(super) async fn select_one(
    transaction: &mut SqliteTransaction,
    id: &KeyId,
) -> Result<Option<InfoRow>, Error> {
    sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys WHERE id = ?",
    )
    .bind(&id.0)
    .fetch_optional(&mut **transaction)
    .await
    .map_err(failed("read a key"))
}

/// Reads the columns that are needed to recognise the key.
pub(super) async fn select_record(sqlite: &Sqlite, id: &str) -> Result<Option<RecordRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL
         FROM api_keys WHERE id = ?",
    )
    .bind(id)
    .fetch_optional(&sqlite.reader)
    .await
    .map_err(failed("look up a key"))
}

/// Returns the ids of those keys that are neither revoked nor expired.
pub(super) async fn select_active(
    sqlite: &Sqlite,
    of: &[KeyId],
    at: Timestamp,
) -> Result<Vec<String>, Error> {
    let ids: Vec<&str> = of.iter().map(|id| id.0.as_str()).collect();
    sqlx::query_scalar(
        "SELECT id FROM api_keys WHERE id IN (SELECT value FROM json_each(?))
         AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)",
    )
    .bind(format!("[\"{}\"]", ids.join("\",\"")))
    .bind(at.0)
    .fetch_all(&sqlite.reader)
    .await
    .map_err(failed("look for revoked keys"))
}

pub(super) async fn any_active(sqlite: &Sqlite, at: Timestamp) -> Result<bool, Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM api_keys
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))",
    )
    .bind(at.0)
    .fetch_one(&sqlite.reader)
    .await
    .map_err(failed("look for keys"))
}

/// Returns true if the hash of any key that was not revoked depends on the pepper.
pub(super) async fn any_unrevoked(sqlite: &Sqlite) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_one(&sqlite.reader)
        .await
        .map_err(failed("look for keys"))
}

/// Returns true if there was such a key and it was not revoked before.
pub(super) async fn revoke(sqlite: &Sqlite, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
    let done =
        sqlx::query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
            .bind(at.0)
            .bind(&id.0)
            .execute(&sqlite.writer)
            .await
            .map_err(failed("revoke a key"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn expire(
    transaction: &mut SqliteTransaction,
    id: &KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query("UPDATE api_keys SET expires_at = ? WHERE id = ?")
        .bind(at.0)
        .bind(&id.0)
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("end a key"))
}

/// Notes when the keys were used, unless another process has seen a later use.
pub(super) async fn note_uses(
    transaction: &mut SqliteTransaction,
    uses: &[(String, Timestamp)],
) -> Result<(), Error> {
    for (id, at) in uses {
        sqlx::query(
            "UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?",
        )
        .bind(at.0)
        .bind(id)
        .execute(&mut **transaction)
        .await
        .map_err(failed("note the use of keys"))?;
    }
    Ok(())
}
