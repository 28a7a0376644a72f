//! The statements of the tables `agent_state` and `agent_state_sums`, for SQLite.

use kitbag_domain::{Tenant, Timestamp};
use sqlx::AssertSqlSafe;

use super::{COLUMNS, EntryRow, FoundVersion, StatePage, StateSums, StateWrite, ValueRow};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

const READ: &str = "read a value of an agent";
const WRITE: &str = "keep a value of an agent";

pub(super) async fn select(
    sqlite: &Sqlite,
    tenant: &Tenant,
    key: &str,
    now: Timestamp,
) -> Result<Option<ValueRow>, Error> {
    sqlx::query_as(AssertSqlSafe(format!(
        "SELECT {COLUMNS}, value FROM agent_state
         WHERE tenant = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)"
    )))
    .bind(tenant.as_str())
    .bind(key)
    .bind(now.0)
    .fetch_optional(&sqlite.reader)
    .await
    .map_err(failed(READ))
}

pub(super) async fn select_page(
    sqlite: &Sqlite,
    tenant: &Tenant,
    page: &StatePage,
    end: Option<&str>,
    now: Timestamp,
) -> Result<Vec<EntryRow>, Error> {
    sqlx::query_as(AssertSqlSafe(format!(
        "SELECT {COLUMNS} FROM agent_state
         WHERE tenant = ?1 AND key >= ?2 AND (?3 IS NULL OR key < ?3) AND (?4 IS NULL OR key > ?4)
         AND (expires_at IS NULL OR expires_at > ?5) ORDER BY key LIMIT ?6"
    )))
    .bind(tenant.as_str())
    .bind(&page.prefix)
    .bind(end)
    .bind(page.after.as_deref())
    .bind(now.0)
    .bind(page.limit)
    .fetch_all(&sqlite.reader)
    .await
    .map_err(failed("list the keys of agents"))
}

pub(super) async fn hold_sums(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
) -> Result<StateSums, Error> {
    sqlx::query_as(
        "INSERT INTO agent_state_sums (tenant, keys, bytes, last_version) VALUES (?, 0, 0, 0)
         ON CONFLICT (tenant) DO UPDATE SET keys = keys RETURNING keys, bytes, last_version",
    )
    .bind(tenant.as_str())
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed(WRITE))
}

pub(super) async fn put_sums(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    sums: StateSums,
) -> Result<(), Error> {
    sqlx::query(
        "UPDATE agent_state_sums SET keys = ?, bytes = ?, last_version = ? WHERE tenant = ?",
    )
    .bind(sums.keys)
    .bind(sums.bytes)
    .bind(sums.last_version)
    .bind(tenant.as_str())
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}

/// Returns the sizes of the rows that are gone.
pub(super) async fn delete_ended(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    now: Timestamp,
) -> Result<Vec<i64>, Error> {
    sqlx::query_scalar(
        "DELETE FROM agent_state WHERE tenant = ? AND expires_at <= ? RETURNING bytes",
    )
    .bind(tenant.as_str())
    .bind(now.0)
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed("remove values that have ended"))
}

pub(super) async fn select_version(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    key: &str,
) -> Result<FoundVersion, Error> {
    sqlx::query_as("SELECT version, bytes FROM agent_state WHERE tenant = ? AND key = ?")
        .bind(tenant.as_str())
        .bind(key)
        .fetch_optional(&mut **transaction)
        .await
        .map_err(failed(READ))
}

pub(super) async fn put(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    write: &StateWrite,
    version: i64,
    now: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO agent_state (tenant, key, version, bytes, updated_at, expires_at, value)
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, key) DO UPDATE
         SET version = excluded.version, bytes = excluded.bytes, updated_at = excluded.updated_at,
             expires_at = excluded.expires_at, value = excluded.value",
    )
    .bind(tenant.as_str())
    .bind(&write.key)
    .bind(version)
    .bind(write.bytes())
    .bind(now.0)
    .bind(write.expires_at.map(|at| at.0))
    .bind(&write.value)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}

pub(super) async fn delete(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    key: &str,
) -> Result<(), Error> {
    sqlx::query("DELETE FROM agent_state WHERE tenant = ? AND key = ?")
        .bind(tenant.as_str())
        .bind(key)
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("forget a value of an agent"))
}
