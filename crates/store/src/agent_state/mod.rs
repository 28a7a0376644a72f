//! Values that agents of a tenant store between runs, by key.
//!
//! A value may expire: from then on it is hidden, and the tenant's next write removes the row.
//! Every write gives its key a version that is unique in the tenant, so that a writer can require
//! the version it read. The caller passes a tenant's limits.

use kitbag_domain::{Tenant, Timestamp};
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use crate::engine::Transaction;
use crate::engine::row_struct::row_struct;
use crate::{Error, Store};

/// A value to store in place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWrite {
    pub key: String,
    /// JSON, stored verbatim.
    pub value: String,
    /// The required current version; zero for none. `None` accepts any.
    pub if_version: Option<i64>,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEntry {
    pub key: String,
    pub version: i64,
    /// The size of the key and the value.
    pub bytes: i64,
    pub updated_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

/// The keys to list: the keys after a given one, in byte order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatePage {
    pub prefix: String,
    pub after: Option<String>,
    pub limit: u32,
}

/// The limits of a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateLimits {
    pub keys: i64,
    pub bytes: i64,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateWriteOutcome {
    /// The new version of the key.
    Written(i64),
    /// The current version differs from the required one; zero for none.
    OtherVersion(i64),
    TooManyKeys,
    TooManyBytes,
}

/// The outcome of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateDeleteOutcome {
    Deleted,
    Absent,
    OtherVersion(i64),
}

const READ: &str = "read a value of an agent";
const WRITE: &str = "store a value of an agent";

impl Store {
    /// Returns the value of a key, unless it has expired.
    pub async fn get_state(
        &self,
        tenant: &Tenant,
        key: &str,
        now: Timestamp,
    ) -> Result<Option<(StateEntry, String)>, Error> {
        let row: Option<ValueRow> = self
            .engine
            .query("SELECT value, ")
            .push(COLUMNS)
            .push(" FROM agent_state WHERE tenant = $1 AND key = $2")
            .push(" AND (expires_at IS NULL OR expires_at > $3)")
            .bind(tenant.as_str())
            .bind(key)
            .bind(now.0)
            .fetch_optional(READ)
            .await?;
        Ok(row.map(|row| (StateEntry::from(row.entry), row.value)))
    }

    /// Returns the keys of a page, without their values.
    pub async fn list_state(
        &self,
        tenant: &Tenant,
        page: &StatePage,
        now: Timestamp,
    ) -> Result<Vec<StateEntry>, Error> {
        let end = prefix_end(&page.prefix);
        let rows: Vec<EntryRow> = self
            .engine
            .query("SELECT ")
            .push(COLUMNS)
            .push(" FROM agent_state WHERE (expires_at IS NULL OR expires_at > $1)")
            .bind(now.0)
            .push_bind(" AND tenant = ", tenant.as_str())
            .push_bind(" AND key >= ", &page.prefix)
            .push_filter(" AND key < ", end.as_deref())
            .push_filter(" AND key > ", page.after.as_deref())
            .push_bind(" ORDER BY key LIMIT ", i64::from(page.limit))
            .fetch_all("list the keys of agents")
            .await?;
        Ok(rows.into_iter().map(StateEntry::from).collect())
    }

    /// Writes a value, unless its version differs from the required one, or the tenant would exceed
    /// its limits.
    pub async fn put_state(
        &self,
        tenant: &Tenant,
        write: &StateWrite,
        limits: StateLimits,
        now: Timestamp,
    ) -> Result<StateWriteOutcome, Error> {
        let mut transaction = self.engine.begin(WRITE).await?;
        let mut sums = StateSums::lock(&mut transaction, tenant, now).await?;
        let found = select_version(&mut transaction, tenant, &write.key).await?;
        let written = sums.apply_write(write, found, limits);
        if let StateWriteOutcome::Written(version) = written {
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
                .await?;
        }
        sums.store(&mut transaction, tenant).await?;
        transaction.commit(WRITE).await?;
        Ok(written)
    }

    /// Deletes a key, unless its version differs from the required one.
    pub async fn delete_state(
        &self,
        tenant: &Tenant,
        key: &str,
        if_version: Option<i64>,
        now: Timestamp,
    ) -> Result<StateDeleteOutcome, Error> {
        const ACTION: &str = "delete a value of an agent";
        let mut transaction = self.engine.begin(ACTION).await?;
        let mut sums = StateSums::lock(&mut transaction, tenant, now).await?;
        let found = select_version(&mut transaction, tenant, key).await?;
        let deleted = sums.apply_delete(if_version, found);
        if deleted == StateDeleteOutcome::Deleted {
            transaction
                .query("DELETE FROM agent_state WHERE tenant = $1 AND key = $2")
                .bind(tenant.as_str())
                .bind(key)
                .execute(ACTION)
                .await?;
        }
        sums.store(&mut transaction, tenant).await?;
        transaction.commit(ACTION).await?;
        Ok(deleted)
    }
}

row_struct! {
    /// The totals of a tenant.
    #[derive(Debug, Clone, Copy, Default)]
    struct StateSums {
        keys: i64,
        bytes: i64,
        last_version: i64,
    }
}

/// The version and the size of a key's row.
type VersionRow = (i64, i64);

impl StateSums {
    /// Reads the totals, and locks out other writers of the tenant until the transaction ends.
    /// Expired rows are removed first.
    async fn lock(
        transaction: &mut Transaction,
        tenant: &Tenant,
        now: Timestamp,
    ) -> Result<Self, Error> {
        // The row is written in either case, so that PostgreSQL locks it.
        let sums: Self = transaction
            .query(
                "INSERT INTO agent_state_sums (tenant, keys, bytes, last_version) VALUES ($1, 0, 0, 0)
                 ON CONFLICT (tenant) DO UPDATE SET keys = agent_state_sums.keys
                 RETURNING keys, bytes, last_version",
            )
            .bind(tenant.as_str())
            .fetch_one(WRITE)
            .await?;
        let ended: Vec<i64> = transaction
            .query("DELETE FROM agent_state WHERE tenant = $1 AND expires_at <= $2 RETURNING bytes")
            .bind(tenant.as_str())
            .bind(now.0)
            .fetch_scalars("remove expired values of agents")
            .await?;
        Ok(Self {
            keys: sums.keys - ended.len() as i64,
            bytes: sums.bytes - ended.iter().sum::<i64>(),
            ..sums
        })
    }

    async fn store(self, transaction: &mut Transaction, tenant: &Tenant) -> Result<(), Error> {
        transaction
            .query("UPDATE agent_state_sums SET keys = $1, bytes = $2, last_version = $3 WHERE tenant = $4")
            .bind(self.keys)
            .bind(self.bytes)
            .bind(self.last_version)
            .bind(tenant.as_str())
            .execute(WRITE)
            .await
            .map(drop)
    }

    fn apply_write(
        &mut self,
        write: &StateWrite,
        found: Option<VersionRow>,
        limits: StateLimits,
    ) -> StateWriteOutcome {
        let (version, bytes_before) = found.unwrap_or_default();
        if write.if_version.is_some_and(|wanted| wanted != version) {
            return StateWriteOutcome::OtherVersion(version);
        }
        let keys = self.keys + i64::from(found.is_none());
        let bytes = self.bytes - bytes_before + write.byte_count();
        if keys > limits.keys {
            return StateWriteOutcome::TooManyKeys;
        }
        // A tenant over its limit, because the limit was lowered, may still store less.
        if bytes > limits.bytes && bytes > self.bytes {
            return StateWriteOutcome::TooManyBytes;
        }
        let last_version = self.last_version + 1;
        *self = Self {
            keys,
            bytes,
            last_version,
        };
        StateWriteOutcome::Written(last_version)
    }

    fn apply_delete(
        &mut self,
        if_version: Option<i64>,
        found: Option<VersionRow>,
    ) -> StateDeleteOutcome {
        let version = found.map_or(0, |(version, _)| version);
        if if_version.is_some_and(|wanted| wanted != version) {
            return StateDeleteOutcome::OtherVersion(version);
        }
        let Some((_, bytes)) = found else {
            return StateDeleteOutcome::Absent;
        };
        self.keys -= 1;
        self.bytes -= bytes;
        StateDeleteOutcome::Deleted
    }
}

impl StateWrite {
    fn byte_count(&self) -> i64 {
        (self.key.len() + self.value.len()) as i64
    }
}

async fn select_version(
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

/// The columns of a row without its value, in the order of [`EntryRow`].
const COLUMNS: &str = "key, version, bytes, updated_at, expires_at";

row_struct! {
    struct EntryRow {
        key: String,
        version: i64,
        bytes: i64,
        updated_at: i64,
        expires_at: Option<i64>,
    }
}

struct ValueRow {
    entry: EntryRow,
    value: String,
}

impl<'r, R: Row> FromRow<'r, R> for ValueRow
where
    EntryRow: FromRow<'r, R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    for<'c> &'c str: ColumnIndex<R>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self {
            entry: EntryRow::from_row(row)?,
            value: row.try_get("value")?,
        })
    }
}

impl From<EntryRow> for StateEntry {
    fn from(row: EntryRow) -> Self {
        Self {
            key: row.key,
            version: row.version,
            bytes: row.bytes,
            updated_at: Timestamp(row.updated_at),
            expires_at: row.expires_at.map(Timestamp),
        }
    }
}

/// Returns the first text after all texts with the prefix, in byte order. `None` if the prefix is
/// empty or consists only of the last character.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut kept = prefix.to_owned();
    while let Some(last) = kept.pop() {
        // No character is between these two.
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            kept.push(next);
            return Some(kept);
        }
    }
    None
}

#[cfg(test)]
mod tests;
