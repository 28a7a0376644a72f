//! The statements of the table `properties`, for SQLite.

use super::Property;
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

pub(super) async fn select(
    sqlite: &Sqlite,
    property: Property<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT value FROM properties WHERE name = ?")
        .bind(property.name())
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("read what it knows of itself"))
}

pub(super) async fn put(
    transaction: &mut SqliteTransaction,
    property: Property<'_>,
    value: &[u8],
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO properties (name, value) VALUES (?, ?)
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )
    .bind(property.name())
    .bind(value)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed("write what it knows of itself"))
}

pub(super) async fn delete(
    transaction: &mut SqliteTransaction,
    property: Property<'_>,
) -> Result<(), Error> {
    sqlx::query("DELETE FROM properties WHERE name = ?")
        .bind(property.name())
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("write what it knows of itself"))
}
