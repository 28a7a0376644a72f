//! The statements of the table `approved_definitions`, for PostgreSQL.

use super::ApprovedDefinition;
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    definition: &ApprovedDefinition,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO approved_definitions (hash, body, approved_at) VALUES ($1, $2, $3)
         ON CONFLICT (hash) DO NOTHING",
    )
    .bind(definition.hash.as_slice())
    .bind(&definition.body)
    .bind(definition.approved_at.0)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed("remember an approved definition"))
}

pub(super) async fn select(postgres: &Postgres, hash: &[u8; 32]) -> Result<Option<String>, Error> {
    sqlx::query_scalar("SELECT body FROM approved_definitions WHERE hash = $1")
        .bind(hash.as_slice())
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("recall an approved definition"))
}
