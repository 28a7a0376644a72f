//! Writes the table `audit`, for PostgreSQL. The table `audit_writers` has the last batch that each
//! writer has committed. A transaction id does not suffice: after a crash PostgreSQL may reuse it.
//!
//! - `insertion`: a whole batch in one statement

mod insertion;

use super::columns::{AuditColumns, to_micros, to_nano_usd, to_token_count};
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
        record_batch(&mut transaction, mark).await?;
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
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM audit_writers WHERE writer = $1 AND batch >= $2)",
    )
    .bind(&mark.writer)
    .bind(mark.number)
    .fetch_one(&mut *transaction)
    .await
    .map_err(store_error("check whether an audit batch was written"))
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

/// Records the batch as a part of its transaction. A new writer deletes writers that ended long
/// ago.
async fn record_batch(
    transaction: &mut PostgresTransaction,
    mark: &BatchMark,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO audit_writers (writer, batch) VALUES ($1, $2)
         ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, used_at = now()",
    )
    .bind(&mark.writer)
    .bind(mark.number)
    .execute(&mut **transaction)
    .await
    .map_err(store_error("record an audit batch"))?;
    if mark.number == 1 {
        sqlx::query("DELETE FROM audit_writers WHERE used_at < now() - interval '30 days'")
            .execute(&mut **transaction)
            .await
            .map_err(store_error("delete old audit writers"))?;
    }
    Ok(())
}
