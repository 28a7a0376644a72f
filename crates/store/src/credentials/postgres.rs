//! The statements of the table `credentials`, for PostgreSQL.

use kitbag_domain::Timestamp;

use super::CredentialKey;
use crate::engine::postgres::Postgres;
use crate::{Error, failed};

pub(super) async fn put(
    postgres: &Postgres,
    key: &CredentialKey,
    fields: &[String],
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO credentials (tenant, name, fields, sealed, updated_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (tenant, name) DO UPDATE
         SET fields = excluded.fields, sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(key.holder.column())
    .bind(key.name.as_str())
    .bind(fields.join("\n"))
    .bind(sealed)
    .bind(at.0)
    .execute(&postgres.pool)
    .await
    .map(drop)
    .map_err(failed("keep a credential"))
}

pub(super) async fn select(
    postgres: &Postgres,
    key: &CredentialKey,
) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT sealed FROM credentials WHERE tenant = $1 AND name = $2")
        .bind(key.holder.column())
        .bind(key.name.as_str())
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("read a credential"))
}

pub(super) async fn select_names(
    postgres: &Postgres,
) -> Result<Vec<(String, String, String, i64)>, Error> {
    sqlx::query_as("SELECT tenant, name, fields, updated_at FROM credentials ORDER BY name, tenant")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("list the credentials"))
}

pub(super) async fn select_all(
    postgres: &Postgres,
) -> Result<Vec<(String, String, Vec<u8>)>, Error> {
    sqlx::query_as("SELECT tenant, name, sealed FROM credentials ORDER BY tenant, name")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("read the credentials"))
}

pub(super) async fn delete(postgres: &Postgres, key: &CredentialKey) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM credentials WHERE tenant = $1 AND name = $2")
        .bind(key.holder.column())
        .bind(key.name.as_str())
        .execute(&postgres.pool)
        .await
        .map_err(failed("remove a credential"))?;
    Ok(done.rows_affected() == 1)
}
