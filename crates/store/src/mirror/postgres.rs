//! The statements of the table `mirror`, for PostgreSQL.

use super::MirrorRow;
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, store_error};

pub(super) async fn select(
    postgres: &Postgres,
    namespace: &str,
    name: &str,
) -> Result<Option<String>, Error> {
    sqlx::query_scalar("SELECT value FROM mirror WHERE namespace = $1 AND name = $2")
        .bind(namespace)
        .bind(name)
        .fetch_optional(&postgres.pool)
        .await
        .map_err(store_error("read a mirrored entry"))
}

pub(super) async fn select_all(
    postgres: &Postgres,
    namespace: &str,
) -> Result<Vec<MirrorRow>, Error> {
    sqlx::query_as("SELECT name, value FROM mirror WHERE namespace = $1")
        .bind(namespace)
        .fetch_all(&postgres.pool)
        .await
        .map_err(store_error("read a mirror"))
}

/// Returns how many rows were written or removed.
pub(super) async fn replace(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    wanted: &[(&str, &str)],
) -> Result<u64, Error> {
    transaction
        .lock(&format!("mirror {namespace}"), "write the mirror")
        .await?;
    let (names, values): (Vec<&str>, Vec<&str>) = wanted.iter().copied().unzip();
    let removed = delete_others(transaction, namespace, &names).await?;
    let written = insert_entries(transaction, namespace, &names, &values).await?;
    Ok(removed + written)
}

/// Returns the resulting number of rows.
pub(super) async fn change(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    changed: &[(&str, &str)],
    gone: &[&str],
) -> Result<u64, Error> {
    transaction
        .lock(&format!("mirror {namespace}"), "write the mirror")
        .await?;
    let (names, values): (Vec<&str>, Vec<&str>) = changed.iter().copied().unzip();
    insert_entries(transaction, namespace, &names, &values).await?;
    sqlx::query("DELETE FROM mirror WHERE namespace = $1 AND name = ANY($2)")
        .bind(namespace)
        .bind(gone)
        .execute(&mut **transaction)
        .await
        .map_err(store_error("remove entries from a mirror"))?;
    let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM mirror WHERE namespace = $1")
        .bind(namespace)
        .fetch_one(&mut **transaction)
        .await
        .map_err(store_error("count the entries of a mirror"))?;
    Ok(rows.unsigned_abs())
}

async fn delete_others(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    names: &[&str],
) -> Result<u64, Error> {
    let done = sqlx::query(
        "DELETE FROM mirror WHERE namespace = $1
         AND NOT EXISTS (SELECT 1 FROM unnest($2::text[]) AS kept (name) WHERE kept.name = mirror.name)",
    )
    .bind(namespace)
    .bind(names)
    .execute(&mut **transaction)
    .await
    .map_err(store_error("remove entries from a mirror"))?;
    Ok(done.rows_affected())
}

/// Skips rows that already have their value.
async fn insert_entries(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    names: &[&str],
    values: &[&str],
) -> Result<u64, Error> {
    let done = sqlx::query(
        "INSERT INTO mirror (namespace, name, value)
         SELECT $1, name, value FROM unnest($2::text[], $3::text[]) AS new (name, value)
         ON CONFLICT (namespace, name) DO UPDATE SET value = excluded.value
         WHERE mirror.value <> excluded.value",
    )
    .bind(namespace)
    .bind(names)
    .bind(values)
    .execute(&mut **transaction)
    .await
    .map_err(store_error("write the mirror"))?;
    Ok(done.rows_affected())
}
