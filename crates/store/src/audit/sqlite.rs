//! Writes the table `audit`, for SQLite.

use kitbag_domain::Observation;
use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Row as _};

use super::columns::{AuditColumns, to_micros, to_nano_usd, to_token_count};
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
