//! The statements of the table `audit`, for SQLite.
//!
//! - `selection`: statements that read rows

mod selection;

use kitbag_domain::{Observation, Timestamp};
use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Row as _};

use super::columns::{AuditColumns, to_micros, to_nano_usd, to_token_count};
use super::query::AuditQuery;
use super::row::StoredAuditRow;
use super::tool_statistics::{AuditSpan, ToolCallRow};
use super::{AuditBatch, AuditRecord, AuditRowId, CallEnding};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, store_error};

/// Writes the whole batch or nothing. Returns the rows of the calls that have begun, in order.
pub(super) async fn write_batch(
    sqlite: &Sqlite,
    batch: &AuditBatch<'_>,
) -> Result<Vec<AuditRowId>, Error> {
    let mut transaction = sqlite.begin("begin an audit batch").await?;
    insert_records(&mut transaction, &batch.records).await?;
    for ending in &batch.ended {
        update_ended_call(&mut transaction, ending).await?;
    }
    let mut begun = Vec::with_capacity(batch.begun.len());
    for call in &batch.begun {
        begun.push(insert_begun(&mut transaction, call).await?);
    }
    transaction.commit("write the audit").await?;
    Ok(begun)
}

pub(super) async fn select(
    sqlite: &Sqlite,
    query: &AuditQuery,
) -> Result<Vec<StoredAuditRow>, Error> {
    selection::select_by_query(query)
        .build_query_as()
        .fetch_all(&sqlite.reader)
        .await
        .map_err(store_error("read the audit"))
}

pub(super) async fn select_by_id(
    sqlite: &Sqlite,
    ids: &[i64],
) -> Result<Vec<StoredAuditRow>, Error> {
    selection::select_by_id(ids)
        .build_query_as()
        // Its text has as many parameters as there are ids, so it is rarely reused.
        .persistent(false)
        .fetch_all(&sqlite.reader)
        .await
        .map_err(store_error("read the audit"))
}

/// As many rows as keep a statement small. The rest of a batch is written row by row, so there are
/// only two statements, which SQLite parses only once.
const ROWS_PER_STATEMENT: usize = 32;

async fn insert_records(
    transaction: &mut SqliteTransaction,
    records: &[&AuditRecord],
) -> Result<(), Error> {
    let full = records.chunks_exact(ROWS_PER_STATEMENT);
    let rest = full.remainder().chunks(1);
    for some in full.chain(rest) {
        let rows = some.iter().map(|record| AuditColumns::new(record));
        insert_query(rows)
            .build()
            .execute(&mut **transaction)
            .await
            .map_err(store_error("write the audit"))?;
    }
    Ok(())
}

/// Inserts the row of a call that has not ended yet.
async fn insert_begun(
    transaction: &mut SqliteTransaction,
    call: &Observation,
) -> Result<AuditRowId, Error> {
    const ACTION: &str = "write the audit";
    let mut insert = insert_query([AuditColumns::from_call(call)].into_iter());
    insert.push(" RETURNING id");
    let row = insert.build().fetch_one(&mut **transaction).await;
    let row = row.map_err(store_error(ACTION))?;
    row.try_get("id")
        .map(AuditRowId)
        .map_err(store_error(ACTION))
}

async fn update_ended_call(
    transaction: &mut SqliteTransaction,
    ending: &CallEnding,
) -> Result<(), Error> {
    sqlx::query(
        "UPDATE audit SET outcome = ?, latency_us = ?, tokens = ?, price_nano_usd = ? WHERE id = ?",
    )
    .bind(ending.outcome.as_str())
    .bind(to_micros(ending.latency))
    .bind(to_token_count(ending.cost))
    .bind(to_nano_usd(ending.cost))
    .bind(ending.row.0)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(store_error("record the end of a call"))
}

/// Deletes the oldest rows before a time, at most this many. Returns their number.
pub(super) async fn delete(sqlite: &Sqlite, before: Timestamp, at_most: u32) -> Result<u64, Error> {
    let removed = sqlx::query(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)",
    )
    .bind(before.0)
    .bind(at_most)
    .execute(&sqlite.writer)
    .await
    .map_err(store_error("delete old audit rows"))?;
    Ok(removed.rows_affected())
}

/// Returns the smallest id of the rows since a time, if there is any.
pub(super) async fn first_id(sqlite: &Sqlite, since: Timestamp) -> Result<Option<i64>, Error> {
    sqlx::query_scalar("SELECT min(id) FROM audit WHERE at >= ?")
        .bind(since.0)
        .fetch_one(&sqlite.reader)
        .await
        .map_err(store_error("find the first audit row of a time span"))
}

/// Returns the id of the last row, if there is any.
pub(super) async fn newest_id(sqlite: &Sqlite) -> Result<Option<i64>, Error> {
    sqlx::query_scalar("SELECT max(id) FROM audit")
        .fetch_one(&sqlite.reader)
        .await
        .map_err(store_error("find the last audit row"))
}

/// Returns the first tool calls in a span, in the order of writing, without measurements.
pub(super) async fn tool_calls(
    sqlite: &Sqlite,
    span: &AuditSpan,
    at_most: u32,
) -> Result<Vec<ToolCallRow>, Error> {
    sqlx::query_as(
        "SELECT id, server, name, outcome, latency_us, tokens, price_nano_usd FROM audit
         WHERE id > ? AND id <= ? AND at >= ? AND at < ? AND kind = 'tool' AND purpose = 'use'
         ORDER BY id LIMIT ?",
    )
    .bind(span.after)
    .bind(span.up_to)
    .bind(span.since.0)
    .bind(span.until.0)
    .bind(at_most)
    .fetch_all(&sqlite.reader)
    .await
    .map_err(store_error("read tool statistics"))
}

fn insert_query<'a>(rows: impl Iterator<Item = AuditColumns<'a>>) -> QueryBuilder<sqlx::Sqlite> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO audit (at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
         purpose, request_id, run, address, trace_id, detail, tokens, price_nano_usd, arguments) ",
    );
    insert.push_values(rows, push_columns);
    insert
}

/// Binds the columns in the order of the insert statement.
fn push_columns(mut values: Separated<'_, sqlx::Sqlite, &'static str>, row: AuditColumns<'_>) {
    values
        .push_bind(row.at.0)
        .push_bind(row.event)
        .push_bind(row.tenant.to_owned())
        .push_bind(row.key.map(ToOwned::to_owned))
        .push_bind(row.actor.map(ToOwned::to_owned))
        .push_bind(row.client.map(ToOwned::to_owned))
        .push_bind(row.server.to_owned())
        .push_bind(row.kind)
        .push_bind(row.name.to_owned())
        .push_bind(row.outcome.as_str())
        .push_bind(to_micros(row.latency))
        .push_bind(row.purpose)
        .push_bind(row.request_id().map(ToOwned::to_owned))
        .push_bind(row.run().map(ToOwned::to_owned))
        .push_bind(row.address())
        .push_bind(row.trace_id())
        .push_bind(row.detail.map(ToOwned::to_owned))
        .push_bind(row.token_count())
        .push_bind(row.price())
        .push_bind(row.arguments.map(ToOwned::to_owned));
}
