//! The statements of a copy, for SQLite. Names of tables and columns come from the constants of
//! `tables`.

use std::ops::{Deref, DerefMut};

use sqlx::pool::PoolConnection;
use sqlx::query_builder::Separated;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, QueryBuilder};

use super::tables::{self, CopiedRow, CopiedTable, CopiedValue, column_list, descending_order};
use crate::engine::sqlite::Sqlite;
use crate::{Error, store_error};

const READ: &str = "read rows to copy";
const WRITE: &str = "write copied rows";

/// A connection with a snapshot of the database.
#[derive(Debug)]
pub(super) struct SqliteSnapshot(PoolConnection<sqlx::Sqlite>);

pub(super) async fn begin_snapshot(sqlite: &Sqlite) -> Result<SqliteSnapshot, Error> {
    let connection = sqlite.reader.acquire().await.map_err(store_error(READ))?;
    let mut snapshot = SqliteSnapshot(connection);
    sqlx::query("BEGIN")
        .execute(&mut *snapshot)
        .await
        .map_err(store_error(READ))?;
    Ok(snapshot)
}

impl Deref for SqliteSnapshot {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.0
    }
}

impl DerefMut for SqliteSnapshot {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.0
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        // The next reader must not see the old snapshot.
        self.0.close_on_drop();
    }
}

pub(super) async fn count_rows(
    database: impl sqlx::Executor<'_, Database = sqlx::Sqlite>,
    table: &CopiedTable,
) -> Result<u64, Error> {
    let select = format!("SELECT count(*) FROM {}", table.name);
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(select))
        .fetch_one(database)
        .await
        .map_err(store_error(READ))?;
    Ok(count.unsigned_abs())
}

/// Returns the next rows in key order.
pub(super) async fn read_page(
    snapshot: &mut SqliteSnapshot,
    table: &CopiedTable,
    after: Option<&[CopiedValue]>,
    rows: usize,
) -> Result<Vec<CopiedRow>, Error> {
    let key = column_list(table.key_columns());
    let columns = column_list(table.columns);
    let mut select = QueryBuilder::new(format!("SELECT {columns} FROM {}", table.name));
    if let Some(after) = after {
        select.push(format!(" WHERE ({key}) > ("));
        let mut values = select.separated(", ");
        for value in after {
            push_value(&mut values, value.clone());
        }
        select.push(")");
    }
    select.push(format!(" ORDER BY {key} LIMIT {rows}"));
    let rows = select.build().fetch_all(&mut **snapshot).await;
    let rows = rows.map_err(store_error(READ))?;
    rows.iter()
        .map(|row| tables::read_row(row, table.columns))
        .collect()
}

pub(super) async fn read_last_key(
    sqlite: &Sqlite,
    table: &CopiedTable,
) -> Result<Option<Vec<CopiedValue>>, Error> {
    let key = table.key_columns();
    let (columns, order) = (column_list(key), descending_order(key));
    let select = format!(
        "SELECT {columns} FROM {} ORDER BY {order} LIMIT 1",
        table.name
    );
    let row = sqlx::query(AssertSqlSafe(select))
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(store_error(READ))?;
    row.map(|row| tables::read_row(&row, key)).transpose()
}

pub(super) async fn insert_rows(
    sqlite: &Sqlite,
    table: &CopiedTable,
    rows: Vec<CopiedRow>,
) -> Result<(), Error> {
    let columns = column_list(table.columns);
    let mut insert = QueryBuilder::new(format!("INSERT INTO {} ({columns}) ", table.name));
    insert.push_values(rows, push_row);
    let done = insert.build().execute(&sqlite.writer).await;
    done.map(drop).map_err(store_error(WRITE))
}

fn push_row(mut values: Separated<'_, sqlx::Sqlite, &'static str>, row: CopiedRow) {
    for value in row {
        push_value(&mut values, value);
    }
}

fn push_value(values: &mut Separated<'_, sqlx::Sqlite, &'static str>, value: CopiedValue) {
    match value {
        CopiedValue::Text(text) => values.push_bind(text),
        CopiedValue::Number(number) => values.push_bind(number),
        CopiedValue::Bytes(bytes) => values.push_bind(bytes),
    };
}

pub(super) async fn delete_rows(
    sqlite: &Sqlite,
    table: &CopiedTable,
    condition: &str,
) -> Result<(), Error> {
    let delete = format!("DELETE FROM {} WHERE {condition}", table.name);
    sqlx::query(AssertSqlSafe(delete))
        .execute(&sqlite.writer)
        .await
        .map(drop)
        .map_err(store_error(WRITE))
}
