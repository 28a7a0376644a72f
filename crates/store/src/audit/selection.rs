//! The statement that reads the rows of a query.

use kitbag_domain::{ServerName, Tenant};

use super::glob::to_regex;
use super::query::{AuditPage, AuditQuery};
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
        .push_filter(
            " AND server = ",
            query.server.as_ref().map(ServerName::as_str),
        )
        .push_filter(
            " AND key_id = ",
            query.key.as_ref().map(|key| key.0.as_str()),
        )
        .push_filter(" AND run = ", query.run.as_deref())
        .push_filter(" AND at >= ", query.since.map(|at| at.0))
        .push_filter(" AND at < ", query.until.map(|at| at.0));
    if let Some(glob) = &query.name {
        let operator = engine.pick("GLOB", "~");
        let pattern = engine.pick(glob.clone(), to_regex(glob));
        select = select.push(" AND (FALSE");
        for name in ["name", "server || '/' || name", "server || '__' || name"] {
            select = select.push_bind(format!(" OR {name} {operator} "), &pattern);
        }
        select = select.push(")");
    }
    if !query.outcomes.is_empty() {
        let outcomes = query.outcomes.iter().map(|outcome| outcome.as_str());
        select = select.push(" AND outcome IN ").push_list(outcomes);
    }
    if !query.kinds.is_empty() {
        let kinds = query.kinds.iter().map(|kind| kind.as_str());
        select = select.push(" AND event IN ").push_list(kinds);
    }
    let select = match query.page {
        AuditPage::Newest => select.push(NEWEST_FIRST),
        AuditPage::OlderThan { at, id } => select
            .push_bind(" AND (at, id) < (", at.0)
            .push_bind(", ", id)
            .push(")")
            .push(NEWEST_FIRST),
        AuditPage::WrittenAfter { id } => select.push_bind(" AND id > ", id).push(" ORDER BY id"),
    };
    select.push_bind(" LIMIT ", i64::from(query.limit))
}
