//! The statements of the table `api_keys`.

use kitbag_domain::{KeyId, Role, Tenant, Timestamp};
use sqlx::{SqliteConnection, SqlitePool};

use super::cache::{KeyHash, KeyRecord};
use super::{KeyInfo, KeyOrder};
use crate::{Error, failed, unreadable};

/// Inserts a key, unless there is one with this id. Returns true if it was inserted.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
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
    .execute(connection)
    .await
    .map_err(failed("create a key"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn select_all(pool: &SqlitePool) -> Result<Vec<KeyInfo>, Error> {
    let rows: Vec<InfoRow> = sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys ORDER BY created_at, id",
    )
    .fetch_all(pool)
    .await
    .map_err(failed("list the keys"))?;
    rows.into_iter().map(read_info).collect()
}

pub(super) async fn select_one(
    connection: &mut SqliteConnection,
    id: &KeyId,
) -> Result<Option<KeyInfo>, Error> {
    let row: Option<InfoRow> = sqlx::query_as(
        "SELECT id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at
         FROM api_keys WHERE id = ?",
    )
    .bind(&id.0)
    .fetch_optional(connection)
    .await
    .map_err(failed("read a key"))?;
    row.map(read_info).transpose()
}

/// Reads the columns that are needed to recognise the key.
pub(super) async fn select_record(pool: &SqlitePool, id: &str) -> Result<Option<KeyRecord>, Error> {
    let row: Option<RecordRow> = sqlx::query_as(
        "SELECT tenant, role, secret_hash, expires_at, revoked_at IS NOT NULL
         FROM api_keys WHERE id = ?",
    )
    .bind(id)
    .fetch_optional(pool)
    .await
    .map_err(failed("look up a key"))?;
    row.map(read_record).transpose()
}

/// Returns the ids of those keys that are neither revoked nor expired.
pub(super) async fn select_active(
    pool: &SqlitePool,
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
    .fetch_all(pool)
    .await
    .map_err(failed("look for revoked keys"))
}

pub(super) async fn any_active(pool: &SqlitePool, at: Timestamp) -> Result<bool, Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM api_keys
         WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?))",
    )
    .bind(at.0)
    .fetch_one(pool)
    .await
    .map_err(failed("look for keys"))
}

/// Returns true if the hash of any key that was not revoked depends on the pepper.
pub(crate) async fn any_unrevoked(pool: &SqlitePool) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM api_keys WHERE revoked_at IS NULL)")
        .fetch_one(pool)
        .await
        .map_err(failed("look for keys"))
}

/// Returns true if there was such a key and it was not revoked before.
pub(super) async fn revoke(pool: &SqlitePool, id: &KeyId, at: Timestamp) -> Result<bool, Error> {
    let done =
        sqlx::query("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL")
            .bind(at.0)
            .bind(&id.0)
            .execute(pool)
            .await
            .map_err(failed("revoke a key"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn expire(
    connection: &mut SqliteConnection,
    id: &KeyId,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query("UPDATE api_keys SET expires_at = ? WHERE id = ?")
        .bind(at.0)
        .bind(&id.0)
        .execute(connection)
        .await
        .map(drop)
        .map_err(failed("end a key"))
}

/// Notes when the key was used, unless another process has seen a later use.
pub(super) async fn note_use(
    connection: &mut SqliteConnection,
    id: &str,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query("UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?")
        .bind(at.0)
        .bind(id)
        .execute(connection)
        .await
        .map(drop)
        .map_err(failed("note the use of keys"))
}

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

fn read_info(row: InfoRow) -> Result<KeyInfo, Error> {
    let (id, tenant, role, label, created_at, expires_at, last_used_at, revoked_at) = row;
    Ok(KeyInfo {
        id: KeyId(id),
        tenant: read_tenant(&tenant)?,
        role: read_role(&role)?,
        label,
        created_at: Timestamp(created_at),
        expires_at: expires_at.map(Timestamp),
        last_used_at: last_used_at.map(Timestamp),
        revoked_at: revoked_at.map(Timestamp),
    })
}

type RecordRow = (String, String, Vec<u8>, Option<i64>, bool);

fn read_record(row: RecordRow) -> Result<KeyRecord, Error> {
    let (tenant, role, hash, expires_at, revoked) = row;
    Ok(KeyRecord {
        tenant: read_tenant(&tenant)?,
        role: read_role(&role)?,
        hash: KeyHash::from_bytes(hash).ok_or_else(|| unreadable("key hash", "(not shown)"))?,
        expires_at: expires_at.map(Timestamp),
        revoked,
    })
}

fn read_tenant(text: &str) -> Result<Tenant, Error> {
    text.parse().map_err(|_| unreadable("tenant", text))
}

fn read_role(text: &str) -> Result<Role, Error> {
    text.parse().map_err(|_| unreadable("role", text))
}
