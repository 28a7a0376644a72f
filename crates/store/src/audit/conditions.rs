//! The conditions of an audit query that are the same in both engines.

use kitbag_domain::{ServerName, Tenant};
use sqlx::{Database, Encode, QueryBuilder, Type};

use super::query::{AuditPage, AuditQuery};

pub(super) const SELECT: &str = "SELECT id, at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
     purpose, request_id, run, address, trace_id, detail, tokens, price_nano_usd, arguments FROM audit WHERE TRUE";

pub(super) fn push_owner<DB>(select: &mut QueryBuilder<DB>, query: &AuditQuery)
where
    DB: Database,
    String: for<'q> Encode<'q, DB> + Type<DB>,
{
    let tenant = query.tenant.as_ref().map(Tenant::as_str);
    let server = query.server.as_ref().map(ServerName::as_str);
    let key = query.key.as_ref().map(|it| it.0.as_str());
    let run = query.run.as_deref();
    for (column, value) in [
        ("tenant", tenant),
        ("server", server),
        ("key_id", key),
        ("run", run),
    ] {
        if let Some(value) = value {
            select
                .push(format!(" AND {column} = "))
                .push_bind(value.to_owned());
        }
    }
}

pub(super) fn push_time<DB>(select: &mut QueryBuilder<DB>, query: &AuditQuery)
where
    DB: Database,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
{
    if let Some(since) = query.since {
        select.push(" AND at >= ").push_bind(since.0);
    }
    if let Some(until) = query.until {
        select.push(" AND at < ").push_bind(until.0);
    }
}

pub(super) fn push_page<DB>(select: &mut QueryBuilder<DB>, page: AuditPage)
where
    DB: Database,
    i64: for<'q> Encode<'q, DB> + Type<DB>,
{
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
