//! The statements of the table `audit_writers`: the last batch that each writer has committed.
//!
//! A transaction id does not suffice: after a crash PostgreSQL may reuse it.

use crate::audit::BatchMark;
use crate::engine::postgres::PostgresTransaction;
use crate::{Error, store_error};

/// Records the batch as a part of its transaction. A new writer deletes writers that ended long
/// ago.
pub(super) async fn record_batch(
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
        delete_old_writers(transaction).await?;
    }
    Ok(())
}

async fn delete_old_writers(transaction: &mut PostgresTransaction) -> Result<(), Error> {
    sqlx::query("DELETE FROM audit_writers WHERE used_at < now() - interval '30 days'")
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(store_error("delete old audit writers"))
}

pub(super) async fn has_written(
    transaction: &mut PostgresTransaction,
    mark: &BatchMark,
) -> Result<bool, Error> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM audit_writers WHERE writer = $1 AND batch >= $2)",
    )
    .bind(&mark.writer)
    .bind(mark.number)
    .fetch_one(&mut **transaction)
    .await
    .map_err(store_error("check whether an audit batch was written"))
}
