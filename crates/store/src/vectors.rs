//! The embeddings of texts, so that no text is embedded twice by the same model.
//!
//! A vector belongs to what was embedded, not to the tool it came from: a tool that moves or
//! shares its text with another costs nothing, and a changed text is simply not there yet.

use std::collections::{HashMap, HashSet};
use std::fmt;

use sqlx::{QueryBuilder, Sqlite};

use crate::sqlite::Transaction;
use crate::{Error, Store, failed};

/// Identifies a text by its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash([u8; blake3::OUT_LEN]);

impl TextHash {
    pub fn of(text: &str) -> Self {
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }
}

impl fmt::Display for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl TextHash {
    /// Reads a hash as `to_string` writes it.
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

impl Store {
    /// Keeps all of them or none, in place of earlier ones of the same texts.
    pub async fn put_vectors(
        &self,
        model: &str,
        vectors: &[(TextHash, Vec<f32>)],
    ) -> Result<(), Error> {
        let mut transaction = self.sqlite.begin("begin to keep vectors").await?;
        for some in vectors.chunks(ROWS_PER_STATEMENT) {
            insertion(model, some)
                .build()
                .persistent(some.len() == ROWS_PER_STATEMENT)
                .execute(&mut *transaction)
                .await
                .map_err(failed("keep vectors"))?;
        }
        transaction.commit("keep vectors").await
    }

    /// Returns those of the wanted vectors that are there and undamaged.
    pub async fn vectors(
        &self,
        model: &str,
        wanted: &[TextHash],
    ) -> Result<HashMap<TextHash, Vec<f32>>, Error> {
        let mut found = HashMap::with_capacity(wanted.len());
        for some in wanted.chunks(ROWS_PER_STATEMENT) {
            let rows: Vec<(Vec<u8>, Vec<u8>)> = selection(model, some)
                .build_query_as()
                .persistent(some.len() == ROWS_PER_STATEMENT)
                .fetch_all(&self.sqlite.reader)
                .await
                .map_err(failed("recall vectors"))?;
            found.extend(rows.iter().filter_map(read));
        }
        Ok(found)
    }

    /// Returns how many vectors of the model are kept.
    pub async fn vector_count(&self, model: &str) -> Result<u64, Error> {
        let count: i64 = sqlx::query_scalar("SELECT count(*) FROM vectors WHERE model = ?")
            .bind(model)
            .fetch_one(&self.sqlite.reader)
            .await
            .map_err(failed("count vectors"))?;
        Ok(count.unsigned_abs())
    }

    /// Removes the vectors of the model for all other texts. Returns how many those were.
    pub async fn forget_vectors(
        &self,
        model: &str,
        keep: &HashSet<TextHash>,
    ) -> Result<u64, Error> {
        let mut transaction = self.sqlite.begin("begin to forget vectors").await?;
        let mut unneeded = hashes(&mut transaction, model).await?;
        unneeded.retain(|hash| !stored_hash(hash).is_some_and(|hash| keep.contains(&hash)));
        for some in unneeded.chunks(ROWS_PER_STATEMENT) {
            delete(&mut transaction, model, some).await?;
        }
        transaction.commit("forget vectors").await?;
        Ok(unneeded.len() as u64)
    }
}

async fn hashes(transaction: &mut Transaction, model: &str) -> Result<Vec<Vec<u8>>, Error> {
    sqlx::query_scalar("SELECT text_hash FROM vectors WHERE model = ?")
        .bind(model)
        .fetch_all(&mut **transaction)
        .await
        .map_err(failed("look for vectors to forget"))
}

async fn delete(
    transaction: &mut Transaction,
    model: &str,
    hashes: &[Vec<u8>],
) -> Result<(), Error> {
    let mut delete = QueryBuilder::new("DELETE FROM vectors WHERE ");
    push_key(&mut delete, model, hashes.iter().map(Vec::as_slice));
    let done = delete.build().execute(&mut **transaction).await;
    done.map(drop).map_err(failed("forget vectors"))
}

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

fn insertion(model: &str, vectors: &[(TextHash, Vec<f32>)]) -> QueryBuilder<Sqlite> {
    let mut insert =
        QueryBuilder::new("INSERT INTO vectors (model, text_hash, dimension, vector) ");
    insert.push_values(vectors, |mut values, (hash, vector)| {
        values
            .push_bind(model.to_owned())
            .push_bind(hash.0.to_vec())
            .push_bind(vector.len() as i64)
            .push_bind(bytes(vector));
    });
    insert.push(
        " ON CONFLICT (model, text_hash) DO UPDATE SET
              dimension = excluded.dimension, vector = excluded.vector",
    );
    insert
}

fn selection(model: &str, wanted: &[TextHash]) -> QueryBuilder<Sqlite> {
    let mut select = QueryBuilder::new(
        "SELECT text_hash, vector FROM vectors WHERE length(vector) = 4 * dimension AND ",
    );
    push_key(
        &mut select,
        model,
        wanted.iter().map(|hash| hash.0.as_slice()),
    );
    select
}

fn push_key<'a>(
    query: &mut QueryBuilder<Sqlite>,
    model: &str,
    hashes: impl Iterator<Item = &'a [u8]>,
) {
    query
        .push("model = ")
        .push_bind(model.to_owned())
        .push(" AND text_hash IN (");
    let mut list = query.separated(", ");
    for hash in hashes {
        list.push_bind(hash.to_vec());
    }
    query.push(")");
}

fn read((hash, vector): &(Vec<u8>, Vec<u8>)) -> Option<(TextHash, Vec<f32>)> {
    Some((stored_hash(hash)?, numbers(vector)))
}

fn stored_hash(bytes: &[u8]) -> Option<TextHash> {
    bytes.try_into().ok().map(TextHash)
}

fn bytes(vector: &[f32]) -> Vec<u8> {
    vector
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks();
    numbers
        .iter()
        .map(|number| f32::from_le_bytes(*number))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{path, store};

    const MODEL: &str = "small-1";

    fn texts(numbers: std::ops::Range<u32>) -> Vec<TextHash> {
        numbers
            .map(|number| TextHash::of(&format!("text {number}")))
            .collect()
    }

    /// One vector for each text, all of them different.
    fn embedded(texts: &[TextHash]) -> Vec<(TextHash, Vec<f32>)> {
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
        assert_eq!(found.unwrap(), embedded(there).into_iter().collect());
    }

    #[test]
    fn a_text_has_one_hash_and_it_reads_as_hex() {
        let hash = TextHash::of("");
        assert_eq!(hash, TextHash::of(""));
        assert_ne!(hash, TextHash::of(" "));
        assert_eq!(
            hash.to_string(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    #[tokio::test]
    async fn vectors_come_back_to_the_bit_after_a_restart() {
        let (directory, store) = store().await;
        let odd = vec![
            f32::MIN_POSITIVE / 2.0,
            -0.0,
            1.0 / 3.0,
            f32::MAX,
            f32::NEG_INFINITY,
        ];
        let hash = TextHash::of("odd");
        store
            .put_vectors(MODEL, &[(hash, odd.clone())])
            .await
            .unwrap();
        store.close().await;
        let store = Store::open(&path(&directory)).await.unwrap();
        let found = store.vectors(MODEL, &[hash]).await.unwrap();
        assert_eq!(bytes(&found[&hash]), bytes(&odd));
    }

    #[tokio::test]
    async fn every_wanted_vector_that_is_there_is_found_and_no_other() {
        let (_directory, store) = store().await;
        let all = texts(0..1500);
        store
            .put_vectors(MODEL, &embedded(&all[..1200]))
            .await
            .unwrap();
        check(store.vectors(MODEL, &all[100..]).await, &all[100..1200]);
        check(store.vectors(MODEL, &all[1200..]).await, &[]);
        check(store.vectors(MODEL, &[]).await, &[]);
        check(store.vectors(MODEL, &[all[7], all[7]]).await, &all[7..8]);
    }

    #[tokio::test]
    async fn models_do_not_see_each_others_vectors() {
        let (_directory, store) = store().await;
        let all = texts(0..3);
        store.put_vectors(MODEL, &embedded(&all)).await.unwrap();
        check(store.vectors("small-2", &all).await, &[]);
        assert_eq!(
            store
                .forget_vectors("small-2", &HashSet::new())
                .await
                .unwrap(),
            0
        );
        check(store.vectors(MODEL, &all).await, &all);
    }

    #[tokio::test]
    async fn a_later_vector_replaces_the_earlier_one() {
        let (_directory, store) = store().await;
        let text = texts(0..1);
        store
            .put_vectors(MODEL, &[(text[0], vec![1.0, 2.0])])
            .await
            .unwrap();
        store.put_vectors(MODEL, &embedded(&text)).await.unwrap();
        check(store.vectors(MODEL, &text).await, &text);
    }

    #[tokio::test]
    async fn vectors_no_longer_needed_are_forgotten_and_the_others_stay() {
        let (_directory, store) = store().await;
        let all = texts(0..1500);
        store.put_vectors(MODEL, &embedded(&all)).await.unwrap();
        let keep: HashSet<_> = all[1400..]
            .iter()
            .copied()
            .chain(texts(9000..9010))
            .collect();
        assert_eq!(store.forget_vectors(MODEL, &keep).await.unwrap(), 1400);
        assert_eq!(store.forget_vectors(MODEL, &keep).await.unwrap(), 0);
        assert_eq!(store.vector_count(MODEL).await.unwrap(), 100);
        check(store.vectors(MODEL, &all).await, &all[1400..]);
    }

    #[tokio::test]
    async fn a_damaged_vector_is_as_good_as_missing_and_can_be_replaced() {
        let (_directory, store) = store().await;
        let all = texts(0..4);
        store.put_vectors(MODEL, &embedded(&all)).await.unwrap();
        for (hash, damaged) in [
            (all[0], "x''"),
            (all[1], "x'0000803f'"),
            (all[2], "vector || x'00'"),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(format!(
                "UPDATE vectors SET vector = CAST({damaged} AS BLOB) WHERE text_hash = ?"
            )))
            .bind(hash.0.as_slice())
            .execute(&store.sqlite.writer)
            .await
            .unwrap();
        }
        check(store.vectors(MODEL, &all).await, &all[3..]);
        store.put_vectors(MODEL, &embedded(&all)).await.unwrap();
        check(store.vectors(MODEL, &all).await, &all);
    }
}
