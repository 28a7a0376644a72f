//! The statements of the table `logins`.

use kitbag_domain::{ServerName, Timestamp};

use crate::Error;
use crate::engine::Engine;
use crate::secrets::SealedRow;

pub(super) async fn put_login(
    engine: &Engine,
    server: &ServerName,
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    engine
        .query(
            "INSERT INTO logins (server, sealed, updated_at) VALUES ($1, $2, $3)
             ON CONFLICT (server) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(server.as_str())
        .bind(sealed)
        .bind(at.0)
        .execute("store a login")
        .await
        .map(drop)
}

pub(super) async fn select_login(
    engine: &Engine,
    server: &ServerName,
) -> Result<Option<Vec<u8>>, Error> {
    engine
        .query("SELECT sealed FROM logins WHERE server = $1")
        .bind(server.as_str())
        .fetch_optional_scalar("read a login")
        .await
}

pub(super) async fn select_logins(engine: &Engine) -> Result<Vec<SealedRow>, Error> {
    engine
        .query("SELECT server, sealed FROM logins ORDER BY server")
        .fetch_all("read the logins")
        .await
}

pub(super) async fn delete_login(engine: &Engine, server: &ServerName) -> Result<bool, Error> {
    let deleted = engine
        .query("DELETE FROM logins WHERE server = $1")
        .bind(server.as_str())
        .execute("remove a login")
        .await?;
    Ok(deleted == 1)
}
