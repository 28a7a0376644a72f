//! The statements of the table `credentials`.

use kitbag_domain::Timestamp;

use super::CredentialKey;
use crate::Error;
use crate::engine::Engine;

pub(super) async fn put_credential(
    engine: &Engine,
    key: &CredentialKey,
    fields: &[String],
    sealed: &[u8],
    at: Timestamp,
) -> Result<(), Error> {
    engine
        .query(
            "INSERT INTO credentials (tenant, name, fields, sealed, updated_at) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (tenant, name) DO UPDATE
             SET fields = excluded.fields, sealed = excluded.sealed, updated_at = excluded.updated_at",
        )
        .bind(key.holder.to_column())
        .bind(key.name.as_str())
        .bind(fields.join("\n"))
        .bind(sealed)
        .bind(at.0)
        .execute("store a credential")
        .await
        .map(drop)
}

pub(super) async fn select_credential(
    engine: &Engine,
    key: &CredentialKey,
) -> Result<Option<Vec<u8>>, Error> {
    engine
        .query("SELECT sealed FROM credentials WHERE tenant = $1 AND name = $2")
        .bind(key.holder.to_column())
        .bind(key.name.as_str())
        .fetch_optional_scalar("read a credential")
        .await
}

pub(super) async fn select_names(
    engine: &Engine,
) -> Result<Vec<(String, String, String, i64)>, Error> {
    engine
        .query("SELECT tenant, name, fields, updated_at FROM credentials ORDER BY name, tenant")
        .fetch_all("list the credentials")
        .await
}

pub(super) async fn select_credentials(
    engine: &Engine,
) -> Result<Vec<(String, String, Vec<u8>)>, Error> {
    engine
        .query("SELECT tenant, name, sealed FROM credentials ORDER BY tenant, name")
        .fetch_all("read the credentials")
        .await
}

pub(super) async fn delete_credential(engine: &Engine, key: &CredentialKey) -> Result<bool, Error> {
    let deleted = engine
        .query("DELETE FROM credentials WHERE tenant = $1 AND name = $2")
        .bind(key.holder.to_column())
        .bind(key.name.as_str())
        .execute("remove a credential")
        .await?;
    Ok(deleted == 1)
}
