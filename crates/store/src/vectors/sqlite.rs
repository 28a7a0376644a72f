//! The statements of the table `vectors`, for SQLite.

use std::collections::HashSet;

use sqlx::QueryBuilder;

use super::{TextHash, VectorRow, VectorSpace, stored_hash, to_bytes};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, store_error};

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

pub(super) async fn insert(
    transaction: &mut SqliteTransaction,
    space: VectorSpace<'_>,
    vectors: &[(TextHash, Vec<f32>)],
) -> Result<(), Error> {
    for some in vectors.chunks(ROWS_PER_STATEMENT) {
        insert_query(space, some)
            .build()
            .persistent(some.len() == ROWS_PER_STATEMENT)
            .execute(&mut **transaction)
            .await
            .map_err(store_error("store vectors"))?;
    }
    Ok(())
}

pub(super) async fn select(
    sqlite: &Sqlite,
    space: VectorSpace<'_>,
    wanted: &[TextHash],
) -> Result<Vec<VectorRow>, Error> {
    let mut found = Vec::with_capacity(wanted.len());
    for some in wanted.chunks(ROWS_PER_STATEMENT) {
        let rows: Vec<VectorRow> = select_query(space, some)
            .build_query_as()
            .persistent(some.len() == ROWS_PER_STATEMENT)
            .fetch_all(&sqlite.reader)
            .await
            .map_err(store_error("read vectors"))?;
        found.extend(rows);
    }
    Ok(found)
}

pub(super) async fn count(sqlite: &Sqlite, space: VectorSpace<'_>) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT count(*) FROM vectors WHERE namespace = ? AND model = ?")
        .bind(space.namespace)
        .bind(space.model)
        .fetch_one(&sqlite.reader)
        .await
        .map_err(store_error("count vectors"))
}

/// Deletes all vectors except the given ones, and returns their number.
pub(super) async fn delete_others(
    transaction: &mut SqliteTransaction,
    space: VectorSpace<'_>,
    keep: &HashSet<TextHash>,
) -> Result<u64, Error> {
    let mut unneeded = select_hashes(transaction, space).await?;
    unneeded.retain(|hash| !stored_hash(hash).is_some_and(|hash| keep.contains(&hash)));
    for some in unneeded.chunks(ROWS_PER_STATEMENT) {
        delete_vectors(transaction, space, some).await?;
    }
    Ok(unneeded.len() as u64)
}

async fn select_hashes(
    transaction: &mut SqliteTransaction,
    space: VectorSpace<'_>,
) -> Result<Vec<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT text_hash FROM vectors WHERE namespace = ? AND model = ?")
        .bind(space.namespace)
        .bind(space.model)
        .fetch_all(&mut **transaction)
        .await
        .map_err(store_error("find vectors to delete"))
}

async fn delete_vectors(
    transaction: &mut SqliteTransaction,
    space: VectorSpace<'_>,
    hashes: &[Vec<u8>],
) -> Result<(), Error> {
    let mut delete = QueryBuilder::new("DELETE FROM vectors WHERE ");
    push_key(&mut delete, space, hashes.iter().map(Vec::as_slice));
    let done = delete.build().execute(&mut **transaction).await;
    done.map(drop).map_err(store_error("delete vectors"))
}

fn insert_query(
    space: VectorSpace<'_>,
    vectors: &[(TextHash, Vec<f32>)],
) -> QueryBuilder<sqlx::Sqlite> {
    let mut insert =
        QueryBuilder::new("INSERT INTO vectors (namespace, model, text_hash, dimension, vector) ");
    insert.push_values(vectors, |mut values, (hash, vector)| {
        values
            .push_bind(space.namespace.to_owned())
            .push_bind(space.model.to_owned())
            .push_bind(hash.0.to_vec())
            .push_bind(vector.len() as i64)
            .push_bind(to_bytes(vector));
    });
    insert.push(
        " ON CONFLICT (namespace, model, text_hash) DO UPDATE SET
              dimension = excluded.dimension, vector = excluded.vector",
    );
    insert
}

fn select_query(space: VectorSpace<'_>, wanted: &[TextHash]) -> QueryBuilder<sqlx::Sqlite> {
    let mut select = QueryBuilder::new(
        "SELECT text_hash, vector FROM vectors WHERE length(vector) = 4 * dimension AND ",
    );
    let hashes = wanted.iter().map(|hash| hash.0.as_slice());
    push_key(&mut select, space, hashes);
    select
}

fn push_key<'a>(
    query: &mut QueryBuilder<sqlx::Sqlite>,
    space: VectorSpace<'_>,
    hashes: impl Iterator<Item = &'a [u8]>,
) {
    query
        .push("namespace = ")
        .push_bind(space.namespace.to_owned());
    query
        .push(" AND model = ")
        .push_bind(space.model.to_owned());
    query.push(" AND text_hash IN (");
    let mut list = query.separated(", ");
    for hash in hashes {
        list.push_bind(hash.to_vec());
    }
    query.push(")");
}
