//! The statements of the table `listings`.

use kitbag_domain::ServerName;

use super::{ListingRow, StoredListing};
use crate::Error;
use crate::engine::Engine;

pub(super) async fn put_listing(engine: &Engine, listing: &StoredListing) -> Result<(), Error> {
    engine
        .query(
            "INSERT INTO listings (server, fingerprint, body, listed_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (server) DO UPDATE SET
                 fingerprint = excluded.fingerprint, body = excluded.body, listed_at = excluded.listed_at",
        )
        .bind(listing.server.as_str())
        .bind(&listing.fingerprint)
        .bind(&listing.body)
        .bind(listing.listed_at.0)
        .execute("store a listing")
        .await
        .map(drop)
}

pub(super) async fn select_listing(
    engine: &Engine,
    server: &ServerName,
) -> Result<Option<ListingRow>, Error> {
    engine
        .query("SELECT server, fingerprint, body, listed_at FROM listings WHERE server = $1")
        .bind(server.as_str())
        .fetch_optional("read a listing")
        .await
}

pub(super) async fn select_listings(engine: &Engine) -> Result<Vec<ListingRow>, Error> {
    engine
        .query("SELECT server, fingerprint, body, listed_at FROM listings ORDER BY server")
        .fetch_all("read the listings")
        .await
}
