//! The last listing of each server, so that the next start need not ask first.

use kitbag_domain::{ServerName, Timestamp};

use crate::{Error, Store, skip_unreadable, unreadable_error};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredListing {
    pub server: ServerName,
    /// A hash of the server's configuration. A listing made under another one is stale.
    pub fingerprint: String,
    /// JSON that only the gateway interprets; stored verbatim.
    pub body: String,
    pub listed_at: Timestamp,
}

impl Store {
    /// Stores the listing in place of an earlier one of the same server.
    pub async fn put_listing(&self, listing: &StoredListing) -> Result<(), Error> {
        self.engine
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

    pub async fn listing(&self, server: &ServerName) -> Result<Option<StoredListing>, Error> {
        let row = self
            .engine
            .query("SELECT server, fingerprint, body, listed_at FROM listings WHERE server = $1")
            .bind(server.as_str())
            .fetch_optional("read a listing")
            .await?;
        row.map(read_listing).transpose()
    }

    /// All listings, by server name.
    pub async fn listings(&self) -> Result<Vec<StoredListing>, Error> {
        let rows = self
            .engine
            .query("SELECT server, fingerprint, body, listed_at FROM listings ORDER BY server")
            .fetch_all("read the listings")
            .await?;
        Ok(skip_unreadable(rows, read_listing))
    }
}

/// The server, the fingerprint, the body, and when it was listed.
type ListingRow = (String, String, String, i64);

fn read_listing(
    (server, fingerprint, body, listed_at): ListingRow,
) -> Result<StoredListing, Error> {
    let server = server
        .parse()
        .map_err(|_| unreadable_error("server name", server))?;
    Ok(StoredListing {
        server,
        fingerprint,
        body,
        listed_at: Timestamp(listed_at),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        a_listing_is_unchanged_after_a_restart,
        a_new_listing_replaces_the_old_one_of_that_server_only,
    );

    fn sample(server: &str, body: &str) -> StoredListing {
        StoredListing {
            server: server.parse().unwrap(),
            fingerprint: "f00d".to_owned(),
            body: body.to_owned(),
            listed_at: Timestamp(1_700_000_000_123),
        }
    }

    async fn a_listing_is_unchanged_after_a_restart(place: TestPlace) {
        let store = place.open().await;
        let odd = sample(
            "git",
            "{ \"b\":1.0,\"a\" : 12345678901234567890, \"é\":\"\\u0000\" }\n",
        );
        store.put_listing(&odd).await.unwrap();
        store.close().await;
        let store = place.open().await;
        assert_eq!(store.listing(&odd.server).await.unwrap(), Some(odd));
    }

    async fn a_new_listing_replaces_the_old_one_of_that_server_only(place: TestPlace) {
        let store = place.open().await;
        for (server, body) in [("git", "1"), ("apple", "2"), ("git", "3")] {
            store.put_listing(&sample(server, body)).await.unwrap();
        }
        assert_eq!(
            store.listings().await.unwrap(),
            [sample("apple", "2"), sample("git", "3")]
        );
    }
}
