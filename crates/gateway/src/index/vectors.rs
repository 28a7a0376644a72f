//! The vectors of the tools: in memory, in the store, and missing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use kitbag_domain::sync::lock;
use kitbag_embedding::{EmbedderError, TextEmbedder};
use kitbag_relevance::Document;
use kitbag_store::{Store, TextHash};

use super::Snapshot;
use super::mirror::Mirror;
use super::source::IndexSource;

/// Unused vectors that stay in the store for servers that return.
const SPARE_VECTORS: u64 = 1_000;

/// The vectors of a portion, each with the hash of its text.
pub(super) type ComputedVectors = Vec<(TextHash, Vec<f32>)>;

pub(super) struct ToolVectors {
    embedder: Arc<TextEmbedder>,
    store: Store,
    in_memory: Mutex<HashMap<TextHash, Arc<[f32]>>>,
}

impl ToolVectors {
    pub(super) fn new(embedder: Arc<TextEmbedder>, store: Store) -> Self {
        Self {
            embedder,
            store,
            in_memory: Mutex::default(),
        }
    }

    /// Returns the available vectors, in the order of the tools.
    pub(super) fn known_vectors(&self, sources: &[Arc<IndexSource>]) -> Vec<Option<Arc<[f32]>>> {
        let vectors = lock(&self.in_memory);
        sources
            .iter()
            .map(|it| vectors.get(&it.hash).cloned())
            .collect()
    }

    /// Returns the documents with the available vectors. Unchanged documents are reused from a
    /// snapshot; each source comes with its position there.
    pub(super) fn build_documents(
        &self,
        sources: &[Arc<IndexSource>],
        before: &Snapshot,
        positions: &[Option<usize>],
    ) -> Vec<Arc<Document>> {
        let known = before.index.documents();
        let documents = sources
            .iter()
            .zip(self.known_vectors(sources))
            .zip(positions);
        documents
            .map(|((source, vector), position)| {
                let is_same = |at: &usize| {
                    let same_vector = known[*at].vector.as_ref().map(Arc::as_ptr);
                    Arc::ptr_eq(&before.sources[*at], source)
                        && same_vector == vector.as_ref().map(Arc::as_ptr)
                };
                match position.filter(is_same) {
                    Some(at) => known[at].clone(),
                    None => Arc::new(Document {
                        vector,
                        ..source.document.clone()
                    }),
                }
            })
            .collect()
    }

    /// Loads vectors from the store that are not in memory yet, and drops unneeded ones from
    /// memory.
    pub(super) async fn load_from_store(
        &self,
        sources: &[Arc<IndexSource>],
    ) -> Result<(), EmbedderError> {
        let wanted = self.drop_unused(sources);
        if wanted.is_empty() {
            return Ok(());
        }
        let model = self.embedder.id().await?;
        match self.store.vectors(&model, &wanted).await {
            Ok(known) => {
                if let Some(vector) = known.values().next() {
                    self.embedder.set_dimension(vector.len());
                }
                self.add_to_memory(known);
            }
            Err(error) => {
                tracing::warn!(%error, "failed to read stored vectors; computing them again");
            }
        }
        Ok(())
    }

    /// Drops the vectors of other tools from memory. Returns the texts of these tools that have no
    /// vector there.
    fn drop_unused(&self, sources: &[Arc<IndexSource>]) -> Vec<TextHash> {
        let mut vectors = lock(&self.in_memory);
        let mut used: HashSet<TextHash> = sources.iter().map(|it| it.hash).collect();
        vectors.retain(|hash, _| used.contains(hash));
        used.retain(|hash| !vectors.contains_key(hash));
        used.into_iter().collect()
    }

    /// Returns the texts that have no vector in memory.
    pub(super) fn missing_texts(&self, sources: &[Arc<IndexSource>]) -> Vec<(TextHash, String)> {
        let vectors = lock(&self.in_memory);
        let mut seen = HashSet::new();
        sources
            .iter()
            .filter(|it| !vectors.contains_key(&it.hash) && seen.insert(it.hash))
            .map(|it| (it.hash, it.text.clone()))
            .collect()
    }

    /// Computes the vectors of a portion.
    pub(super) async fn embed_texts(
        &self,
        portion: &[(TextHash, String)],
    ) -> Result<ComputedVectors, EmbedderError> {
        let texts: Vec<String> = portion.iter().map(|(_, text)| text.clone()).collect();
        let vectors = self.embedder.embed_documents(texts).await?;
        let hashes = portion.iter().map(|(hash, _)| *hash);
        Ok(hashes.zip(vectors).collect())
    }

    /// Stores vectors in memory and in the store.
    pub(super) async fn store(&self, computed: ComputedVectors) -> Result<(), EmbedderError> {
        let model = self.embedder.id().await?;
        if let Err(error) = self.store.put_vectors(&model, &computed).await {
            tracing::warn!(%error, "failed to store vectors; the next start computes them again");
        }
        self.add_to_memory(computed);
        Ok(())
    }

    fn add_to_memory(&self, vectors: impl IntoIterator<Item = (TextHash, Vec<f32>)>) {
        let vectors = vectors.into_iter();
        lock(&self.in_memory).extend(vectors.map(|(hash, vector)| (hash, vector.into())));
    }

    /// Deletes stored vectors that no tool uses any more, once there are many of them, so that
    /// disabling a server temporarily costs nothing.
    pub(super) async fn forget_unused(&self, mirror: &Mirror) {
        let Ok(model) = self.embedder.id().await else {
            return;
        };
        match self.forget_unused_of_model(&model, mirror).await {
            Ok(0) => {}
            Ok(number) => tracing::info!(number, "deleted the vectors of removed tools"),
            Err(error) => {
                tracing::warn!(%error, "failed to delete the vectors of removed tools");
            }
        }
    }

    async fn forget_unused_of_model(
        &self,
        model: &str,
        mirror: &Mirror,
    ) -> Result<u64, kitbag_store::Error> {
        let used: HashSet<TextHash> = lock(&self.in_memory).keys().copied().collect();
        let stored = self.store.vector_count(model).await?;
        if !has_many_unused(stored, &used) {
            return Ok(0);
        }
        let elsewhere = mirror.texts_elsewhere().await?;
        let needed: HashSet<TextHash> = used.union(&elsewhere).copied().collect();
        if !has_many_unused(stored, &needed) {
            return Ok(0);
        }
        self.store.retain_vectors(model, &needed).await
    }
}

fn has_many_unused(stored: u64, needed: &HashSet<TextHash>) -> bool {
    stored > 2 * needed.len() as u64 + SPARE_VECTORS
}
