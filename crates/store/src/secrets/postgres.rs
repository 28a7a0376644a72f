//! The statements of the table `secrets`, for PostgreSQL.

use kitbag_domain::Timestamp;

use super::{SealedRow, SecretName};
use crate::engine::postgres::Postgres;
use crate::{Error, failed};

pub(super) async fn put(
    postgres: &Postgres,
    name: &SecretName,
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO secrets (name, sealed, updated_at) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(name.as_str())
    .bind(sealed)
    .bind(at.0)
    .execute(&postgres.pool)
    .await
    .map(drop)
    .map_err(failed("keep a secret"))
}

pub(super) async fn select_names(postgres: &Postgres) -> Result<Vec<(String, i64)>, Error> {
    sqlx::query_as("SELECT name, updated_at FROM secrets ORDER BY name")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("list the secrets"))
}

pub(super) async fn delete(postgres: &Postgres, name: &SecretName) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM secrets WHERE name = $1")
        .bind(name.as_str())
        .execute(&postgres.pool)
        .await
        .map_err(failed("remove a secret"))?;
    Ok(done.rows_affected() == 1)
}

pub(super) async fn select_sealed(postgres: &Postgres) -> Result<Vec<SealedRow>, Error> {
    sqlx::query_as("SELECT name, sealed FROM secrets ORDER BY name")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("read the secrets"))
}
