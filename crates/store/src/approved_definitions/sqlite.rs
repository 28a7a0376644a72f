//! The statements of the table `approved_definitions`, for SQLite.

use super::ApprovedDefinition;
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

pub(super) async fn insert(
    transaction: &mut SqliteTransaction,
    definition: &ApprovedDefinition,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO approved_definitions (hash, body, approved_at) VALUES (?, ?, ?)
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

pub(super) async fn select(sqlite: &Sqlite, hash: &[u8; 32]) -> Result<Option<String>, Error> {
    sqlx::query_scalar("SELECT body FROM approved_definitions WHERE hash = ?")
        .bind(hash.as_slice())
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("recall an approved definition"))
}
