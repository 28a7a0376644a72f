//! Copies a whole store into another one, whichever their engines. A migration to another engine, a
//! backup and its restoration are all such copies.
//!
//! Everything is read from one snapshot of the source, so it may stay in use. The tables are copied
//! one after another in pages, in key order. An interrupted copy continues after the last copied
//! row. At the end the rows of both sides are counted.
//!
//! The key of the secrets is in no store, so no copy contains it.
//!
//! - `tables`: the tables, and their rows as plain values
//! - `backup`: a copy in one file

pub mod backup;
pub(crate) mod tables;

use tables::{CopiedTable, CopiedValue, TABLES, column_list};

use crate::engine::query::Query;
use crate::engine::{Engine, PreparationGuard, Transaction};
use crate::pepper::Pepper;
use crate::properties::Property;
use crate::{Error, Store, StoreAddress};

/// Rows that are written together.
const PAGE: usize = 1000;

const READ: &str = "read rows to copy";
const WRITE: &str = "write copied rows";

/// The rows of a table copied so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    pub table: &'static str,
    pub rows: u64,
    pub of: u64,
}

/// The rows of each table in the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    pub tables: Vec<(&'static str, u64)>,
    /// True if an earlier copy was interrupted and this one continued it.
    pub resumed: bool,
}

/// Copies everything into an empty store, or one with a part of an interrupted copy of the same
/// source. The target recognizes the keys of the source when this returns.
pub async fn copy_store(
    from: &Store,
    to: &Store,
    progress: impl FnMut(CopyProgress),
) -> Result<CopyReport, Error> {
    let pepper = from.key_cache.pepper();
    let report =
        copy_engine_data(&from.engine, (&to.engine, &to.address), &pepper, progress).await?;
    to.key_cache.replace_pepper(pepper);
    Ok(report)
}

async fn copy_engine_data(
    from: &Engine,
    (to, address): (&Engine, &StoreAddress),
    pepper: &Pepper,
    progress: impl FnMut(CopyProgress),
) -> Result<CopyReport, Error> {
    let guard = PreparationGuard::acquire_for_purpose(address, "copy").await?;
    let resumed = begin_copy(from, to, address).await?;
    let mut copy = RunningCopy {
        from: from.begin_snapshot(READ).await?,
        to,
        resumed,
        progress,
    };
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        tables.push((table.name, copy.copy_table(table).await?));
    }
    finish_copy(to, pepper).await?;
    guard.release().await;
    Ok(CopyReport { tables, resumed })
}

/// Marks the target as a copy of this source. Returns true if it already was.
async fn begin_copy(from: &Engine, to: &Engine, address: &StoreAddress) -> Result<bool, Error> {
    let source = from.read_property(Property::Identity).await?;
    let source = source.unwrap_or_default();
    if to.read_property(Property::CopySource).await?.as_ref() == Some(&source) {
        return Ok(true);
    }
    if !is_empty(to).await? {
        return Err(Error::CopyTarget {
            location: address.to_string(),
        });
    }
    const ACTION: &str = "begin a copy";
    let mut transaction = to.begin(ACTION).await?;
    transaction
        .put_property(Property::CopySource, &source)
        .await?;
    transaction.commit(ACTION).await?;
    Ok(false)
}

async fn is_empty(engine: &Engine) -> Result<bool, Error> {
    for table in &TABLES {
        if count_rows(engine.query(table.select("count(*)"))).await? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The target is an independent store from here on.
async fn finish_copy(to: &Engine, pepper: &Pepper) -> Result<(), Error> {
    const ACTION: &str = "finish a copy";
    if let Engine::Postgres(_) = to {
        advance_sequences(to).await?;
    }
    let mut transaction = to.begin(ACTION).await?;
    transaction
        .put_property(Property::Pepper, pepper.as_bytes())
        .await?;
    transaction.remove_property(Property::CopySource).await?;
    transaction.commit(ACTION).await
}

/// Advances PostgreSQL's sequences past the copied ids.
async fn advance_sequences(engine: &Engine) -> Result<(), Error> {
    for table in ["audit", "lessons", "agent_feedback", "context_facts"] {
        let advance = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'), newest)
             FROM (SELECT max(id) AS newest FROM {table}) AS rows WHERE newest IS NOT NULL"
        );
        engine.query(advance).execute(WRITE).await?;
    }
    Ok(())
}

struct RunningCopy<'a, P> {
    /// A snapshot.
    from: Transaction,
    to: &'a Engine,
    resumed: bool,
    progress: P,
}

impl<P: FnMut(CopyProgress)> RunningCopy<'_, P> {
    /// Copies the table, and returns its number of rows.
    async fn copy_table(&mut self, table: &CopiedTable) -> Result<u64, Error> {
        let count = table.select("count(*)");
        let wanted = count_rows(self.from.query(count.clone())).await?;
        // Rows of the first attempt may have changed in the source since then.
        if self.resumed
            && let Some(stale) = table.stale
        {
            delete_rows(self.to, table, stale).await?;
        }
        self.copy_rows(table, wanted).await?;
        let mut copied = count_rows(self.to.query(count.clone())).await?;
        if copied != wanted && self.resumed {
            // The source changed between the two attempts, so the first is useless.
            delete_rows(self.to, table, "TRUE").await?;
            self.copy_rows(table, wanted).await?;
            copied = count_rows(self.to.query(count)).await?;
        }
        if copied == wanted {
            Ok(copied)
        } else {
            Err(Error::CopyDiffers {
                table: table.name,
                wanted,
                copied,
            })
        }
    }

    /// Copies the rows after the last one in the target.
    async fn copy_rows(&mut self, table: &CopiedTable, wanted: u64) -> Result<(), Error> {
        let (key, columns) = (column_list(table.key_columns()), column_list(table.columns));
        let mut rows = count_rows(self.to.query(table.select("count(*)"))).await?;
        let newest_first = key.replace(',', " DESC,");
        let select_last = format!(
            "{} ORDER BY {newest_first} DESC LIMIT 1",
            table.select(&key)
        );
        let last = self.to.query(select_last);
        let mut last = last
            .fetch_copied_rows(table.key_columns(), READ)
            .await?
            .pop();
        loop {
            let mut select = self.from.query(table.select(&columns));
            if let Some(last) = last {
                select = select.push(format!(" WHERE ({key}) > "));
                select = select.push_tuples(&[last], |query, key| bind_values(query, key));
            }
            let select = select.push(format!(" ORDER BY {key} LIMIT {PAGE}"));
            let page = select.fetch_copied_rows(table.columns, READ).await?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            self.to
                .query(format!("INSERT INTO {} ({columns}) VALUES ", table.name))
                .push_tuples(&page, |query, row| bind_values(query, row))
                .execute(WRITE)
                .await?;
            last = Some(end[..table.key].to_vec());
            rows += page.len() as u64;
            (self.progress)(CopyProgress {
                table: table.name,
                rows,
                of: wanted,
            });
        }
    }
}

fn bind_values<'c>(query: Query<'c>, values: &[CopiedValue]) -> Query<'c> {
    values.iter().fold(query, |query, value| match value {
        CopiedValue::Text(text) => query.bind_untrusted_text(text.as_deref()),
        CopiedValue::Number(number) => query.bind(*number),
        CopiedValue::Bytes(bytes) => query.bind(bytes.as_deref()),
    })
}

async fn count_rows(query: Query<'_>) -> Result<u64, Error> {
    query.fetch_scalar(READ).await.map(i64::unsigned_abs)
}

async fn delete_rows(engine: &Engine, table: &CopiedTable, condition: &str) -> Result<(), Error> {
    let delete = format!("DELETE FROM {} WHERE {condition}", table.name);
    engine.query(delete).execute(WRITE).await.map(drop)
}

#[cfg(test)]
mod tests;
