//! Inserts any number of rows into the audit by one statement, with one array for each column.

use super::RECORD;
use crate::audit::RowId;
use crate::audit::columns::{Columns, micros};
use crate::engine::postgres::{PostgresTransaction, storable};
use crate::{Error, failed};

/// Inserts the rows in their order, and returns their ids.
pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    rows: Vec<Columns<'_>>,
) -> Result<Vec<RowId>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<i64> = sqlx::query_scalar(
        "INSERT INTO audit (at, event, tenant, key_id, actor, client, server, kind, name, outcome,
             latency_us, purpose, request_id, run, address, trace_id, detail, tokens,
             price_nano_usd, arguments)
         SELECT at, event, tenant, key_id, actor, client, server, kind, name, outcome,
             latency_us, purpose, request_id, run, address, trace_id, detail, tokens,
             price_nano_usd, arguments
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
             $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::text[],
             $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::bigint[],
             $19::bigint[], $20::text[])
         WITH ORDINALITY AS new (at, event, tenant, key_id, actor, client, server, kind, name,
             outcome, latency_us, purpose, request_id, run, address, trace_id, detail, tokens,
             price_nano_usd, arguments, number)
         ORDER BY number RETURNING id",
    )
    .bind(column(&rows, |row| row.at.0))
    .bind(column(&rows, |row| row.event))
    .bind(column(&rows, |row| row.tenant))
    .bind(column(&rows, |row| row.key.map(storable)))
    .bind(column(&rows, |row| row.actor))
    .bind(column(&rows, |row| row.client))
    .bind(column(&rows, |row| row.server))
    .bind(column(&rows, |row| row.kind))
    .bind(column(&rows, |row| storable(row.name)))
    .bind(column(&rows, |row| row.outcome.as_str()))
    .bind(column(&rows, |row| micros(row.latency)))
    .bind(column(&rows, |row| row.purpose))
    .bind(column(&rows, Columns::request))
    .bind(column(&rows, Columns::run))
    .bind(column(&rows, Columns::address))
    .bind(column(&rows, Columns::trace))
    .bind(column(&rows, |row| row.detail))
    .bind(column(&rows, Columns::tokens))
    .bind(column(&rows, Columns::price))
    .bind(column(&rows, |row| row.arguments))
    .fetch_all(&mut **transaction)
    .await
    .map_err(failed(RECORD))?;
    Ok(ids.into_iter().map(RowId).collect())
}

fn column<'a, T>(rows: &[Columns<'a>], value: impl Fn(&Columns<'a>) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}
