//! The statements of a copy, for PostgreSQL. Names of tables and columns come from the constants of
//! `tables`.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, QueryBuilder};

use super::tables::{
    self, ColumnKind, CopiedColumn, CopiedRow, CopiedTable, CopiedValue, column_list,
    descending_order,
};
use crate::engine::postgres::{Postgres, replace_zero_bytes};
use crate::{Error, store_error};

const READ: &str = "read rows to copy";
const WRITE: &str = "write copied rows";

/// A transaction with a snapshot of the database.
#[derive(Debug)]
pub(super) struct PostgresSnapshot(sqlx::Transaction<'static, sqlx::Postgres>);

pub(super) async fn begin_snapshot(postgres: &Postgres) -> Result<PostgresSnapshot, Error> {
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut transaction = postgres
        .pool
        .begin_with(begin)
        .await
        .map_err(store_error(READ))?;
    // Counting a large table, or writing a page to a slow disk, takes longer than a request may.
    for limit in [
        "SET LOCAL statement_timeout = 0",
        "SET LOCAL idle_in_transaction_session_timeout = 0",
    ] {
        sqlx::query(limit)
            .execute(&mut *transaction)
            .await
            .map_err(store_error(READ))?;
    }
    Ok(PostgresSnapshot(transaction))
}

impl Deref for PostgresSnapshot {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.0
    }
}

impl DerefMut for PostgresSnapshot {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.0
    }
}

pub(super) async fn count_rows(
    database: impl sqlx::Executor<'_, Database = sqlx::Postgres>,
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
    snapshot: &mut PostgresSnapshot,
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
            match value.clone() {
                CopiedValue::Text(text) => values.push_bind(text),
                CopiedValue::Number(number) => values.push_bind(number),
                CopiedValue::Bytes(bytes) => values.push_bind(bytes),
            };
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
    postgres: &Postgres,
    table: &CopiedTable,
) -> Result<Option<Vec<CopiedValue>>, Error> {
    let key = table.key_columns();
    let (columns, order) = (column_list(key), descending_order(key));
    let select = format!(
        "SELECT {columns} FROM {} ORDER BY {order} LIMIT 1",
        table.name
    );
    let row = sqlx::query(AssertSqlSafe(select))
        .fetch_optional(&postgres.pool)
        .await
        .map_err(store_error(READ))?;
    row.map(|row| tables::read_row(&row, key)).transpose()
}

/// Inserts the page with one statement, with one array per column.
pub(super) async fn insert_rows(
    postgres: &Postgres,
    table: &CopiedTable,
    rows: &[CopiedRow],
) -> Result<(), Error> {
    let arrays: Vec<String> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| format!("${}::{}[]", at + 1, sql_type(column)))
        .collect();
    let insert = format!(
        "INSERT INTO {} ({}) SELECT * FROM unnest({})",
        table.name,
        column_list(table.columns),
        arrays.join(", ")
    );
    let mut insert = sqlx::query(AssertSqlSafe(insert));
    for (at, column) in table.columns.iter().enumerate() {
        insert = bind_column(insert, column.kind, rows.iter().map(|row| &row[at]));
    }
    let done = insert.execute(&postgres.pool).await;
    done.map(drop).map_err(store_error(WRITE))
}

fn sql_type(column: &CopiedColumn) -> &'static str {
    match column.kind {
        ColumnKind::Text => "text",
        ColumnKind::Number => "bigint",
        ColumnKind::Bytes => "bytea",
    }
}

type Insertion<'q> = Query<'q, sqlx::Postgres, PgArguments>;

fn bind_column<'q, 'v>(
    insert: Insertion<'q>,
    kind: ColumnKind,
    values: impl Iterator<Item = &'v CopiedValue>,
) -> Insertion<'q> {
    match kind {
        ColumnKind::Text => insert.bind(values.map(to_text).collect::<Vec<_>>()),
        ColumnKind::Number => insert.bind(values.map(to_number).collect::<Vec<_>>()),
        ColumnKind::Bytes => insert.bind(values.map(to_bytes).collect::<Vec<_>>()),
    }
}

fn to_text(value: &CopiedValue) -> Option<Cow<'_, str>> {
    match value {
        CopiedValue::Text(Some(text)) => Some(replace_zero_bytes(text)),
        _ => None,
    }
}

fn to_number(value: &CopiedValue) -> Option<i64> {
    match value {
        CopiedValue::Number(number) => *number,
        _ => None,
    }
}

fn to_bytes(value: &CopiedValue) -> Option<Vec<u8>> {
    match value {
        CopiedValue::Bytes(bytes) => bytes.clone(),
        _ => None,
    }
}

pub(super) async fn delete_rows(
    postgres: &Postgres,
    table: &CopiedTable,
    condition: &str,
) -> Result<(), Error> {
    let delete = format!("DELETE FROM {} WHERE {condition}", table.name);
    sqlx::query(AssertSqlSafe(delete))
        .execute(&postgres.pool)
        .await
        .map(drop)
        .map_err(store_error(WRITE))
}

/// Advances the sequences past the copied ids.
pub(super) async fn advance_sequences(postgres: &Postgres) -> Result<(), Error> {
    for table in ["audit", "lessons", "agent_feedback", "context_facts"] {
        let count = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', 'id'), newest)
             FROM (SELECT max(id) AS newest FROM {table}) AS rows WHERE newest IS NOT NULL"
        );
        let counted = sqlx::query(AssertSqlSafe(count)).execute(&postgres.pool);
        counted.await.map_err(store_error(WRITE))?;
    }
    Ok(())
}
