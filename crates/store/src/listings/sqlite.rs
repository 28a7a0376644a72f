//! The statements of the table `listings`, for SQLite.

use kitbag_domain::ServerName;

use super::{ListingRow, StoredListing};
use crate::engine::sqlite::Sqlite;
use crate::{Error, failed};

pub(super) async fn put(sqlite: &Sqlite, listing: &StoredListing) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO listings (server, fingerprint, body, listed_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (server) DO UPDATE SET
             fingerprint = excluded.fingerprint, body = excluded.body, listed_at = excluded.listed_at",
    )
    .bind(listing.server.as_str())
    .bind(&listing.fingerprint)
    .bind(&listing.body)
    .bind(listing.listed_at.0)
    .execute(&sqlite.writer)
    .await
    .map(drop)
    .map_err(failed("remember a listing"))
}

pub(super) async fn select(
    sqlite: &Sqlite,
    server: &ServerName,
) -> Result<Option<ListingRow>, Error> {
    sqlx::query_as("SELECT server, fingerprint, body, listed_at FROM listings WHERE server = ?")
        .bind(server.as_str())
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("recall a listing"))
}

pub(super) async fn select_all(sqlite: &Sqlite) -> Result<Vec<ListingRow>, Error> {
    sqlx::query_as("SELECT server, fingerprint, body, listed_at FROM listings ORDER BY server")
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("recall the listings"))
}
