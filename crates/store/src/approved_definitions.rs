//! Approved definitions, by hash. The lock file has only the hashes; the text
//! shows how a server changed a definition since.

use std::collections::HashMap;

use kitbag_domain::Timestamp;

use crate::{Error, Store};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovedDefinition {
    pub hash: [u8; 32],
    /// JSON that only the gateway interprets; stored verbatim.
    pub body: String,
    pub approved_at: Timestamp,
}

impl Store {
    /// Stores texts that are not known yet: the text of a hash does not change.
    pub async fn put_approved_definitions(
        &self,
        definitions: &[ApprovedDefinition],
    ) -> Result<(), Error> {
        const ACTION: &str = "store approved definitions";
        let mut sorted: Vec<_> = definitions.iter().collect();
        // In a fixed order, so that two gateways that write the same rows do not deadlock.
        sorted.sort_by_key(|it| it.hash);
        let mut transaction = self.engine.begin(ACTION).await?;
        for definition in sorted {
            transaction
                .query(
                    "INSERT INTO approved_definitions (hash, body, approved_at) VALUES ($1, $2, $3)
                     ON CONFLICT (hash) DO NOTHING",
                )
                .bind(definition.hash.as_slice())
                .bind(&definition.body)
                .bind(definition.approved_at.0)
                .execute("store an approved definition")
                .await?;
        }
        transaction.commit(ACTION).await
    }

    /// Replaces each text for which `rewrite` returns another one, and returns their number.
    pub async fn rewrite_approved_bodies(
        &self,
        rewrite: impl Fn(&str) -> Option<String> + Send + Sync,
    ) -> Result<usize, Error> {
        let (mut last, mut rewritten) = (Vec::new(), 0);
        loop {
            let page: Vec<(Vec<u8>, String)> = self
                .engine
                .query(
                    "SELECT hash, body FROM approved_definitions WHERE hash > $1 ORDER BY hash LIMIT 500",
                )
                .bind(last.as_slice())
                .fetch_all("read the approved definitions")
                .await?;
            let Some((hash, _)) = page.last() else {
                return Ok(rewritten);
            };
            last.clone_from(hash);
            for (hash, body) in &page {
                let Some(body) = rewrite(body) else { continue };
                self.engine
                    .query("UPDATE approved_definitions SET body = $1 WHERE hash = $2")
                    .bind(body)
                    .bind(hash.as_slice())
                    .execute("rewrite an approved definition")
                    .await?;
                rewritten += 1;
            }
        }
    }

    /// Returns the texts of the hashes that are known.
    pub async fn approved_bodies(
        &self,
        hashes: &[[u8; 32]],
    ) -> Result<HashMap<[u8; 32], String>, Error> {
        let mut known = HashMap::new();
        for hash in hashes {
            if let Some(body) = self
                .engine
                .query("SELECT body FROM approved_definitions WHERE hash = $1")
                .bind(hash.as_slice())
                .fetch_optional_scalar("read an approved definition")
                .await?
            {
                known.insert(*hash, body);
            }
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        an_approved_text_is_returned_verbatim_and_never_changes,
        every_approved_text_with_a_secret_is_rewritten,
    );

    async fn every_approved_text_with_a_secret_is_rewritten(place: TestPlace) {
        let store = place.open().await;
        // More than fit on a page.
        let row = |number: u16| {
            let mut hash = [0; 32];
            hash[..2].copy_from_slice(&number.to_be_bytes());
            let body = format!(
                "{number} {}",
                if number.is_multiple_of(2) {
                    "s3cret"
                } else {
                    "plain"
                }
            );
            ApprovedDefinition {
                hash,
                body,
                approved_at: Timestamp(7),
            }
        };
        let rows: Vec<_> = (0..1_201).map(row).collect();
        store.put_approved_definitions(&rows).await.unwrap();
        let mask = |body: &str| {
            body.contains("s3cret")
                .then(|| body.replace("s3cret", "•••"))
        };
        assert_eq!(store.rewrite_approved_bodies(mask).await.unwrap(), 601);
        assert_eq!(store.rewrite_approved_bodies(mask).await.unwrap(), 0);
        let hashes = [rows[0].hash, rows[1].hash, rows[1_200].hash];
        let known = store.approved_bodies(&hashes).await.unwrap();
        let bodies = hashes.map(|hash| known[&hash].as_str());
        assert_eq!(bodies, ["0 •••", "1 plain", "1200 •••"]);
    }

    async fn an_approved_text_is_returned_verbatim_and_never_changes(place: TestPlace) {
        let store = place.open().await;
        let row = |hash: u8, body: &str| ApprovedDefinition {
            hash: [hash; 32],
            body: body.to_owned(),
            approved_at: Timestamp(7),
        };
        let texts = [row(1, "{\"é\":\"\\u0000\"}"), row(2, "{}"), row(1, "again")];
        store.put_approved_definitions(&texts).await.unwrap();
        store
            .put_approved_definitions(&[row(2, "other")])
            .await
            .unwrap();
        store.close().await;
        let store = place.open().await;
        let known = store
            .approved_bodies(&[[1; 32], [2; 32], [3; 32]])
            .await
            .unwrap();
        let expected = [1, 2].map(|at: u8| ([at; 32], texts[usize::from(at) - 1].body.clone()));
        assert_eq!(known, HashMap::from(expected));
    }
}
