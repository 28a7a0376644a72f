//! The statements that write, count and remove rows of the table `audit`.

use std::net::IpAddr;
use std::time::Duration;

use kitbag_domain::{
    Action, Caller, Event, Kind, Observation, Origin, Outcome, Purpose, ShortText, Timestamp,
    TraceParent,
};
use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqlitePool};

use super::{AuditRecord, CallEnding, RowId};
use crate::sqlite::Transaction;
use crate::{Error, failed};

/// The value of the column `event` in the row of a call.
pub(super) const CALL: &str = "call";

/// As many rows as still leave a statement small. The rest of a batch is written row by row, so
/// that there are two statements in all, which SQLite parses only once.
const ROWS_PER_STATEMENT: usize = 32;

pub(super) async fn insert(
    transaction: &mut Transaction,
    records: &[&AuditRecord],
) -> Result<(), Error> {
    let full = records.chunks_exact(ROWS_PER_STATEMENT);
    let rest = full.remainder().chunks(1);
    for some in full.chain(rest) {
        let rows = some.iter().map(|record| Columns::of(record));
        insertion(rows)
            .build()
            .execute(&mut **transaction)
            .await
            .map_err(failed("record what happened"))?;
    }
    Ok(())
}

/// Inserts the row of a call that has not ended yet.
pub(super) async fn insert_begun(
    transaction: &mut Transaction,
    call: &Observation,
) -> Result<RowId, Error> {
    const ACTION: &str = "record what happened";
    let mut insert = insertion([Columns::of_call(call)].into_iter());
    insert.push(" RETURNING id");
    let row = insert.build().fetch_one(&mut **transaction).await;
    let row = row.map_err(failed(ACTION))?;
    row.try_get("id").map(RowId).map_err(failed(ACTION))
}

pub(super) async fn finish(
    transaction: &mut Transaction,
    ending: &CallEnding,
) -> Result<(), Error> {
    sqlx::query("UPDATE audit SET outcome = ?, latency_us = ? WHERE id = ?")
        .bind(ending.outcome.as_str())
        .bind(micros(ending.latency))
        .bind(ending.row.0)
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("record how a call ended"))
}

/// Deletes the oldest rows from before a moment, at most that many. Returns how many those were.
pub(super) async fn delete(
    pool: &SqlitePool,
    before: Timestamp,
    at_most: u32,
) -> Result<u64, Error> {
    let removed = sqlx::query(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)",
    )
    .bind(before.0)
    .bind(at_most)
    .execute(pool)
    .await
    .map_err(failed("forget what happened long ago"))?;
    Ok(removed.rows_affected())
}

/// Returns the id of the last row that was written, if there is any row.
pub(super) async fn newest_id(pool: &SqlitePool) -> Result<Option<i64>, Error> {
    sqlx::query_scalar("SELECT max(id) FROM audit")
        .fetch_one(pool)
        .await
        .map_err(failed("find the last row of the audit"))
}

/// The server, the tool, the outcome and the latency in microseconds of a call.
pub(super) type ToolCallRow = (String, String, String, i64);

/// Returns the calls of tools since a moment, the newest first, without measurements.
pub(super) async fn tool_calls(
    pool: &SqlitePool,
    since: Timestamp,
    at_most: u32,
) -> Result<Vec<ToolCallRow>, Error> {
    sqlx::query_as(
        "SELECT server, name, outcome, latency_us FROM audit
         WHERE at >= ? AND kind = 'tool' AND purpose = 'use'
         ORDER BY at DESC LIMIT ?",
    )
    .bind(since.0)
    .bind(at_most)
    .fetch_all(pool)
    .await
    .map_err(failed("count how tools have done"))
}

/// Returns the server and the name of the tools that a caller called with success, the most used
/// first.
pub(super) async fn most_used(
    pool: &SqlitePool,
    caller: &Caller,
    since: Timestamp,
    at_most: usize,
) -> Result<Vec<(String, String)>, Error> {
    sqlx::query_as(
        "SELECT server, name FROM audit
         WHERE tenant = ? AND key_id IS ? AND at >= ? AND kind = ? AND outcome = ? AND purpose = ?
         GROUP BY server, name ORDER BY count(*) DESC, server, name LIMIT ?",
    )
    .bind(caller.tenant.as_str())
    .bind(caller.key.as_ref().map(|key| key.0.as_str()))
    .bind(since.0)
    .bind(Kind::Tool.as_str())
    .bind(Outcome::Ok.as_str())
    .bind(Purpose::Use.as_str())
    .bind(i64::try_from(at_most).unwrap_or(i64::MAX))
    .fetch_all(pool)
    .await
    .map_err(failed("read what was used most"))
}

/// A record, column by column.
#[derive(Clone, Copy)]
struct Columns<'a> {
    at: Timestamp,
    event: &'static str,
    tenant: &'a str,
    key: Option<&'a str>,
    actor: Option<&'a ShortText>,
    client: Option<&'a ShortText>,
    server: &'a str,
    kind: &'static str,
    name: &'a str,
    outcome: Outcome,
    latency: Duration,
    purpose: &'static str,
    origin: &'a Origin,
    detail: Option<&'a ShortText>,
}

impl<'a> Columns<'a> {
    fn of(record: &'a AuditRecord) -> Self {
        match record {
            AuditRecord::Call(observation) => Self::of_call(observation),
            AuditRecord::Event(event) => Self::of_event(event),
        }
    }

    fn of_call(seen: &'a Observation) -> Self {
        Self {
            at: seen.at,
            event: CALL,
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: seen.client.as_ref(),
            server: seen.capability.server.as_str(),
            kind: seen.capability.kind.as_str(),
            name: &seen.capability.name,
            outcome: seen.outcome,
            latency: seen.latency,
            purpose: seen.purpose.as_str(),
            origin: &seen.origin,
            detail: None,
        }
    }

    fn of_event(event: &'a Event) -> Self {
        Self {
            at: event.at,
            event: event.action.as_str(),
            tenant: event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            key: event.key.as_ref().map(|key| key.0.as_str()),
            actor: event.actor.as_ref(),
            client: event.client.as_ref(),
            server: "",
            kind: "",
            name: event.subject.as_str(),
            outcome: outcome_of(event.action),
            latency: Duration::ZERO,
            purpose: Purpose::Use.as_str(),
            origin: &event.origin,
            detail: event.detail.as_ref(),
        }
    }
}

fn outcome_of(action: Action) -> Outcome {
    match action {
        Action::KeyRefused => Outcome::Denied,
        _ => Outcome::Ok,
    }
}

fn insertion<'a>(rows: impl Iterator<Item = Columns<'a>>) -> QueryBuilder<Sqlite> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO audit (at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
         purpose, request_id, address, trace_id, detail) ",
    );
    insert.push_values(rows, push_columns);
    insert
}

/// Binds the columns in the order in which [`insertion`] names them.
fn push_columns(mut values: Separated<'_, Sqlite, &'static str>, row: Columns<'_>) {
    values
        .push_bind(row.at.0)
        .push_bind(row.event)
        .push_bind(row.tenant.to_owned())
        .push_bind(row.key.map(ToOwned::to_owned))
        .push_bind(text(row.actor))
        .push_bind(text(row.client))
        .push_bind(row.server.to_owned())
        .push_bind(row.kind)
        .push_bind(row.name.to_owned())
        .push_bind(row.outcome.as_str())
        .push_bind(micros(row.latency))
        .push_bind(row.purpose)
        .push_bind(text(row.origin.request.as_ref()))
        .push_bind(row.origin.address.as_ref().map(IpAddr::to_string))
        .push_bind(row.origin.trace.as_ref().map(TraceParent::trace_id))
        .push_bind(text(row.detail));
}

fn text(text: Option<&ShortText>) -> Option<String> {
    text.map(|text| text.as_str().to_owned())
}

fn micros(latency: Duration) -> i64 {
    i64::try_from(latency.as_micros()).unwrap_or(i64::MAX)
}
