//! A query with its vectors.

use std::sync::Arc;

use kitbag_relevance::language::detect_foreign_language;
use kitbag_relevance::learning::Votes;
use kitbag_relevance::{Index, Query, QueryStep, spelling, steps};

use super::CapabilityIndex;
use kitbag_domain::Remedy as _;
use kitbag_domain::sync::lock;
use kitbag_embedding::{EmbedderError, TextEmbedder};

/// No query needs more bytes, and no model reads more.
const MAX_TEXT: usize = 4_000;

pub struct EmbeddedQuery {
    text: String,
    vectors: Option<Arc<QueryVectors>>,
    /// The votes of past uses, if any.
    pub(crate) votes: Option<Votes>,
    /// The reason why only keywords are compared, although vectors were requested.
    pub degraded: Option<String>,
    /// The query with corrected spelling, if it had mistakes; the vectors are of this text.
    pub corrected: Option<String>,
    /// The query's language, if the model is known not to support it.
    pub language: Option<&'static str>,
}

pub(super) struct QueryVectors {
    whole: Arc<[f32]>,
    steps: Vec<QueryStep>,
}

impl CapabilityIndex {
    /// Prepares a caller's query. The built-in model was trained only on English; other models'
    /// languages are unknown. The vector of a foreign query still finds more than its keywords.
    pub async fn prepare_query(&self, text: &str) -> EmbeddedQuery {
        let language = self
            .embedder
            .is_built_in()
            .then(|| detect_foreign_language(text))
            .flatten();
        let corrected = match language {
            None => self.correct_spelling(&self.snapshot().index, text).await,
            Some(_) => None,
        };
        let query = self.embed_query(corrected.as_deref().unwrap_or(text)).await;
        EmbeddedQuery {
            language,
            corrected,
            ..query
        }
    }

    /// Corrects the query's spelling with the vocabulary of an index; `None` if nothing changes.
    pub async fn correct_spelling(&self, index: &Index, text: &str) -> Option<String> {
        let vocabulary = self.embedder.vocabulary().await?;
        spelling::correct_spelling(index, &truncate_query(text), |word| vocabulary.knows(word))
    }

    /// Embeds a query; without vectors if the embedder fails or the text is empty.
    pub async fn embed_query(&self, text: &str) -> EmbeddedQuery {
        let text = truncate_query(text);
        if text.trim().is_empty() {
            return EmbeddedQuery::without_vectors(text);
        }
        let known = lock(&self.query_cache).get(&text);
        if known.is_some() {
            return EmbeddedQuery {
                vectors: known,
                ..EmbeddedQuery::without_vectors(text)
            };
        }
        match QueryVectors::embed(&text, &self.embedder).await {
            Ok(vectors) => {
                let vectors = Arc::new(vectors);
                lock(&self.query_cache).put(&text, vectors.clone());
                EmbeddedQuery {
                    vectors: Some(vectors),
                    ..EmbeddedQuery::without_vectors(text)
                }
            }
            Err(error) => {
                tracing::debug!(%error, "embedding a query failed");
                EmbeddedQuery {
                    degraded: Some(degraded_note(&error)),
                    ..EmbeddedQuery::without_vectors(text)
                }
            }
        }
    }
}

impl QueryVectors {
    async fn embed(text: &str, embedder: &TextEmbedder) -> Result<Self, EmbedderError> {
        let steps = steps::split_steps(text);
        let texts = std::iter::once(text.to_owned()).chain(steps.iter().cloned());
        let vectors = embedder.embed_queries(texts.collect()).await?;
        Ok(Self::from_vectors(steps, vectors))
    }

    /// Splits the vectors into the whole text's vector and the steps' vectors.
    fn from_vectors(steps: Vec<String>, vectors: Vec<Vec<f32>>) -> Self {
        let mut vectors = vectors.into_iter().map(Arc::from);
        let whole = vectors.next().expect("every text has a vector");
        let steps = steps
            .into_iter()
            .zip(vectors)
            .map(|(text, vector)| QueryStep { text, vector })
            .collect();
        Self { whole, steps }
    }
}

impl EmbeddedQuery {
    /// Embeds a query without a gateway and its cache.
    pub(super) async fn embed_uncached(
        text: &str,
        embedder: &TextEmbedder,
    ) -> Result<Self, EmbedderError> {
        let vectors = QueryVectors::embed(text, embedder).await?;
        Ok(Self {
            vectors: Some(Arc::new(vectors)),
            ..Self::without_vectors(text.to_owned())
        })
    }

    /// Returns a query to be compared only by keywords.
    pub fn without_vectors(text: String) -> Self {
        Self {
            text,
            vectors: None,
            votes: None,
            degraded: None,
            corrected: None,
            language: None,
        }
    }

    /// Returns the vector of the whole text, if there are vectors.
    pub fn vector(&self) -> Option<Arc<[f32]>> {
        self.vectors.as_ref().map(|it| it.whole.clone())
    }

    pub fn as_query(&self) -> Query<'_> {
        let vectors = self.vectors.as_deref();
        Query {
            text: &self.text,
            vector: vectors.map(|it| &*it.whole),
            steps: vectors.map(|it| &*it.steps).unwrap_or_default(),
            votes: self.votes.as_ref(),
        }
    }
}

fn truncate_query(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

/// Returns the note for searches that used only keywords.
pub(crate) fn degraded_note(error: &EmbedderError) -> String {
    let remedy = error
        .remedy()
        .map(|remedy| format!("; {remedy}"))
        .unwrap_or_default();
    format!("found by keywords only: {error}{remedy}")
}
