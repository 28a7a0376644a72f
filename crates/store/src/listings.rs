//! The listings of servers: what each offered when it was last asked, so that the next start need
//! not ask first.

use kitbag_domain::{ServerName, Timestamp};

use crate::{Error, Store, failed, unreadable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredListing {
    pub server: ServerName,
    /// A hash of the configuration of the server. A listing made under another one is stale.
    pub fingerprint: String,
    /// JSON that only the gateway understands; kept to the letter.
    pub body: String,
    pub listed_at: Timestamp,
}

type ListingRow = (String, String, String, i64);

impl Store {
    /// Remembers the listing in place of an earlier one of the same server.
    pub async fn put_listing(&self, listing: &StoredListing) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO listings (server, fingerprint, body, listed_at) VALUES (?, ?, ?, ?)
             ON CONFLICT (server) DO UPDATE SET
                 fingerprint = excluded.fingerprint, body = excluded.body, listed_at = excluded.listed_at",
        )
        .bind(listing.server.as_str())
        .bind(&listing.fingerprint)
        .bind(&listing.body)
        .bind(listing.listed_at.0)
        .execute(&self.sqlite.writer)
        .await
        .map_err(failed("remember a listing"))?;
        Ok(())
    }

    pub async fn listing(&self, server: &ServerName) -> Result<Option<StoredListing>, Error> {
        sqlx::query_as("SELECT server, fingerprint, body, listed_at FROM listings WHERE server = ?")
            .bind(server.as_str())
            .fetch_optional(&self.sqlite.reader)
            .await
            .map_err(failed("recall a listing"))?
            .map(read)
            .transpose()
    }

    /// All listings, by the name of their server.
    pub async fn listings(&self) -> Result<Vec<StoredListing>, Error> {
        let rows: Vec<ListingRow> = sqlx::query_as(
            "SELECT server, fingerprint, body, listed_at FROM listings ORDER BY server",
        )
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("recall the listings"))?;
        rows.into_iter().map(read).collect()
    }
}

fn read((server, fingerprint, body, listed_at): ListingRow) -> Result<StoredListing, Error> {
    let server = server
        .parse()
        .map_err(|_| unreadable("server name", server))?;
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
    use crate::tests::{path, store};

    fn sample(server: &str, body: &str) -> StoredListing {
        StoredListing {
            server: server.parse().unwrap(),
            fingerprint: "f00d".to_owned(),
            body: body.to_owned(),
            listed_at: Timestamp(1_700_000_000_123),
        }
    }

    #[tokio::test]
    async fn a_listing_comes_back_to_the_letter_after_a_restart() {
        let (directory, store) = store().await;
        let odd = sample(
            "git",
            "{ \"b\":1.0,\"a\" : 12345678901234567890, \"é\":\"\\u0000\" }\n",
        );
        store.put_listing(&odd).await.unwrap();
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        assert_eq!(store.listing(&odd.server).await.unwrap(), Some(odd));
    }

    #[tokio::test]
    async fn a_new_listing_replaces_the_old_one_of_that_server_only() {
        let (_directory, store) = store().await;
        for (server, body) in [("git", "1"), ("apple", "2"), ("git", "3")] {
            store.put_listing(&sample(server, body)).await.unwrap();
        }
        assert_eq!(
            store.listings().await.unwrap(),
            [sample("apple", "2"), sample("git", "3")]
        );
    }
}
