//! The statements of the table `approved_definitions`.

use super::ApprovedDefinition;
use crate::Error;
use crate::engine::{Engine, Transaction};

pub(super) async fn insert_definition(
    transaction: &mut Transaction,
    definition: &ApprovedDefinition,
) -> Result<(), Error> {
    transaction
        .query(
            "INSERT INTO approved_definitions (hash, body, approved_at) VALUES ($1, $2, $3)
             ON CONFLICT (hash) DO NOTHING",
        )
        .bind(definition.hash.as_slice())
        .bind(&definition.body)
        .bind(definition.approved_at.0)
        .execute("store an approved definition")
        .await
        .map(drop)
}

pub(super) async fn select_body(engine: &Engine, hash: &[u8; 32]) -> Result<Option<String>, Error> {
    engine
        .query("SELECT body FROM approved_definitions WHERE hash = $1")
        .bind(hash.as_slice())
        .fetch_optional_scalar("read an approved definition")
        .await
}
