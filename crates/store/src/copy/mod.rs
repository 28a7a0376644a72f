//! Copies a whole store into another one, whichever engines they stand on. A move to another
//! engine, a backup and its restoration are all such copies.
//!
//! Everything is read from one moment of the source, so that it may be in use meanwhile. The tables
//! are copied one after another in pages, in the order of their keys. A copy that was interrupted
//! goes on after the last row that arrived. At the end the rows of both sides are counted.
//!
//! The key that secrets are encrypted under is in no store, so that no copy has it.
//!
//! - `tables`: the tables, and their rows as plain values
//! - `backup`: a copy in one file
//! - `sqlite`, `postgres`: the statements

pub mod backup;
mod postgres;
mod sqlite;
mod tables;

use tables::{CopiedTable, TABLES};

use crate::engine::{Alone, ByEngine, Engine};
use crate::pepper::Pepper;
use crate::properties::Property;
use crate::{Error, Store, StoreAddress};

/// Rows that are written together.
const PAGE: usize = 1000;

/// The rows of a table that are copied so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    pub table: &'static str,
    pub rows: u64,
    pub of: u64,
}

/// The rows that the target has of each table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyReport {
    pub tables: Vec<(&'static str, u64)>,
    /// True if an earlier copy was interrupted and this one went on with it.
    pub resumed: bool,
}

/// Copies everything into a store that holds nothing yet, or a part of an interrupted copy of the
/// same source. The target recognises the keys of the source when this returns.
pub async fn copy(
    from: &Store,
    to: &Store,
    progress: impl FnMut(CopyProgress),
) -> Result<CopyReport, Error> {
    let pepper = from.key_cache.pepper();
    let report = copy_engine(&from.engine, (&to.engine, &to.address), &pepper, progress).await?;
    to.key_cache.replace_pepper(pepper);
    Ok(report)
}

async fn copy_engine(
    from: &Engine,
    (to, address): (&Engine, &StoreAddress),
    pepper: &Pepper,
    progress: impl FnMut(CopyProgress),
) -> Result<CopyReport, Error> {
    let alone = Alone::take_for(address, "copy").await?;
    let resumed = begin(from, to, address).await?;
    let mut copy = RunningCopy {
        from: Snapshot::take(from).await?,
        to,
        resumed,
        progress,
    };
    let mut tables = Vec::with_capacity(TABLES.len());
    for table in &TABLES {
        tables.push((table.name, copy.table(table).await?));
    }
    finish(to, pepper).await?;
    alone.release().await;
    Ok(CopyReport { tables, resumed })
}

/// Marks the target as a copy of this source. Returns true if it was that before.
async fn begin(from: &Engine, to: &Engine, address: &StoreAddress) -> Result<bool, Error> {
    let source = from.property(Property::Identity).await?;
    let source = source.unwrap_or_default();
    if to.property(Property::CopySource).await?.as_ref() == Some(&source) {
        return Ok(true);
    }
    if !is_empty(to).await? {
        return Err(Error::CopyTarget {
            place: address.to_string(),
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
        if count(engine, table).await? > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The target is a store of its own from here on.
async fn finish(to: &Engine, pepper: &Pepper) -> Result<(), Error> {
    const ACTION: &str = "finish a copy";
    if let Engine::Postgres(it) = to {
        postgres::go_on_counting(it).await?;
    }
    let mut transaction = to.begin(ACTION).await?;
    transaction
        .put_property(Property::Pepper, pepper.as_bytes())
        .await?;
    transaction.remove_property(Property::CopySource).await?;
    transaction.commit(ACTION).await
}

/// One moment of a store, for reading.
type Snapshot = ByEngine<sqlite::SqliteSnapshot, postgres::PostgresSnapshot>;

impl Snapshot {
    async fn take(engine: &Engine) -> Result<Self, Error> {
        Ok(match engine {
            Engine::Sqlite(it) => Self::Sqlite(sqlite::snapshot(it).await?),
            Engine::Postgres(it) => Self::Postgres(postgres::snapshot(it).await?),
        })
    }

    async fn count(&mut self, table: &CopiedTable) -> Result<u64, Error> {
        match self {
            Self::Sqlite(it) => sqlite::count(&mut **it, table).await,
            Self::Postgres(it) => postgres::count(&mut **it, table).await,
        }
    }

    async fn page(
        &mut self,
        table: &CopiedTable,
        after: Option<&[tables::CopiedValue]>,
    ) -> Result<Vec<tables::CopiedRow>, Error> {
        match self {
            Self::Sqlite(it) => sqlite::page(it, table, after, PAGE).await,
            Self::Postgres(it) => postgres::page(it, table, after, PAGE).await,
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
    /// Copies the table, and returns how many rows it has.
    async fn table(&mut self, table: &CopiedTable) -> Result<u64, Error> {
        let wanted = self.from.count(table).await?;
        if self.resumed {
            self.drop_stale(table).await?;
        }
        self.rows(table, wanted).await?;
        let mut copied = count(self.to, table).await?;
        if copied != wanted && self.resumed {
            // The source was changed between the two attempts, so that the first is of no use.
            clear(self.to, table).await?;
            self.rows(table, wanted).await?;
            copied = count(self.to, table).await?;
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

    /// Removes rows of the first attempt that may have been changed in the source since then.
    async fn drop_stale(&self, table: &CopiedTable) -> Result<(), Error> {
        match table.stale {
            Some(condition) => delete(self.to, table, condition).await,
            None => Ok(()),
        }
    }

    /// Copies the rows after the last one that the target has.
    async fn rows(&mut self, table: &CopiedTable, wanted: u64) -> Result<(), Error> {
        let mut rows = count(self.to, table).await?;
        let mut last = last_key(self.to, table).await?;
        loop {
            let page = self.from.page(table, last.as_deref()).await?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            last = Some(end[..table.key].to_vec());
            rows += page.len() as u64;
            insert(self.to, table, page).await?;
            (self.progress)(CopyProgress {
                table: table.name,
                rows,
                of: wanted,
            });
        }
    }
}

async fn count(engine: &Engine, table: &CopiedTable) -> Result<u64, Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::count(&it.reader, table).await,
        Engine::Postgres(it) => postgres::count(&it.pool, table).await,
    }
}

async fn last_key(
    engine: &Engine,
    table: &CopiedTable,
) -> Result<Option<Vec<tables::CopiedValue>>, Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::last_key(it, table).await,
        Engine::Postgres(it) => postgres::last_key(it, table).await,
    }
}

async fn insert(
    engine: &Engine,
    table: &CopiedTable,
    rows: Vec<tables::CopiedRow>,
) -> Result<(), Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::insert(it, table, rows).await,
        Engine::Postgres(it) => postgres::insert(it, table, &rows).await,
    }
}

async fn clear(engine: &Engine, table: &CopiedTable) -> Result<(), Error> {
    delete(engine, table, "TRUE").await
}

async fn delete(engine: &Engine, table: &CopiedTable, condition: &str) -> Result<(), Error> {
    match engine {
        Engine::Sqlite(it) => sqlite::delete(it, table, condition).await,
        Engine::Postgres(it) => postgres::delete(it, table, condition).await,
    }
}

#[cfg(test)]
mod tests;
