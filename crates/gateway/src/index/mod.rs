//! Keeps the capability index in step with the catalog.
//!
//! A changed catalog becomes searchable by its words at once; vectors that are in the store
//! already come along, the others are computed beside the requests and join when they are
//! ready. A request only ever reads one finished snapshot.

pub(crate) mod embedder;
pub(crate) mod source;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arc_swap::ArcSwap;
use kitbag_domain::Capability;
use kitbag_relevance::{Candidate, Document, Index, Intent, Options, retrieve};
use kitbag_store::{Store, TextHash};

use self::embedder::{Embedder, EmbedderError};
use self::source::{Source, Tool};
use crate::catalog::Catalog;
use crate::rooms::now;
use crate::sync::lock;

/// The namespace of the key-value mirror.
pub(crate) const NAMESPACE: &str = "capability_index";
/// Texts that are embedded before what is there so far is published.
const PORTION: usize = 256;
/// Intents whose vectors are remembered, for those who ask the same again.
const REMEMBERED_INTENTS: usize = 1_024;

pub(crate) struct CapabilityIndex {
    snapshot: ArcSwap<Snapshot>,
    embedder: Embedder,
    store: Store,
    vectors: Mutex<HashMap<TextHash, Arc<[f32]>>>,
    intents: Mutex<HashMap<String, Arc<[f32]>>>,
}

/// The index together with what policy wants to know of its documents, in the same order.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) index: Index,
    pub(crate) capabilities: Vec<Capability>,
}

impl CapabilityIndex {
    pub(crate) fn new(embedder: Embedder, store: Store) -> Self {
        Self {
            snapshot: ArcSwap::default(),
            embedder,
            store,
            vectors: Mutex::default(),
            intents: Mutex::default(),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Takes in a new catalog. Comes back when every vector is there, or when it has been
    /// overtaken by a newer one; words are searchable long before.
    pub(crate) async fn rebuild(
        &self,
        catalog: &Catalog,
        overtaken: impl Fn() -> bool,
        progress: impl Fn(usize, usize),
    ) {
        let now = now();
        let sources: Vec<Source> =
            catalog.tools.iter().map(|entry| Tool::of(entry).into_source(now)).collect();
        let capabilities: Vec<_> = catalog.tools.iter().map(|entry| entry.capability.clone()).collect();
        self.recall(&sources).await;
        self.publish(&sources, &capabilities);
        self.mirror(&sources).await;

        let missing = self.missing(&sources);
        let (total, started) = (missing.len(), Instant::now());
        for (number, portion) in missing.chunks(PORTION).enumerate() {
            progress(number * PORTION, total);
            if overtaken() {
                return;
            }
            if let Err(error) = self.embed(portion).await {
                tracing::warn!(%error, "tools stay without vectors; they are found by their words");
                return;
            }
            self.publish(&sources, &capabilities);
        }
        if total > 0 {
            progress(total, total);
            tracing::info!(tools = total, seconds = started.elapsed().as_secs_f32(), "vectors computed");
        }
    }

    /// An index over these tools alone, apart from the one that serves.
    pub(crate) async fn index_of(
        &self,
        sources: &[Source],
        with_vectors: bool,
        progress: impl Fn(usize, usize),
    ) -> Result<Index, EmbedderError> {
        if with_vectors {
            self.recall(sources).await;
            let missing = self.missing(sources);
            for (number, portion) in missing.chunks(PORTION).enumerate() {
                progress(number * PORTION, missing.len());
                self.embed(portion).await?;
            }
        }
        Ok(Index::build(self.documents(sources)))
    }

    /// Searches for what a caller may see.
    pub(crate) fn search(
        &self,
        text: &str,
        options: &Options,
        allowed: impl Fn(&Capability) -> bool,
    ) -> Vec<Candidate> {
        let vector = self.intent(text);
        let snapshot = self.snapshot();
        let intent = Intent { text, vector: vector.as_deref() };
        retrieve(&snapshot.index, intent, options, |at| allowed(&snapshot.capabilities[at]))
    }

    /// The vector of an intent, remembered for a while; one that says nothing has none.
    pub(crate) fn intent(&self, text: &str) -> Option<Arc<[f32]>> {
        if text.trim().is_empty() {
            return None;
        }
        if let Some(known) = lock(&self.intents).get(text) {
            return Some(known.clone());
        }
        let vector: Arc<[f32]> = self.embedder.intent(text).into();
        let mut intents = lock(&self.intents);
        if intents.len() >= REMEMBERED_INTENTS {
            intents.clear();
        }
        intents.insert(text.to_owned(), vector.clone());
        Some(vector)
    }

    /// Takes from the store the vectors that are not in memory yet.
    async fn recall(&self, sources: &[Source]) {
        let wanted: Vec<TextHash> = {
            let vectors = lock(&self.vectors);
            sources.iter().map(|it| it.hash).filter(|hash| !vectors.contains_key(hash)).collect()
        };
        if wanted.is_empty() {
            return;
        }
        match self.store.vectors(&self.embedder.id(), &wanted).await {
            Ok(known) => {
                lock(&self.vectors).extend(known.into_iter().map(|(hash, vector)| (hash, vector.into())));
            }
            Err(error) => tracing::warn!(%error, "stored vectors cannot be read and are computed again"),
        }
    }

    fn missing(&self, sources: &[Source]) -> Vec<(TextHash, String)> {
        let vectors = lock(&self.vectors);
        let mut seen = HashSet::new();
        sources
            .iter()
            .filter(|it| !vectors.contains_key(&it.hash) && seen.insert(it.hash))
            .map(|it| (it.hash, it.text.clone()))
            .collect()
    }

    async fn embed(&self, portion: &[(TextHash, String)]) -> Result<(), EmbedderError> {
        let texts: Vec<String> = portion.iter().map(|(_, text)| text.clone()).collect();
        let embedded = self.embedder.documents(texts).await?;
        let pairs: Vec<_> = portion.iter().map(|(hash, _)| *hash).zip(embedded).collect();
        if let Err(error) = self.store.put_vectors(&self.embedder.id(), &pairs).await {
            tracing::warn!(%error, "vectors could not be kept; the next start computes them again");
        }
        lock(&self.vectors).extend(pairs.into_iter().map(|(hash, vector)| (hash, vector.into())));
        Ok(())
    }

    fn publish(&self, sources: &[Source], capabilities: &[Capability]) {
        let index = Index::build(self.documents(sources));
        self.snapshot.store(Arc::new(Snapshot { index, capabilities: capabilities.to_vec() }));
    }

    /// The documents with the vectors that are known by now.
    fn documents(&self, sources: &[Source]) -> Vec<Document> {
        let vectors = lock(&self.vectors);
        let with_vector =
            |it: &Source| Document { vector: vectors.get(&it.hash).cloned(), ..it.document.clone() };
        sources.iter().map(with_vector).collect()
    }

    async fn mirror(&self, sources: &[Source]) {
        let entries: Vec<(String, String)> = sources
            .iter()
            .map(|it| {
                let entry = &it.document.entry;
                (entry.tool_name.clone(), serde_json::to_string(&**entry).expect("an entry is plain JSON"))
            })
            .collect();
        if let Err(error) = self.store.put_mirror(NAMESPACE, &entries).await {
            tracing::warn!(%error, "the mirror of the index could not be written");
        }
    }
}
