//! The statement that reads the rows of a query.

use kitbag_domain::{Outcome, ServerName, Tenant};

use super::glob::to_regex;
use super::query::{AuditPage, AuditQuery};
use super::row::AuditRowKind;
use crate::engine::Engine;
use crate::engine::query::Query;

pub(super) const SELECT: &str = "SELECT id, at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
     purpose, request_id, run, address, trace_id, detail, tokens, price_nano_usd, arguments FROM audit WHERE TRUE";

const NEWEST_FIRST: &str = " ORDER BY at DESC, id DESC";

/// Selects one page of a query's rows.
pub(super) fn select_by_query<'c>(engine: &'c Engine, query: &AuditQuery) -> Query<'c> {
    let mut select = engine
        .query(SELECT)
        .push_filter(" AND tenant = ", query.tenant.as_ref().map(Tenant::as_str))
        .push_filter(" AND client = ", query.client.as_deref())
        .push_filter(
            " AND server = ",
            query.server.as_ref().map(ServerName::as_str),
        )
        .push_filter(
            " AND key_id = ",
            query.key.as_ref().map(|key| key.0.as_str()),
        )
        .push_filter(" AND run = ", query.run.as_deref());
    select = push_span(select, query);
    if let Some(glob) = &query.name {
        select = push_name(select, engine, glob);
    }
    if !query.outcomes.is_empty() {
        let outcomes = query.outcomes.iter().map(|outcome| outcome.as_str());
        // The index of outcomes leaves out the most frequent one, and is used if the statement does.
        if !query.outcomes.contains(&Outcome::Ok) {
            select = select.push(" AND outcome <> 'ok'");
        }
        select = select.push(" AND outcome IN ").push_list(outcomes);
    }
    if !query.kinds.is_empty() {
        let kinds = query.kinds.iter().map(|kind| kind.as_str());
        // As for outcomes.
        if !query.kinds.contains(&AuditRowKind::Call) {
            select = select.push(" AND event <> 'call'");
        }
        select = select.push(" AND event IN ").push_list(kinds);
    }
    push_page(select, query.page).push_bind(" LIMIT ", i64::from(query.limit))
}

/// Selects the names that match a pattern, alone or with their server. A pattern without wildcards
/// is compared as it is, which is faster.
fn push_name<'c>(select: Query<'c>, engine: &Engine, glob: &str) -> Query<'c> {
    if !glob.contains(['*', '?', '[']) {
        let select = select.push_bind(" AND (name = ", glob);
        let select = splits(glob).fold(select, |select, (server, name)| {
            let select = select.push_bind(" OR (server = ", server);
            select.push_bind(" AND name = ", name).push(")")
        });
        return select.push(")");
    }
    let operator = engine.pick("GLOB", "~");
    let pattern = engine.pick(glob.to_owned(), to_regex(glob));
    let names = ["name", "server || '/' || name", "server || '__' || name"];
    let select = names
        .into_iter()
        .fold(select.push(" AND (FALSE"), |select, name| {
            select.push_bind(format!(" OR {name} {operator} "), &pattern)
        });
    select.push(")")
}

/// Returns each server and name that together are this text; no more than a few, since the name of
/// a server contains no separator.
fn splits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let starts = text.char_indices().take(ServerName::MAX + 1);
    let splits = starts.flat_map(move |(at, _)| {
        let (server, rest) = text.split_at(at);
        let names = ["/", "__"].map(|separator| rest.strip_prefix(separator));
        names.into_iter().flatten().map(move |name| (server, name))
    });
    splits.filter(|(server, _)| server.parse::<ServerName>().is_ok())
}

/// Selects the times of all rows in the span and the page of a query, of its server if it names one:
/// these are the columns of indexes.
pub(super) fn select_time<'c>(engine: &'c Engine, query: &AuditQuery) -> Query<'c> {
    let server = query.server.as_ref().map(ServerName::as_str);
    let select = engine.query("SELECT at FROM audit WHERE TRUE");
    let select = select.push_filter(" AND server = ", server);
    push_page(push_span(select, query), query.page)
}

fn push_span<'c>(select: Query<'c>, query: &AuditQuery) -> Query<'c> {
    select
        .push_filter(" AND at >= ", query.since.map(|at| at.0))
        .push_filter(" AND at < ", query.until.map(|at| at.0))
}

fn push_page(select: Query<'_>, page: AuditPage) -> Query<'_> {
    match page {
        AuditPage::Newest => select.push(NEWEST_FIRST),
        AuditPage::OlderThan { at, id } => select
            .push_bind(" AND (at, id) < (", at.0)
            .push_bind(", ", id)
            .push(")")
            .push(NEWEST_FIRST),
        AuditPage::WrittenAfter { id } => select.push_bind(" AND id > ", id).push(" ORDER BY id"),
    }
}
