//! The statements of the table `audit`, for PostgreSQL.
//!
//! - `insertion`: a whole batch in one statement
//! - `writers`: the last batch of each writer
//! - `selection`: statements that read rows; `glob`: name patterns as regular expressions

mod glob;
mod insertion;
mod selection;
mod writers;

use kitbag_domain::Timestamp;

use super::columns::{AuditColumns, to_micros, to_nano_usd, to_token_count};
use super::query::AuditQuery;
use super::row::StoredAuditRow;
use super::tool_statistics::{AuditSpan, ToolCallRow};
use super::{AuditBatch, AuditRowId, AuditWriteError, BatchMark, CallEnding};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::engine::with_timeout;
use crate::{Error, store_error};

const RECORD: &str = "write the audit";

/// Writes the whole batch or nothing. Returns the rows of the calls that have begun, in order.
pub(super) async fn write_batch(
    postgres: &Postgres,
    batch: &AuditBatch<'_>,
    mark: Option<&BatchMark>,
) -> Result<Vec<AuditRowId>, AuditWriteError> {
    let filling = write_uncommitted(postgres, batch, mark);
    let (transaction, begun) = with_timeout(postgres.timeout(), filling).await?;
    let committing = transaction.commit(RECORD);
    match with_timeout(postgres.timeout(), committing).await {
        Ok(()) => Ok(begun),
        Err(error) => Err(AuditWriteError::Unacknowledged { begun, error }),
    }
}

/// Does everything but the commit.
async fn write_uncommitted(
    postgres: &Postgres,
    batch: &AuditBatch<'_>,
    mark: Option<&BatchMark>,
) -> Result<(PostgresTransaction, Vec<AuditRowId>), Error> {
    let mut transaction = begin_serialized(postgres).await?;
    let records = batch.records.iter().map(|record| AuditColumns::new(record));
    insertion::insert_rows(&mut transaction, records.collect()).await?;
    update_ended_calls(&mut transaction, &batch.ended).await?;
    let begun = batch.begun.iter().map(|call| AuditColumns::from_call(call));
    let begun = insertion::insert_rows(&mut transaction, begun.collect()).await?;
    if let Some(mark) = mark {
        writers::record_batch(&mut transaction, mark).await?;
    }
    Ok((transaction, begun))
}

/// Serializes the batches of all gateways. Otherwise a row could become visible after one with a
/// larger id, and a reader that continues from the last known row would miss it.
async fn begin_serialized(postgres: &Postgres) -> Result<PostgresTransaction, Error> {
    const ACTION: &str = "begin an audit batch";
    let mut transaction = postgres.begin(ACTION).await?;
    transaction.lock("audit", ACTION).await?;
    Ok(transaction)
}

/// Waits until a batch that may still be running has ended, and returns true if it was written.
pub(super) async fn is_written(postgres: &Postgres, mark: &BatchMark) -> Result<bool, Error> {
    let mut transaction = begin_serialized(postgres).await?;
    writers::has_written(&mut transaction, mark).await
}

async fn update_ended_calls(
    transaction: &mut PostgresTransaction,
    endings: &[&CallEnding],
) -> Result<(), Error> {
    if endings.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "UPDATE audit SET outcome = ending.outcome, latency_us = ending.latency_us,
             tokens = ending.tokens, price_nano_usd = ending.price
         FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
             AS ending (id, outcome, latency_us, tokens, price)
         WHERE audit.id = ending.id",
    )
    .bind(column(endings, |it| it.row.0))
    .bind(column(endings, |it| it.outcome.as_str()))
    .bind(column(endings, |it| to_micros(it.latency)))
    .bind(column(endings, |it| to_token_count(it.cost)))
    .bind(column(endings, |it| to_nano_usd(it.cost)))
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(store_error("record the end of a call"))
}

fn column<T>(endings: &[&CallEnding], value: impl Fn(&CallEnding) -> T) -> Vec<T> {
    endings.iter().map(|ending| value(ending)).collect()
}

pub(super) async fn select(
    postgres: &Postgres,
    query: &AuditQuery,
) -> Result<Vec<StoredAuditRow>, Error> {
    selection::select_by_query(query)
        .build_query_as()
        .fetch_all(&postgres.pool)
        .await
        .map_err(store_error("read the audit"))
}

pub(super) async fn select_by_id(
    postgres: &Postgres,
    ids: &[i64],
) -> Result<Vec<StoredAuditRow>, Error> {
    selection::select_by_id(ids)
        .build_query_as()
        .fetch_all(&postgres.pool)
        .await
        .map_err(store_error("read the audit"))
}

/// Deletes the oldest rows before a time, at most this many. Returns their number. Rows that
/// another gateway is deleting are left to it.
pub(super) async fn delete(
    postgres: &Postgres,
    before: Timestamp,
    at_most: u32,
) -> Result<u64, Error> {
    let removed = sqlx::query(
        "DELETE FROM audit WHERE id = ANY (ARRAY (
             SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2 FOR UPDATE SKIP LOCKED))",
    )
    .bind(before.0)
    .bind(i64::from(at_most))
    .execute(&postgres.pool)
    .await
    .map_err(store_error("delete old audit rows"))?;
    Ok(removed.rows_affected())
}

/// Returns the smallest id of the rows since a time, if there is any.
pub(super) async fn first_id(postgres: &Postgres, since: Timestamp) -> Result<Option<i64>, Error> {
    sqlx::query_scalar("SELECT min(id) FROM audit WHERE at >= $1")
        .bind(since.0)
        .fetch_one(&postgres.pool)
        .await
        .map_err(store_error("find the first audit row of a time span"))
}

/// Returns the id of the last row, if there is any.
pub(super) async fn newest_id(postgres: &Postgres) -> Result<Option<i64>, Error> {
    sqlx::query_scalar("SELECT max(id) FROM audit")
        .fetch_one(&postgres.pool)
        .await
        .map_err(store_error("find the last audit row"))
}

/// Returns the first tool calls in a span, in the order of writing, without measurements.
pub(super) async fn tool_calls(
    postgres: &Postgres,
    span: &AuditSpan,
    at_most: u32,
) -> Result<Vec<ToolCallRow>, Error> {
    sqlx::query_as(
        "SELECT id, server, name, outcome, latency_us, tokens, price_nano_usd FROM audit
         WHERE id > $1 AND id <= $2 AND at >= $3 AND at < $4 AND kind = 'tool' AND purpose = 'use'
         ORDER BY id LIMIT $5",
    )
    .bind(span.after)
    .bind(span.up_to)
    .bind(span.since.0)
    .bind(span.until.0)
    .bind(i64::from(at_most))
    .fetch_all(&postgres.pool)
    .await
    .map_err(store_error("read tool statistics"))
}
