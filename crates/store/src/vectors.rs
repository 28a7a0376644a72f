//! The embeddings of texts, so that no text is embedded twice by the same model.
//!
//! A vector belongs to the embedded text, not to its tool: a tool that moves or shares its text
//! with another costs nothing, and a changed text simply has no vector yet.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use crate::{Error, Store};

/// Identifies a text by its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash([u8; blake3::OUT_LEN]);

impl TextHash {
    pub fn for_text(text: &str) -> Self {
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl TextHash {
    /// Parses a hash as `to_string` writes it.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text)
            .ok()
            .map(|hash| Self(*hash.as_bytes()))
    }
}

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextHash({self})")
    }
}

/// The vectors of one model in one namespace. A model without a namespace is the index of
/// capabilities; entries that only one tenant may find are in a namespace of that tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorSpace<'a> {
    pub namespace: &'a str,
    pub model: &'a str,
}

impl VectorSpace<'_> {
    pub const CAPABILITIES: &'static str = "capability_index";
}

impl<'a> From<&'a str> for VectorSpace<'a> {
    fn from(model: &'a str) -> Self {
        Self {
            namespace: Self::CAPABILITIES,
            model,
        }
    }
}

impl<'a> From<&'a String> for VectorSpace<'a> {
    fn from(model: &'a String) -> Self {
        Self::from(model.as_str())
    }
}

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 512;

const WRITE: &str = "store vectors";
const DELETE: &str = "delete vectors";

impl Store {
    /// Stores all of them or none, in place of earlier vectors of the same texts.
    pub async fn put_vectors(
        &self,
        space: impl Into<VectorSpace<'_>>,
        vectors: &[(TextHash, Vec<f32>)],
    ) -> Result<(), Error> {
        let space = space.into();
        // One statement must not write a row twice, so of two vectors of one text the later wins.
        // In a fixed order, so that two gateways that embed the same texts do not deadlock.
        let distinct: BTreeMap<&TextHash, &Vec<f32>> = vectors
            .iter()
            .map(|(hash, vector)| (hash, vector))
            .collect();
        let distinct: Vec<(&TextHash, &Vec<f32>)> = distinct.into_iter().collect();
        let mut transaction = self.engine.begin(WRITE).await?;
        for chunk in distinct.chunks(ROWS_PER_STATEMENT) {
            transaction
                .query(
                    "INSERT INTO vectors (namespace, model, text_hash, dimension, vector) VALUES ",
                )
                .push_tuples(chunk, |query, (hash, vector)| {
                    query
                        .bind(space.namespace)
                        .bind(space.model)
                        .bind(hash.0.as_slice())
                        .bind(vector.len() as i64)
                        .bind(to_bytes(vector))
                })
                .push(" ON CONFLICT (namespace, model, text_hash) DO UPDATE")
                .push(" SET dimension = excluded.dimension, vector = excluded.vector")
                .execute(WRITE)
                .await?;
        }
        transaction.commit(WRITE).await
    }

    /// Returns the wanted vectors that exist and are undamaged.
    pub async fn vectors(
        &self,
        space: impl Into<VectorSpace<'_>>,
        wanted: &[TextHash],
    ) -> Result<HashMap<TextHash, Vec<f32>>, Error> {
        let space = space.into();
        let mut found = HashMap::with_capacity(wanted.len());
        for chunk in wanted.chunks(ROWS_PER_STATEMENT) {
            let rows: Vec<(Vec<u8>, Vec<u8>)> = self
                .engine
                .query("SELECT text_hash, vector FROM vectors WHERE length(vector) = 4 * dimension")
                .push_bind(" AND namespace = ", space.namespace)
                .push_bind(" AND model = ", space.model)
                .push(" AND text_hash IN ")
                .push_list(chunk.iter().map(|hash| hash.0.as_slice()))
                .fetch_all("read vectors")
                .await?;
            let rows = rows.iter();
            found.extend(rows.filter_map(|(hash, it)| Some((stored_hash(hash)?, from_bytes(it)))));
        }
        Ok(found)
    }

    /// Returns the number of stored vectors.
    pub async fn vector_count(&self, space: impl Into<VectorSpace<'_>>) -> Result<u64, Error> {
        let space = space.into();
        self.engine
            .query("SELECT count(*) FROM vectors WHERE namespace = $1 AND model = $2")
            .bind(space.namespace)
            .bind(space.model)
            .fetch_scalar("count vectors")
            .await
            .map(i64::unsigned_abs)
    }

    /// Removes the vectors of all other texts. Returns their number.
    pub async fn retain_vectors(
        &self,
        space: impl Into<VectorSpace<'_>>,
        keep: &HashSet<TextHash>,
    ) -> Result<u64, Error> {
        let space = space.into();
        let mut transaction = self.engine.begin(DELETE).await?;
        let mut unneeded: Vec<Vec<u8>> = transaction
            .query("SELECT text_hash FROM vectors WHERE namespace = $1 AND model = $2")
            .bind(space.namespace)
            .bind(space.model)
            .fetch_scalars("find vectors to delete")
            .await?;
        unneeded.retain(|hash| !stored_hash(hash).is_some_and(|hash| keep.contains(&hash)));
        let mut removed = 0;
        for chunk in unneeded.chunks(ROWS_PER_STATEMENT) {
            removed += transaction
                .query("DELETE FROM vectors WHERE namespace = $1 AND model = $2 AND text_hash IN ")
                .bind(space.namespace)
                .bind(space.model)
                .push_list(chunk.iter().map(Vec::as_slice))
                .execute(DELETE)
                .await?;
        }
        transaction.commit(DELETE).await?;
        Ok(removed)
    }
}

fn stored_hash(bytes: &[u8]) -> Option<TextHash> {
    bytes.try_into().ok().map(TextHash)
}

fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks();
    numbers
        .iter()
        .map(|number| f32::from_le_bytes(*number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::test_store::{TestPlace, each_engine, execute};

    each_engine!(
        vectors_are_identical_after_a_restart,
        every_wanted_vector_that_is_there_is_found_and_no_other,
        models_do_not_see_each_others_vectors,
        a_tenant_has_vectors_of_its_own,
        a_later_vector_replaces_the_earlier_one,
        unneeded_vectors_are_deleted_and_the_others_stay,
        a_damaged_vector_counts_as_missing_and_can_be_replaced,
    );

    const MODEL: &str = "small-1";

    fn texts(numbers: std::ops::Range<u32>) -> Vec<TextHash> {
        numbers
            .map(|number| TextHash::for_text(&format!("text {number}")))
            .collect()
    }

    /// One vector for each text, all of them different.
    fn embed_all(texts: &[TextHash]) -> Vec<(TextHash, Vec<f32>)> {
        let vector = |hash: &TextHash| {
            hash.0
                .iter()
                .map(|byte| f32::from(*byte) / 255.0 - 0.5)
                .collect()
        };
        texts.iter().map(|hash| (*hash, vector(hash))).collect()
    }

    /// Checks that exactly the vectors of these texts were found.
    #[track_caller]
    fn check(found: Result<HashMap<TextHash, Vec<f32>>, Error>, there: &[TextHash]) {
        assert_eq!(found.unwrap(), embed_all(there).into_iter().collect());
    }

    #[test]
    fn a_text_has_one_hash_and_it_reads_as_hex() {
        let hash = TextHash::for_text("");
        assert_eq!(hash, TextHash::for_text(""));
        assert_ne!(hash, TextHash::for_text(" "));
        assert_eq!(
            hash.to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    async fn vectors_are_identical_after_a_restart(place: TestPlace) {
        let store = place.open().await;
        let odd = vec![
            f32::MIN_POSITIVE / 2.0,
            -0.0,
            1.0 / 3.0,
            f32::MAX,
            f32::NEG_INFINITY,
        ];
        let hash = TextHash::for_text("odd");
        store
            .put_vectors(MODEL, &[(hash, odd.clone())])
            .await
            .unwrap();
        store.close().await;
        let store = place.open().await;
        let found = store.vectors(MODEL, &[hash]).await.unwrap();
        assert_eq!(to_bytes(&found[&hash]), to_bytes(&odd));
    }

    async fn every_wanted_vector_that_is_there_is_found_and_no_other(place: TestPlace) {
        let store = place.open().await;
        let all = texts(0..1500);
        store
            .put_vectors(MODEL, &embed_all(&all[..1200]))
            .await
            .unwrap();
        check(store.vectors(MODEL, &all[100..]).await, &all[100..1200]);
        check(store.vectors(MODEL, &all[1200..]).await, &[]);
        check(store.vectors(MODEL, &[]).await, &[]);
        check(store.vectors(MODEL, &[all[7], all[7]]).await, &all[7..8]);
    }

    async fn models_do_not_see_each_others_vectors(place: TestPlace) {
        let store = place.open().await;
        let all = texts(0..3);
        store.put_vectors(MODEL, &embed_all(&all)).await.unwrap();
        check(store.vectors("small-2", &all).await, &[]);
        assert_eq!(
            store
                .retain_vectors("small-2", &HashSet::new())
                .await
                .unwrap(),
            0
        );
        check(store.vectors(MODEL, &all).await, &all);
    }

    async fn a_tenant_has_vectors_of_its_own(place: TestPlace) {
        let store = place.open().await;
        let all = texts(0..3);
        let tenant = VectorSpace {
            namespace: "tenant_acme",
            model: MODEL,
        };
        store
            .put_vectors(MODEL, &embed_all(&all[..2]))
            .await
            .unwrap();
        store
            .put_vectors(tenant, &embed_all(&all[2..]))
            .await
            .unwrap();
        check(store.vectors(MODEL, &all).await, &all[..2]);
        check(store.vectors(tenant, &all).await, &all[2..]);
        store.retain_vectors(MODEL, &HashSet::new()).await.unwrap();
        check(store.vectors(tenant, &all).await, &all[2..]);
    }

    async fn a_later_vector_replaces_the_earlier_one(place: TestPlace) {
        let store = place.open().await;
        let text = texts(0..1);
        store
            .put_vectors(MODEL, &[(text[0], vec![1.0, 2.0])])
            .await
            .unwrap();
        store.put_vectors(MODEL, &embed_all(&text)).await.unwrap();
        check(store.vectors(MODEL, &text).await, &text);
    }

    async fn unneeded_vectors_are_deleted_and_the_others_stay(place: TestPlace) {
        let store = place.open().await;
        let all = texts(0..1500);
        store.put_vectors(MODEL, &embed_all(&all)).await.unwrap();
        let keep: HashSet<_> = all[1400..]
            .iter()
            .copied()
            .chain(texts(9000..9010))
            .collect();
        assert_eq!(store.retain_vectors(MODEL, &keep).await.unwrap(), 1400);
        assert_eq!(store.retain_vectors(MODEL, &keep).await.unwrap(), 0);
        assert_eq!(store.vector_count(MODEL).await.unwrap(), 100);
        check(store.vectors(MODEL, &all).await, &all[1400..]);
    }

    async fn a_damaged_vector_counts_as_missing_and_can_be_replaced(place: TestPlace) {
        let store = place.open().await;
        let all = texts(0..4);
        store.put_vectors(MODEL, &embed_all(&all)).await.unwrap();
        // Shorter and longer than its dimension says.
        for (hash, damaged) in [(all[0], 0), (all[1], 1), (all[2], 4096)] {
            let digits = hash.to_string();
            let key = match &store.engine {
                Engine::Sqlite(_) => format!("x'{digits}'"),
                Engine::Postgres(_) => format!("'\\x{digits}'"),
            };
            let sql = format!("UPDATE vectors SET dimension = {damaged} WHERE text_hash = {key}");
            execute(&store, &sql).await;
        }
        check(store.vectors(MODEL, &all).await, &all[3..]);
        store.put_vectors(MODEL, &embed_all(&all)).await.unwrap();
        check(store.vectors(MODEL, &all).await, &all);
    }
}
