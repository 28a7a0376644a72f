//! The statements of the table `logins`, for PostgreSQL.

use kitbag_domain::{ServerName, Timestamp};

use crate::engine::postgres::Postgres;
use crate::secrets::SealedRow;
use crate::{Error, failed};

pub(super) async fn put(
    postgres: &Postgres,
    server: &ServerName,
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO logins (server, sealed, updated_at) VALUES ($1, $2, $3)
         ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
    )
    .bind(server.as_str())
    .bind(sealed)
    .bind(at.0)
    .execute(&postgres.pool)
    .await
    .map(drop)
    .map_err(failed("keep a login"))
}

pub(super) async fn select(
    postgres: &Postgres,
    server: &ServerName,
) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT sealed FROM logins WHERE server = $1")
        .bind(server.as_str())
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("read a login"))
}

pub(super) async fn select_all(postgres: &Postgres) -> Result<Vec<SealedRow>, Error> {
    sqlx::query_as("SELECT server, sealed FROM logins ORDER BY server")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("read the logins"))
}

pub(super) async fn delete(postgres: &Postgres, server: &ServerName) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM logins WHERE server = $1")
        .bind(server.as_str())
        .execute(&postgres.pool)
        .await
        .map_err(failed("remove a login"))?;
    Ok(done.rows_affected() == 1)
}
