//! Keeps the capability index in step with the catalog.
//!
//! A changed catalog becomes searchable by its words at once; vectors that are in the store
//! already come along, the others are computed beside the requests and join when they are
//! ready. A request only ever reads one finished snapshot.

pub(crate) mod embedder;
pub(crate) mod source;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arc_swap::ArcSwap;
use kitbag_domain::Capability;
use kitbag_relevance::{Candidate, Document, Index, Intent, Options, retrieve};
use kitbag_store::{Store, TextHash};

use self::embedder::Embedder;
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
    /// Rises with every rebuild, so that an older one can tell it has been overtaken.
    generation: AtomicU64,
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
            generation: AtomicU64::new(0),
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Takes in a new catalog. Comes back when every vector is there, unless a newer catalog
    /// overtakes it; words are searchable long before.
    pub(crate) async fn rebuild(&self, catalog: &Catalog, progress: impl Fn(usize, usize)) {
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let now = now();
        let sources: Vec<Source> = catalog.tools.iter().map(|entry| Tool::of(entry).into_source(now)).collect();
        let capabilities: Vec<_> = catalog.tools.iter().map(|entry| entry.capability.clone()).collect();
        self.recall(&sources).await;
        self.publish(&sources, &capabilities);
        self.mirror(&sources).await;

        let missing = self.missing(&sources);
        let (total, started) = (missing.len(), Instant::now());
        for (number, portion) in missing.chunks(PORTION).enumerate() {
            progress(number * PORTION, total);
            if self.generation.load(Ordering::Relaxed) != generation {
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

    /// Searches for what a caller may see.
    pub(crate) async fn search<T>(
        &self,
        text: &str,
        options: &Options,
        allowed: impl Fn(&Capability) -> bool,
        take: impl FnOnce(Vec<Candidate<'_>>) -> T,
    ) -> T {
        let vector = self.intent(text).await;
        let snapshot = self.snapshot();
        let intent = Intent { text, vector: vector.as_deref() };
        take(retrieve(&snapshot.index, intent, options, |at| allowed(&snapshot.capabilities[at])))
    }

    /// The vector of an intent, remembered for a while. Without one, words must do.
    pub(crate) async fn intent(&self, text: &str) -> Option<Arc<[f32]>> {
        if text.trim().is_empty() {
            return None;
        }
        if let Some(known) = lock(&self.intents).get(text) {
            return Some(known.clone());
        }
        let vector: Arc<[f32]> = match self.embedder.intent(text).await {
            Ok(vector) => vector.into(),
            Err(error) => {
                tracing::warn!(%error, "the intent is searched by its words alone");
                return None;
            }
        };
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

    async fn embed(&self, portion: &[(TextHash, String)]) -> Result<(), embedder::EmbedderError> {
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
        let documents: Vec<Document> = {
            let vectors = lock(&self.vectors);
            let with_vector = |it: &Source| Document { vector: vectors.get(&it.hash).cloned(), ..it.document.clone() };
            sources.iter().map(with_vector).collect()
        };
        let snapshot = Snapshot { index: Index::build(documents), capabilities: capabilities.to_vec() };
        self.snapshot.store(Arc::new(snapshot));
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
