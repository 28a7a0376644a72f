//! The statements of the table `credentials`, for SQLite.

use kitbag_domain::Timestamp;

use super::CredentialKey;
use crate::engine::sqlite::Sqlite;
use crate::{Error, failed};

pub(super) async fn put(
    sqlite: &Sqlite,
    key: &CredentialKey,
    fields: &[String],
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO credentials (tenant, name, fields, sealed, updated_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (tenant, name) DO UPDATE
         SET fields = excluded.fields, sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(key.holder.column())
    .bind(key.name.as_str())
    .bind(fields.join("\n"))
    .bind(sealed)
    .bind(at.0)
    .execute(&sqlite.writer)
    .await
    .map(drop)
    .map_err(failed("keep a credential"))
}

pub(super) async fn select(sqlite: &Sqlite, key: &CredentialKey) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT sealed FROM credentials WHERE tenant = ? AND name = ?")
        .bind(key.holder.column())
        .bind(key.name.as_str())
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("read a credential"))
}

pub(super) async fn select_names(
    sqlite: &Sqlite,
) -> Result<Vec<(String, String, String, i64)>, Error> {
    sqlx::query_as("SELECT tenant, name, fields, updated_at FROM credentials ORDER BY name, tenant")
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("list the credentials"))
}

pub(super) async fn select_all(sqlite: &Sqlite) -> Result<Vec<(String, String, Vec<u8>)>, Error> {
    sqlx::query_as("SELECT tenant, name, sealed FROM credentials ORDER BY tenant, name")
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("read the credentials"))
}

pub(super) async fn delete(sqlite: &Sqlite, key: &CredentialKey) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM credentials WHERE tenant = ? AND name = ?")
        .bind(key.holder.column())
        .bind(key.name.as_str())
        .execute(&sqlite.writer)
        .await
        .map_err(failed("remove a credential"))?;
    Ok(done.rows_affected() == 1)
}
