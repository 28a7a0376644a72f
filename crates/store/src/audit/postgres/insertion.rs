//! Inserts any number of rows into the audit with one statement, with one array per column.

use super::RECORD;
use crate::audit::AuditRowId;
use crate::audit::columns::{AuditColumns, to_micros};
use crate::engine::postgres::{PostgresTransaction, replace_zero_bytes};
use crate::{Error, store_error};

/// Inserts the rows in their order, and returns their ids.
pub(super) async fn insert_rows(
    transaction: &mut PostgresTransaction,
    rows: Vec<AuditColumns<'_>>,
) -> Result<Vec<AuditRowId>, Error> {
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
    .bind(collect_column(&rows, |row| row.at.0))
    .bind(collect_column(&rows, |row| row.event))
    .bind(collect_column(&rows, |row| row.tenant))
    .bind(collect_column(&rows, |row| row.key.map(replace_zero_bytes)))
    .bind(collect_column(&rows, |row| row.actor))
    .bind(collect_column(&rows, |row| row.client))
    .bind(collect_column(&rows, |row| row.server))
    .bind(collect_column(&rows, |row| row.kind))
    .bind(collect_column(&rows, |row| replace_zero_bytes(row.name)))
    .bind(collect_column(&rows, |row| row.outcome.as_str()))
    .bind(collect_column(&rows, |row| to_micros(row.latency)))
    .bind(collect_column(&rows, |row| row.purpose))
    .bind(collect_column(&rows, AuditColumns::request_id))
    .bind(collect_column(&rows, AuditColumns::run))
    .bind(collect_column(&rows, AuditColumns::address))
    .bind(collect_column(&rows, AuditColumns::trace_id))
    .bind(collect_column(&rows, |row| row.detail))
    .bind(collect_column(&rows, AuditColumns::token_count))
    .bind(collect_column(&rows, AuditColumns::price))
    .bind(collect_column(&rows, |row| row.arguments))
    .fetch_all(&mut **transaction)
    .await
    .map_err(store_error(RECORD))?;
    Ok(ids.into_iter().map(AuditRowId).collect())
}

fn collect_column<'a, T>(
    rows: &[AuditColumns<'a>],
    value: impl Fn(&AuditColumns<'a>) -> T,
) -> Vec<T> {
    rows.iter().map(value).collect()
}
