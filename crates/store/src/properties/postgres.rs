//! The statements of the table `properties`, for PostgreSQL.

use super::Property;
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

pub(super) async fn select(
    postgres: &Postgres,
    property: Property<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT value FROM properties WHERE name = $1")
        .bind(property.name())
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("read what it knows of itself"))
}

pub(super) async fn put(
    transaction: &mut PostgresTransaction,
    property: Property<'_>,
    value: &[u8],
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO properties (name, value) VALUES ($1, $2)
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
    transaction: &mut PostgresTransaction,
    property: Property<'_>,
) -> Result<(), Error> {
    sqlx::query("DELETE FROM properties WHERE name = $1")
        .bind(property.name())
        .execute(&mut **transaction)
        .await
        .map(drop)
        .map_err(failed("write what it knows of itself"))
}
