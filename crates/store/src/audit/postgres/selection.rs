//! The statements that read rows of the table `audit`, for PostgreSQL.

use sqlx::{Postgres, QueryBuilder};

use super::glob::expression;
use crate::audit::query::{AuditPage, AuditQuery};

const SELECT: &str = "SELECT id, at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
     purpose, request_id, address, trace_id, detail FROM audit WHERE TRUE";

/// Selects these rows, in the order of their ids.
pub(super) fn by_id(ids: &[i64]) -> QueryBuilder<Postgres> {
    let mut select = QueryBuilder::new(SELECT);
    select.push(" AND id = ANY(").push_bind(ids.to_vec());
    select.push(") ORDER BY id");
    select
}

/// Selects one page of the rows that a query asks for.
pub(super) fn by_query(query: &AuditQuery) -> QueryBuilder<Postgres> {
    let mut select = QueryBuilder::new(SELECT);
    push_owner(&mut select, query);
    push_name(&mut select, query);
    let outcomes = query.outcomes.iter().map(|outcome| outcome.as_str());
    push_any(&mut select, "outcome", outcomes.collect());
    let kinds = query.kinds.iter().map(|kind| kind.as_str());
    push_any(&mut select, "event", kinds.collect());
    push_time(&mut select, query);
    push_page(&mut select, query.page);
    select.push(" LIMIT ").push_bind(i64::from(query.limit));
    select
}

fn push_owner(select: &mut QueryBuilder<Postgres>, query: &AuditQuery) {
    if let Some(tenant) = &query.tenant {
        push_equal(select, "tenant", tenant.as_str());
    }
    if let Some(server) = &query.server {
        push_equal(select, "server", server.as_str());
    }
    if let Some(key) = &query.key {
        push_equal(select, "key_id", &key.0);
    }
}

fn push_equal(select: &mut QueryBuilder<Postgres>, column: &str, value: &str) {
    select
        .push(format!(" AND {column} = "))
        .push_bind(value.to_owned());
}

fn push_name(select: &mut QueryBuilder<Postgres>, query: &AuditQuery) {
    let Some(glob) = &query.name else { return };
    let pattern = expression(glob);
    select.push(" AND (name ~ ").push_bind(pattern.clone());
    for separator in ["/", "__"] {
        select
            .push(format!(" OR server || '{separator}' || name ~ "))
            .push_bind(pattern.clone());
    }
    select.push(")");
}

/// Narrows to rows with one of the values in that column; an empty list narrows nothing.
fn push_any(select: &mut QueryBuilder<Postgres>, column: &str, values: Vec<&'static str>) {
    if values.is_empty() {
        return;
    }
    select
        .push(format!(" AND {column} = ANY("))
        .push_bind(values);
    select.push(")");
}

fn push_time(select: &mut QueryBuilder<Postgres>, query: &AuditQuery) {
    if let Some(since) = query.since {
        select.push(" AND at >= ").push_bind(since.0);
    }
    if let Some(until) = query.until {
        select.push(" AND at < ").push_bind(until.0);
    }
}

fn push_page(select: &mut QueryBuilder<Postgres>, page: AuditPage) {
    const NEWEST_FIRST: &str = " ORDER BY at DESC, id DESC";
    match page {
        AuditPage::Newest => select.push(NEWEST_FIRST),
        AuditPage::OlderThan { at, id } => {
            select.push(" AND (at, id) < (").push_bind(at.0);
            select.push(", ").push_bind(id).push(")");
            select.push(NEWEST_FIRST)
        }
        AuditPage::WrittenAfter { id } => {
            select.push(" AND id > ").push_bind(id).push(" ORDER BY id")
        }
    };
}
