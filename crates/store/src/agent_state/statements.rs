//! The statements of the tables `agent_state` and `agent_state_sums`.

use kitbag_domain::{Tenant, Timestamp};

use super::{COLUMNS, EntryRow, StatePage, StateSums, StateWrite, ValueRow, VersionRow};
use crate::Error;
use crate::engine::{Engine, Transaction};

const READ: &str = "read a value of an agent";
const WRITE: &str = "store a value of an agent";

pub(super) async fn select_value(
    engine: &Engine,
    tenant: &Tenant,
    key: &str,
    now: Timestamp,
) -> Result<Option<ValueRow>, Error> {
    engine
        .query("SELECT value, ")
        .push(COLUMNS)
        .push(
            " FROM agent_state
             WHERE tenant = $1 AND key = $2 AND (expires_at IS NULL OR expires_at > $3)",
        )
        .bind(tenant.as_str())
        .bind(key)
        .bind(now.0)
        .fetch_optional(READ)
        .await
}

pub(super) async fn select_page(
    engine: &Engine,
    tenant: &Tenant,
    page: &StatePage,
    end: Option<&str>,
    now: Timestamp,
) -> Result<Vec<EntryRow>, Error> {
    engine
        .query("SELECT ")
        .push(COLUMNS)
        .push(" FROM agent_state WHERE (expires_at IS NULL OR expires_at > $1)")
        .bind(now.0)
        .push_bind(" AND tenant = ", tenant.as_str())
        .push_bind(" AND key >= ", &page.prefix)
        .push_filter(" AND key < ", end)
        .push_filter(" AND key > ", page.after.as_deref())
        .push_bind(" ORDER BY key LIMIT ", i64::from(page.limit))
        .fetch_all("list the keys of agents")
        .await
}

/// Creates the totals of the tenant if there are none. On PostgreSQL, the row is locked until the
/// transaction ends, because it is written in either case.
pub(super) async fn lock_sums(
    transaction: &mut Transaction,
    tenant: &Tenant,
) -> Result<StateSums, Error> {
    transaction
        .query(
            "INSERT INTO agent_state_sums (tenant, keys, bytes, last_version) VALUES ($1, 0, 0, 0)
             ON CONFLICT (tenant) DO UPDATE SET keys = agent_state_sums.keys
             RETURNING keys, bytes, last_version",
        )
        .bind(tenant.as_str())
        .fetch_one(WRITE)
        .await
}

pub(super) async fn update_sums(
    transaction: &mut Transaction,
    tenant: &Tenant,
    sums: StateSums,
) -> Result<(), Error> {
    transaction
        .query("UPDATE agent_state_sums SET keys = $1, bytes = $2, last_version = $3 WHERE tenant = $4")
        .bind(sums.keys)
        .bind(sums.bytes)
        .bind(sums.last_version)
        .bind(tenant.as_str())
        .execute(WRITE)
        .await
        .map(drop)
}

/// Returns the sizes of the deleted rows.
pub(super) async fn delete_expired(
    transaction: &mut Transaction,
    tenant: &Tenant,
    now: Timestamp,
) -> Result<Vec<i64>, Error> {
    transaction
        .query("DELETE FROM agent_state WHERE tenant = $1 AND expires_at <= $2 RETURNING bytes")
        .bind(tenant.as_str())
        .bind(now.0)
        .fetch_scalars("remove expired values of agents")
        .await
}

pub(super) async fn select_version(
    transaction: &mut Transaction,
    tenant: &Tenant,
    key: &str,
) -> Result<Option<VersionRow>, Error> {
    transaction
        .query("SELECT version, bytes FROM agent_state WHERE tenant = $1 AND key = $2")
        .bind(tenant.as_str())
        .bind(key)
        .fetch_optional(READ)
        .await
}

pub(super) async fn put_value(
    transaction: &mut Transaction,
    tenant: &Tenant,
    write: &StateWrite,
    version: i64,
    now: Timestamp,
) -> Result<(), Error> {
    transaction
        .query(
            "INSERT INTO agent_state (tenant, key, version, bytes, updated_at, expires_at, value)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (tenant, key) DO UPDATE
             SET version = excluded.version, bytes = excluded.bytes, updated_at = excluded.updated_at,
                 expires_at = excluded.expires_at, value = excluded.value",
        )
        .bind(tenant.as_str())
        .bind(&write.key)
        .bind(version)
        .bind(write.byte_count())
        .bind(now.0)
        .bind(write.expires_at.map(|at| at.0))
        .bind(&write.value)
        .execute(WRITE)
        .await
        .map(drop)
}

pub(super) async fn delete_value(
    transaction: &mut Transaction,
    tenant: &Tenant,
    key: &str,
) -> Result<(), Error> {
    transaction
        .query("DELETE FROM agent_state WHERE tenant = $1 AND key = $2")
        .bind(tenant.as_str())
        .bind(key)
        .execute("delete a value of an agent")
        .await
        .map(drop)
}
