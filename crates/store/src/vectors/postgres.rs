//! The statements of the table `vectors`, for PostgreSQL.

use std::collections::{HashMap, HashSet};

use super::{TextHash, VectorRow, VectorSpace, to_bytes};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, store_error};

/// Some megabytes of vectors in one message.
const ROWS_PER_STATEMENT: usize = 4096;

pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    space: VectorSpace<'_>,
    vectors: &[(TextHash, Vec<f32>)],
) -> Result<(), Error> {
    for some in vectors.chunks(ROWS_PER_STATEMENT) {
        insert_chunk(transaction, space, some).await?;
    }
    Ok(())
}

async fn insert_chunk(
    transaction: &mut PostgresTransaction,
    space: VectorSpace<'_>,
    vectors: &[(TextHash, Vec<f32>)],
) -> Result<(), Error> {
    // One statement must not write a row twice; of two vectors of one text the later wins.
    let distinct: HashMap<&[u8], &Vec<f32>> = vectors
        .iter()
        .map(|(hash, vector)| (hash.0.as_slice(), vector))
        .collect();
    let mut rows: Vec<_> = distinct.into_iter().collect();
    // In a fixed order, so that two gateways that embed the same texts do not deadlock.
    rows.sort_unstable_by_key(|(hash, _)| *hash);
    let (hashes, vectors): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    sqlx::query(
        "INSERT INTO vectors (namespace, model, text_hash, dimension, vector)
         SELECT $1, $2, text_hash, dimension, vector
         FROM unnest($3::bytea[], $4::bigint[], $5::bytea[]) AS new (text_hash, dimension, vector)
         ON CONFLICT (namespace, model, text_hash) DO UPDATE SET
             dimension = excluded.dimension, vector = excluded.vector",
    )
    .bind(space.namespace)
    .bind(space.model)
    .bind(hashes)
    .bind(vectors.iter().map(|it| it.len() as i64).collect::<Vec<_>>())
    .bind(vectors.iter().map(|it| to_bytes(it)).collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(store_error("store vectors"))
}

pub(super) async fn select(
    postgres: &Postgres,
    space: VectorSpace<'_>,
    wanted: &[TextHash],
) -> Result<Vec<VectorRow>, Error> {
    sqlx::query_as(
        "SELECT text_hash, vector FROM vectors
         WHERE namespace = $1 AND model = $2 AND text_hash = ANY($3)
         AND length(vector) = 4 * dimension",
    )
    .bind(space.namespace)
    .bind(space.model)
    .bind(
        wanted
            .iter()
            .map(|hash| hash.0.as_slice())
            .collect::<Vec<_>>(),
    )
    .fetch_all(&postgres.pool)
    .await
    .map_err(store_error("read vectors"))
}

pub(super) async fn count(postgres: &Postgres, space: VectorSpace<'_>) -> Result<i64, Error> {
    sqlx::query_scalar("SELECT count(*) FROM vectors WHERE namespace = $1 AND model = $2")
        .bind(space.namespace)
        .bind(space.model)
        .fetch_one(&postgres.pool)
        .await
        .map_err(store_error("count vectors"))
}

/// Deletes all vectors except the given ones, and returns their number.
pub(super) async fn delete_others(
    transaction: &mut PostgresTransaction,
    space: VectorSpace<'_>,
    keep: &HashSet<TextHash>,
) -> Result<u64, Error> {
    let done = sqlx::query(
        "DELETE FROM vectors WHERE namespace = $1 AND model = $2
         AND NOT EXISTS (SELECT 1 FROM unnest($3::bytea[]) AS kept (hash) WHERE kept.hash = text_hash)",
    )
    .bind(space.namespace)
    .bind(space.model)
    .bind(keep.iter().map(|hash| hash.0.as_slice()).collect::<Vec<_>>())
    .execute(&mut **transaction)
    .await
    .map_err(store_error("delete vectors"))?;
    Ok(done.rows_affected())
}
