//! The statements that read rows of the table `audit`, for SQLite.

use sqlx::{QueryBuilder, Sqlite};

use crate::audit::conditions::{SELECT, push_owner, push_page, push_time};
use crate::audit::query::AuditQuery;

/// Selects these rows, in the order of their ids.
pub(super) fn select_by_id(ids: &[i64]) -> QueryBuilder<Sqlite> {
    let mut select = QueryBuilder::new(SELECT);
    push_list(&mut select, "id", ids.iter().copied());
    select.push(" ORDER BY id");
    select
}

/// Selects one page of a query's rows.
pub(super) fn select_by_query(query: &AuditQuery) -> QueryBuilder<Sqlite> {
    let mut select = QueryBuilder::new(SELECT);
    push_owner(&mut select, query);
    push_name(&mut select, query);
    push_list(
        &mut select,
        "outcome",
        query.outcomes.iter().map(|outcome| outcome.as_str()),
    );
    push_list(
        &mut select,
        "event",
        query.kinds.iter().map(|kind| kind.as_str()),
    );
    push_time(&mut select, query);
    push_page(&mut select, query.page);
    select.push(" LIMIT ").push_bind(query.limit);
    select
}

fn push_name(select: &mut QueryBuilder<Sqlite>, query: &AuditQuery) {
    let Some(glob) = &query.name else { return };
    select.push(" AND (name GLOB ").push_bind(glob.clone());
    for separator in ["/", "__"] {
        select
            .push(format!(" OR server || '{separator}' || name GLOB "))
            .push_bind(glob.clone());
    }
    select.push(")");
}

/// Restricts the column to these values; an empty list restricts nothing.
fn push_list<T>(
    select: &mut QueryBuilder<Sqlite>,
    column: &str,
    values: impl ExactSizeIterator<Item = T>,
) where
    T: for<'q> sqlx::Encode<'q, Sqlite> + sqlx::Type<Sqlite> + 'static,
{
    if values.len() == 0 {
        return;
    }
    select.push(format!(" AND {column} IN ("));
    let mut list = select.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    select.push(")");
}
