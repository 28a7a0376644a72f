//! The statements that read rows of the table `audit`, for PostgreSQL.

use sqlx::{Postgres, QueryBuilder};

use super::glob::to_regex;
use crate::audit::conditions::{SELECT, push_owner, push_page, push_time};
use crate::audit::query::AuditQuery;

/// Selects these rows, in the order of their ids.
pub(super) fn select_by_id(ids: &[i64]) -> QueryBuilder<Postgres> {
    let mut select = QueryBuilder::new(SELECT);
    select.push(" AND id = ANY(").push_bind(ids.to_vec());
    select.push(") ORDER BY id");
    select
}

/// Selects one page of a query's rows.
pub(super) fn select_by_query(query: &AuditQuery) -> QueryBuilder<Postgres> {
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

fn push_name(select: &mut QueryBuilder<Postgres>, query: &AuditQuery) {
    let Some(glob) = &query.name else { return };
    let pattern = to_regex(glob);
    select.push(" AND (name ~ ").push_bind(pattern.clone());
    for separator in ["/", "__"] {
        select
            .push(format!(" OR server || '{separator}' || name ~ "))
            .push_bind(pattern.clone());
    }
    select.push(")");
}

/// Restricts the column to these values; an empty list restricts nothing.
fn push_any(select: &mut QueryBuilder<Postgres>, column: &str, values: Vec<&'static str>) {
    if values.is_empty() {
        return;
    }
    select
        .push(format!(" AND {column} = ANY("))
        .push_bind(values);
    select.push(")");
}
