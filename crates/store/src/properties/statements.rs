//! The statements of the table `properties`.

use super::Property;
use crate::Error;
use crate::engine::{Engine, Transaction};

const WRITE: &str = "write a property of the store";

pub(super) async fn select_value(
    engine: &Engine,
    property: Property<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    engine
        .query("SELECT value FROM properties WHERE name = $1")
        .bind(property.name())
        .fetch_optional_scalar("read a property of the store")
        .await
}

pub(super) async fn put_value(
    transaction: &mut Transaction,
    property: Property<'_>,
    value: &[u8],
) -> Result<(), Error> {
    transaction
        .query(
            "INSERT INTO properties (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(property.name())
        .bind(value)
        .execute(WRITE)
        .await
        .map(drop)
}

pub(super) async fn delete_property(
    transaction: &mut Transaction,
    property: Property<'_>,
) -> Result<(), Error> {
    transaction
        .query("DELETE FROM properties WHERE name = $1")
        .bind(property.name())
        .execute(WRITE)
        .await
        .map(drop)
}
