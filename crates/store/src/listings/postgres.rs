//! The statements of the table `listings`, for PostgreSQL.

use kitbag_domain::ServerName;

use super::{ListingRow, StoredListing};
use crate::engine::postgres::Postgres;
use crate::{Error, failed};

pub(super) async fn put(postgres: &Postgres, listing: &StoredListing) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO listings (server, fingerprint, body, listed_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (server) DO UPDATE SET
             fingerprint = excluded.fingerprint, body = excluded.body, listed_at = excluded.listed_at",
    )
    .bind(listing.server.as_str())
    .bind(&listing.fingerprint)
    .bind(&listing.body)
    .bind(listing.listed_at.0)
    .execute(&postgres.pool)
    .await
    .map(drop)
    .map_err(failed("remember a listing"))
}

pub(super) async fn select(
    postgres: &Postgres,
    server: &ServerName,
) -> Result<Option<ListingRow>, Error> {
    sqlx::query_as("SELECT server, fingerprint, body, listed_at FROM listings WHERE server = $1")
        .bind(server.as_str())
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("recall a listing"))
}

pub(super) async fn select_all(postgres: &Postgres) -> Result<Vec<ListingRow>, Error> {
    sqlx::query_as("SELECT server, fingerprint, body, listed_at FROM listings ORDER BY server")
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("recall the listings"))
}
