//! The statements of the table `context_facts`, for PostgreSQL.

use sqlx::QueryBuilder;

use super::{COLUMNS, FactFilter, FactHolders, FactRow, NewFact, WRITTEN, column};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed, small_vector};

const WRITE: &str = "keep facts";
const FORGET: &str = "forget facts";

/// Well below the number of values PostgreSQL accepts in one statement.
const ROWS_PER_STATEMENT: usize = 200;

/// Returns the number of facts that were not there.
pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    holder: &str,
    facts: &[NewFact],
) -> Result<u64, Error> {
    let mut added = 0;
    for some in facts.chunks(ROWS_PER_STATEMENT) {
        let mut insert = insertion(holder, some);
        let done = insert.build().execute(&mut **transaction).await;
        added += done.map_err(failed(WRITE))?.rows_affected();
    }
    Ok(added)
}

pub(super) async fn delete_source(
    transaction: &mut PostgresTransaction,
    holder: &str,
    source: &str,
) -> Result<u64, Error> {
    let done = sqlx::query("DELETE FROM context_facts WHERE tenant = $1 AND source = $2")
        .bind(holder)
        .bind(source)
        .execute(&mut **transaction)
        .await
        .map_err(failed(FORGET))?;
    Ok(done.rows_affected())
}

pub(super) async fn count_of(
    transaction: &mut PostgresTransaction,
    holder: &str,
) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT count(*) FROM context_facts WHERE tenant = $1")
        .bind(holder)
        .fetch_one(&mut **transaction)
        .await
        .map_err(failed("count facts"))
}

pub(super) async fn select(
    postgres: &Postgres,
    filter: &FactFilter,
) -> Result<Vec<FactRow>, Error> {
    let mut select = fitting(&format!("SELECT {COLUMNS} FROM context_facts"), filter);
    select.push(" ORDER BY id");
    if let Some(limit) = filter.limit {
        select.push(" LIMIT ").push_bind(i64::from(limit));
    }
    select
        .build_query_as()
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("read facts"))
}

pub(super) async fn delete(postgres: &Postgres, filter: &FactFilter) -> Result<u64, Error> {
    let done = fitting("DELETE FROM context_facts", filter)
        .build()
        .execute(&postgres.pool)
        .await
        .map_err(failed(FORGET))?;
    Ok(done.rows_affected())
}

fn insertion(holder: &str, facts: &[NewFact]) -> QueryBuilder<sqlx::Postgres> {
    let mut insert = QueryBuilder::new(format!("INSERT INTO context_facts ({WRITTEN}) "));
    insert.push_values(facts, |mut values, fact| {
        let meaning = fact.meaning.as_ref();
        values
            .push_bind(holder.to_owned())
            .push_bind(fact.fingerprint())
            .push_bind(fact.subject.clone())
            .push_bind(fact.subject_key.clone())
            .push_bind(fact.predicate.clone())
            .push_bind(fact.predicate_key.clone())
            .push_bind(fact.object.clone())
            .push_bind(fact.source.clone())
            .push_bind(fact.url.clone())
            .push_bind(fact.quote.clone())
            .push_bind(fact.authority)
            .push_bind(fact.observed_at.0)
            .push_bind(fact.valid_until.map(|at| at.0))
            .push_bind(meaning.map(|it| it.model.clone()))
            .push_bind(meaning.map(|it| small_vector::bytes(&it.vector)));
    });
    insert.push(" ON CONFLICT (tenant, fingerprint) DO NOTHING");
    insert
}

/// The beginning of a statement, narrowed to the facts that fit.
fn fitting(beginning: &str, filter: &FactFilter) -> QueryBuilder<sqlx::Postgres> {
    let mut query = QueryBuilder::new(beginning);
    query.push(" WHERE id > ").push_bind(filter.after_id);
    match &filter.holders {
        FactHolders::Any => {}
        FactHolders::Only(holder) => {
            let holder = column(holder.as_ref()).to_owned();
            query.push(" AND tenant = ").push_bind(holder);
        }
        FactHolders::ReadBy(tenant) => {
            let tenant = tenant.to_string();
            query
                .push(" AND tenant IN ('', ")
                .push_bind(tenant)
                .push(")");
        }
    }
    let texts = [
        (" AND subject_key = ", &filter.subject_key),
        (" AND predicate_key = ", &filter.predicate_key),
        (" AND source = ", &filter.source),
    ];
    for (condition, text) in texts {
        if let Some(text) = text {
            query.push(condition).push_bind(text.clone());
        }
    }
    if let Some(id) = filter.id {
        query.push(" AND id = ").push_bind(id);
    }
    query
}
