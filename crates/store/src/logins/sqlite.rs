//! The statements of the table `logins`, for SQLite.

use kitbag_domain::{ServerName, Timestamp};

use crate::engine::sqlite::Sqlite;
use crate::secrets::SealedRow;
use crate::{Error, failed};

pub(super) async fn put(
    sqlite: &Sqlite,
    server: &ServerName,
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO logins (server, sealed, updated_at) VALUES (?, ?, ?)
         ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(server.as_str())
    .bind(sealed)
    .bind(at.0)
    .execute(&sqlite.writer)
    .await
    .map(drop)
    .map_err(failed("keep a login"))
}

pub(super) async fn select(sqlite: &Sqlite, server: &ServerName) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT sealed FROM logins WHERE server = ?")
        .bind(server.as_str())
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("read a login"))
}

pub(super) async fn select_all(sqlite: &Sqlite) -> Result<Vec<SealedRow>, Error> {
    sqlx::query_as("SELECT server, sealed FROM logins ORDER BY server")
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("read the logins"))
}

pub(super) async fn delete(sqlite: &Sqlite, server: &ServerName) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM logins WHERE server = ?")
        .bind(server.as_str())
        .execute(&sqlite.writer)
        .await
        .map_err(failed("remove a login"))?;
    Ok(done.rows_affected() == 1)
}
