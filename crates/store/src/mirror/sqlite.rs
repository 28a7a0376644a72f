//! The statements of the table `mirror`, for SQLite.

use std::collections::HashMap;

use sqlx::QueryBuilder;

use super::MirrorRow;
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, store_error};

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

pub(super) async fn select(
    sqlite: &Sqlite,
    namespace: &str,
    name: &str,
) -> Result<Option<String>, Error> {
    sqlx::query_scalar("SELECT value FROM mirror WHERE namespace = ? AND name = ?")
        .bind(namespace)
        .bind(name)
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(store_error("read a mirrored entry"))
}

pub(super) async fn select_all(sqlite: &Sqlite, namespace: &str) -> Result<Vec<MirrorRow>, Error> {
    select_entries(namespace, &sqlite.reader).await
}

/// Returns how many rows were written or removed. There is one writer, so the rows do not change
/// between reading and writing them.
pub(super) async fn replace(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    wanted: &[(&str, &str)],
) -> Result<u64, Error> {
    let present = select_entries(namespace, &mut **transaction).await?;
    let present: HashMap<String, String> = present.into_iter().collect();
    let difference = MirrorDifference::compare(&present, wanted);
    insert_entries(transaction, namespace, &difference.changed).await?;
    delete_entries(transaction, namespace, &difference.gone).await?;
    Ok((difference.changed.len() + difference.gone.len()) as u64)
}

/// Returns the resulting number of rows.
pub(super) async fn change(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    changed: &[(&str, &str)],
    gone: &[&str],
) -> Result<u64, Error> {
    insert_entries(transaction, namespace, changed).await?;
    delete_entries(transaction, namespace, gone).await?;
    let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM mirror WHERE namespace = ?")
        .bind(namespace)
        .fetch_one(&mut **transaction)
        .await
        .map_err(store_error("count the entries of a mirror"))?;
    Ok(rows.unsigned_abs())
}

/// The rows to write and to remove.
struct MirrorDifference<'a> {
    changed: Vec<(&'a str, &'a str)>,
    gone: Vec<&'a str>,
}

impl<'a> MirrorDifference<'a> {
    fn compare(present: &'a HashMap<String, String>, wanted: &[(&'a str, &'a str)]) -> Self {
        let names: HashMap<&str, &str> = wanted.iter().copied().collect();
        let gone = present.keys().map(String::as_str);
        let gone = gone.filter(|name| !names.contains_key(name)).collect();
        let mut changed = wanted.to_vec();
        changed.retain(|(name, value)| present.get(*name).is_none_or(|former| former != value));
        Self { changed, gone }
    }
}

async fn insert_entries(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    entries: &[(&str, &str)],
) -> Result<(), Error> {
    for some in entries.chunks(ROWS_PER_STATEMENT) {
        insert_query(namespace, some)
            .build()
            .persistent(some.len() == ROWS_PER_STATEMENT)
            .execute(&mut **transaction)
            .await
            .map_err(store_error("write the mirror"))?;
    }
    Ok(())
}

async fn delete_entries(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    names: &[&str],
) -> Result<(), Error> {
    for some in names.chunks(ROWS_PER_STATEMENT) {
        delete_query(namespace, some)
            .build()
            .execute(&mut **transaction)
            .await
            .map_err(store_error("remove entries from a mirror"))?;
    }
    Ok(())
}

async fn select_entries(
    namespace: &str,
    database: impl sqlx::Executor<'_, Database = sqlx::Sqlite>,
) -> Result<Vec<MirrorRow>, Error> {
    sqlx::query_as("SELECT name, value FROM mirror WHERE namespace = ?")
        .bind(namespace)
        .fetch_all(database)
        .await
        .map_err(store_error("read a mirror"))
}

fn insert_query(namespace: &str, entries: &[(&str, &str)]) -> QueryBuilder<sqlx::Sqlite> {
    let mut insert = QueryBuilder::new("INSERT INTO mirror (namespace, name, value) ");
    insert.push_values(entries, |mut values, (name, value)| {
        values
            .push_bind(namespace.to_owned())
            .push_bind((*name).to_owned())
            .push_bind((*value).to_owned());
    });
    insert.push(" ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value");
    insert
}

fn delete_query(namespace: &str, names: &[&str]) -> QueryBuilder<sqlx::Sqlite> {
    let mut delete = QueryBuilder::new("DELETE FROM mirror WHERE namespace = ");
    delete
        .push_bind(namespace.to_owned())
        .push(" AND name IN (");
    let mut list = delete.separated(", ");
    for name in names {
        list.push_bind((*name).to_owned());
    }
    delete.push(")");
    delete
}
