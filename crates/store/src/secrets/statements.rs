//! The statements of the table `secrets`.

use kitbag_domain::Timestamp;

use super::{SealedRow, SecretName};
use crate::Error;
use crate::engine::Engine;

pub(super) async fn put_secret(
    engine: &Engine,
    name: &SecretName,
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    engine
        .query(
            "INSERT INTO secrets (name, sealed, updated_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(name.as_str())
        .bind(sealed)
        .bind(at.0)
        .execute("store a secret")
        .await
        .map(drop)
}

pub(super) async fn select_names(engine: &Engine) -> Result<Vec<(String, i64)>, Error> {
    engine
        .query("SELECT name, updated_at FROM secrets ORDER BY name")
        .fetch_all("list the secrets")
        .await
}

pub(super) async fn delete_secret(engine: &Engine, name: &SecretName) -> Result<bool, Error> {
    let deleted = engine
        .query("DELETE FROM secrets WHERE name = $1")
        .bind(name.as_str())
        .execute("remove a secret")
        .await?;
    Ok(deleted == 1)
}

pub(super) async fn select_sealed(engine: &Engine) -> Result<Vec<SealedRow>, Error> {
    engine
        .query("SELECT name, sealed FROM secrets ORDER BY name")
        .fetch_all("read the secrets")
        .await
}
