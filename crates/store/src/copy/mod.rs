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
//! - `sqlite`, `postgres`: the statements

pub mod backup;
mod postgres;
mod sqlite;
mod tables;

use tables::{CopiedTable, TABLES};

use crate::engine::{ByEngine, Engine, PreparationGuard};
use crate::pepper::Pepper;
use crate::properties::Property;
use crate::{Error, Store, StoreAddress};

/// Rows that are written together.
const PAGE: usize = 1000;

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
/// source. The target recognises the keys of the source when this returns.
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
        from: Snapshot::begin(from).await?,
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
        if count_rows(engine, table).await? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The target is an independent store from here on.
async fn finish_copy(to: &Engine, pepper: &Pepper) -> Result<(), Error> {
    const ACTION: &str = "finish a copy";
    if let Engine::Postgres(it) = to {
        postgres::advance_sequences(it).await?;
    }
    let mut transaction = to.begin(ACTION).await?;
    transaction
        .put_property(Property::Pepper, pepper.as_bytes())
        .await?;
    transaction.remove_property(Property::CopySource).await?;
    transaction.commit(ACTION).await
}

/// A snapshot of a store, for reading.
type Snapshot = ByEngine<sqlite::SqliteSnapshot, postgres::PostgresSnapshot>;

impl Snapshot {
    async fn begin(engine: &Engine) -> Result<Self, Error> {
        Ok(match engine {
            Engine::Sqlite(it) => Self::Sqlite(sqlite::begin_snapshot(it).await?),
            Engine::Postgres(it) => Self::Postgres(postgres::begin_snapshot(it).await?),
        })
    }

    async fn count_rows(&mut self, table: &CopiedTable) -> Result<u64, Error> {
        match self {
            Self::Sqlite(it) => sqlite::count_rows(&mut **it, table).await,
            Self::Postgres(it) => postgres::count_rows(&mut **it, table).await,
        }
    }

    async fn read_page(
        &mut self,
        table: &CopiedTable,
        after: Option<&[tables::CopiedValue]>,
    ) -> Result<Vec<tables::CopiedRow>, Error> {
        match self {
            Self::Sqlite(it) => sqlite::read_page(it, table, after, PAGE).await,
            Self::Postgres(it) => postgres::read_page(it, table, after, PAGE).await,
        }
    }
}

struct RunningCopy<'a, P> {
    from: Snapshot,
    to: &'a Engine,
    resumed: bool,
    progress: P,
}

impl<P: FnMut(CopyProgress)> RunningCopy<'_, P> {
    /// Copies the table, and returns its number of rows.
    async fn copy_table(&mut self, table: &CopiedTable) -> Result<u64, Error> {
        let wanted = self.from.count_rows(table).await?;
        if self.resumed {
            self.delete_stale_rows(table).await?;
        }
        self.copy_rows(table, wanted).await?;
        let mut copied = count_rows(self.to, table).await?;
        if copied != wanted && self.resumed {
            // The source changed between the two attempts, so the first is useless.
            delete_all_rows(self.to, table).await?;
            self.copy_rows(table, wanted).await?;
            copied = count_rows(self.to, table).await?;
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

    /// Removes rows of the first attempt that may have changed in the source since then.
    async fn delete_stale_rows(&self, table: &CopiedTable) -> Result<(), Error> {
        match table.stale {
            Some(condition) => delete_rows(self.to, table, condition).await,
            None => Ok(()),
        }
    }

    /// Copies the rows after the last one in the target.
    async fn copy_rows(&mut self, table: &CopiedTable, wanted: u64) -> Result<(), Error> {
        let mut rows = count_rows(self.to, table).await?;
        let mut last = read_last_key(self.to, table).await?;
        loop {
            let page = self.from.read_page(table, last.as_deref()).await?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = Some(end[..table.key].to_vec());
            rows += page.len() as u64;
            insert_rows(self.to, table, page).await?;
            (self.progress)(CopyProgress {
                table: table.name,
                rows,
                of: wanted,
            });
        }
    }
}

async fn count_rows(engine: &Engine, table: &CopiedTable) -> Result<u64, Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::count_rows(&it.reader, table).await,
        Engine::Postgres(it) => postgres::count_rows(&it.pool, table).await,
    }
}

async fn read_last_key(
    engine: &Engine,
    table: &CopiedTable,
) -> Result<Option<Vec<tables::CopiedValue>>, Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::read_last_key(it, table).await,
        Engine::Postgres(it) => postgres::read_last_key(it, table).await,
    }
}

async fn insert_rows(
    engine: &Engine,
    table: &CopiedTable,
    rows: Vec<tables::CopiedRow>,
) -> Result<(), Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::insert_rows(it, table, rows).await,
        Engine::Postgres(it) => postgres::insert_rows(it, table, &rows).await,
    }
}

async fn delete_all_rows(engine: &Engine, table: &CopiedTable) -> Result<(), Error> {
    delete_rows(engine, table, "TRUE").await
}

async fn delete_rows(engine: &Engine, table: &CopiedTable, condition: &str) -> Result<(), Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::delete_rows(it, table, condition).await,
        Engine::Postgres(it) => postgres::delete_rows(it, table, condition).await,
    }
}

#[cfg(test)]
mod tests;
