//! The statements of the table `context_facts`.

use super::{COLUMNS, FactFilter, FactHolders, FactRow, INSERTED_COLUMNS, NewFact, holder_column};
use crate::engine::query::Query;
use crate::engine::{Engine, Transaction};
use crate::{Error, small_vector};

const DELETE: &str = "delete facts";

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 200;

/// Returns the number of facts that were not stored before.
pub(super) async fn insert_facts(
    transaction: &mut Transaction,
    holder: &str,
    facts: &[NewFact],
) -> Result<u64, Error> {
    let mut added = 0;
    for chunk in facts.chunks(ROWS_PER_STATEMENT) {
        added += transaction
            .query("INSERT INTO context_facts (")
            .push(INSERTED_COLUMNS)
            .push(") VALUES ")
            .push_tuples(chunk, |query, fact| bind_fact(query, holder, fact))
            .push(" ON CONFLICT (tenant, fingerprint) DO NOTHING")
            .execute("store facts")
            .await?;
    }
    Ok(added)
}

fn bind_fact<'c>(query: Query<'c>, holder: &str, fact: &NewFact) -> Query<'c> {
    let meaning = fact.meaning.as_ref();
    query
        .bind(holder)
        .bind(fact.fingerprint())
        .bind(&fact.subject)
        .bind(&fact.subject_key)
        .bind(&fact.predicate)
        .bind(&fact.predicate_key)
        .bind(&fact.object)
        .bind(&fact.source)
        .bind(fact.url.as_deref())
        .bind(&fact.quote)
        .bind(fact.authority)
        .bind(fact.observed_at.0)
        .bind(fact.valid_until.map(|at| at.0))
        .bind(meaning.map(|meaning| meaning.model.as_str()))
        .bind(meaning.map(|meaning| small_vector::to_bytes(&meaning.vector)))
}

pub(super) async fn delete_source(
    transaction: &mut Transaction,
    holder: &str,
    source: &str,
) -> Result<u64, Error> {
    transaction
        .query("DELETE FROM context_facts WHERE tenant = $1 AND source = $2")
        .bind(holder)
        .bind(source)
        .execute(DELETE)
        .await
}

pub(super) async fn count_facts(transaction: &mut Transaction, holder: &str) -> Result<i64, Error> {
    transaction
        .query("SELECT count(*) FROM context_facts WHERE tenant = $1")
        .bind(holder)
        .fetch_scalar("count facts")
        .await
}

pub(super) async fn select_facts(
    engine: &Engine,
    filter: &FactFilter,
) -> Result<Vec<FactRow>, Error> {
    let select = engine
        .query("SELECT ")
        .push(COLUMNS)
        .push(" FROM context_facts");
    push_conditions(select, filter)
        .push(" ORDER BY id")
        .push_filter(" LIMIT ", filter.limit.map(i64::from))
        .fetch_all("read facts")
        .await
}

pub(super) async fn delete_facts(engine: &Engine, filter: &FactFilter) -> Result<u64, Error> {
    let delete = engine.query("DELETE FROM context_facts");
    push_conditions(delete, filter).execute(DELETE).await
}

fn push_conditions<'c>(query: Query<'c>, filter: &FactFilter) -> Query<'c> {
    let query = query.push_bind(" WHERE id > ", filter.after_id);
    let query = match &filter.holders {
        FactHolders::Any => query,
        FactHolders::Only(holder) => {
            query.push_bind(" AND tenant = ", holder_column(holder.as_ref()))
        }
        FactHolders::ReadBy(tenant) => query
            .push_bind(" AND tenant IN ('', ", tenant.as_str())
            .push(")"),
    };
    query
        .push_filter(" AND subject_key = ", filter.subject_key.as_deref())
        .push_filter(" AND predicate_key = ", filter.predicate_key.as_deref())
        .push_filter(" AND source = ", filter.source.as_deref())
        .push_filter(" AND id = ", filter.id)
}
