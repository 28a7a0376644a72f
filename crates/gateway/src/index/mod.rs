//! Keeps the capability index in sync with the catalog.
//!
//! A changed catalog becomes searchable by keywords at once; stored vectors are included, the
//! others are computed in the background and added when they are ready. A request reads only one
//! complete snapshot.
//!
//! # Layout
//! - `source`: a tool's definition as an index entry; `priors`: its declared and measured priors
//! - `vectors`: the vectors of the tools, in memory and in the store; `embed_missing`: computes
//!   missing ones
//! - `missing_texts`: the order of embedding; `embed_first`: priority for the tools of a search;
//!   `requested_texts`: the texts that searches request
//! - `embedded_query`: a query with its vectors; `query_cache`: vectors of the latest queries
//! - `mirror`: lookups by exact name
//! - `snapshot`: the index that searches see
//! - [`detached`]: an index of tools that no gateway serves

#[cfg(test)]
mod built_in_vectors;
pub mod context_embedding;
pub mod detached;
mod embed_first;
mod embed_missing;
pub mod embedded_query;
#[cfg(test)]
mod growth_tests;
mod mirror;
mod missing_texts;
pub mod priors;
mod query_cache;
mod requested_texts;
mod snapshot;
pub mod source;
mod vectors;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kitbag_config::Config;
use kitbag_domain::sync::lock;
use kitbag_domain::{ServerName, Timestamp};
use kitbag_relevance::Index;
use kitbag_store::{Error, Store};
use tokio::sync::watch;

use self::embedded_query::QueryVectors;
use self::mirror::Mirror;
use self::priors::{MeasuredPriors, Priors, ToolOverrides};
use self::query_cache::QueryCache;
use self::requested_texts::RequestedTexts;
pub(crate) use self::snapshot::{IndexSubject, Snapshot, SnapshotMatches};
use self::source::{IndexSource, ToolSource};
use self::vectors::ToolVectors;
use crate::catalog::Catalog;
use crate::catalog::providers::Providers;
use crate::state::clock::now;
use kitbag_embedding::{EmbedderError, TextEmbedder};

/// Tools described before other tasks get their turn: about a millisecond of work.
const BETWEEN_YIELDS: usize = 64;

/// Returns the namespace of a configuration in the store, for a command that needs no index.
pub(crate) async fn mirror_namespace(
    config: &Config,
    store: &Store,
    now: Timestamp,
) -> Result<String, Error> {
    store
        .mirror_namespace(mirror::NAMESPACE, &config.identity(), now)
        .await
}

pub struct CapabilityIndex {
    snapshot: ArcSwap<Snapshot>,
    /// True after the first catalog.
    begun: watch::Sender<bool>,
    embedder: Arc<TextEmbedder>,
    store: Store,
    mirror: Mirror,
    measured: ArcSwap<MeasuredPriors>,
    /// The run over the audit whose priors are in the index and in the mirror.
    published_run: watch::Sender<Option<Timestamp>>,
    priors_updated_at: Mutex<Option<Timestamp>>,
    created_at: Timestamp,
    vectors: ToolVectors,
    requested_texts: RequestedTexts,
    query_cache: Mutex<QueryCache<Arc<QueryVectors>>>,
}

/// The data from which the index is built.
pub(crate) struct IndexContents<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) providers: &'a Providers,
    pub(crate) overrides: &'a ToolOverrides,
    pub(crate) usd_per_million_tokens: Option<f64>,
    /// Servers that are not listed yet.
    pub(crate) unlisted: &'a HashSet<ServerName>,
}

/// An index with keywords, but perhaps without some vectors.
struct WordIndex {
    sources: Arc<[Arc<IndexSource>]>,
    /// The run over the audit that computed the priors.
    priors_run: Option<Timestamp>,
    /// `Ok` if the stored vectors could be loaded.
    loaded: Result<(), EmbedderError>,
    /// `None` when the gateway is closing.
    snapshot: Option<Arc<Snapshot>>,
}

impl CapabilityIndex {
    /// `configuration` distinguishes it from others that use the same store.
    pub fn new(embedder: Arc<TextEmbedder>, store: Store, configuration: String) -> Self {
        Self {
            snapshot: ArcSwap::default(),
            begun: watch::Sender::default(),
            vectors: ToolVectors::new(embedder.clone(), store.clone()),
            embedder,
            mirror: Mirror::new(store.clone(), configuration),
            store,
            measured: ArcSwap::default(),
            published_run: watch::Sender::default(),
            priors_updated_at: Mutex::default(),
            created_at: now(),
            requested_texts: RequestedTexts::default(),
            query_cache: Mutex::default(),
        }
    }

    /// Returns the embedder, for other parts of the gateway that compare texts.
    pub(crate) fn embedder(&self) -> Arc<TextEmbedder> {
        self.embedder.clone()
    }

    /// Returns the mirror's entry for a tool's name.
    pub(crate) async fn mirror_entry(&self, name: &str) -> Result<Option<String>, Error> {
        self.mirror.read_entry(name).await
    }

    /// Returns the result of the last run over the audit.
    pub(crate) fn measured_priors(&self) -> Arc<MeasuredPriors> {
        self.measured.load_full()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Waits until there is an index, at least by keywords.
    pub(crate) async fn wait_until_begun(&self) {
        // The sender lives as long as `self`.
        let _ = self.begun.subscribe().wait_for(|begun| *begun).await;
    }

    /// Returns a receiver that is notified whenever the index changes.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.begun.subscribe()
    }

    /// True if there is an index to search.
    pub(crate) fn has_begun(&self) -> bool {
        *self.begun.borrow()
    }

    /// True if the confidence was calibrated on scores of this embedder.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.embedder.is_built_in()
    }

    /// Returns an error if the configured embedder cannot work at all. This takes a moment for a
    /// model on disk.
    pub async fn check_embedder(&self) -> Result<(), EmbedderError> {
        self.embedder.check().await
    }

    /// Indexes a new catalog. Returns when all vectors are computed or a newer catalog has replaced
    /// it; keywords are searchable long before.
    pub(crate) async fn rebuild(
        &self,
        contents: &IndexContents<'_>,
        overtaken: impl Fn() -> bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let word_index = self.publish_word_index(contents).await;
        if let Err(error) = self.mirror_word_index(&word_index, contents).await {
            tracing::warn!(%error, "failed to write the mirror of the index");
        }
        self.embed_rest(word_index, overtaken, progress).await
    }

    /// Loads the priors from the last run over the audit into the index and its mirror.
    pub(crate) async fn update_priors(&self, contents: &IndexContents<'_>) -> Result<(), Error> {
        let word_index = self.publish_word_index(contents).await;
        self.mirror_word_index(&word_index, contents).await
    }

    async fn mirror_word_index(
        &self,
        word_index: &WordIndex,
        contents: &IndexContents<'_>,
    ) -> Result<(), Error> {
        let served = &word_index.sources[..contents.served_count()];
        self.mirror.write(served, contents.unlisted).await?;
        self.published_run.send_replace(word_index.priors_run);
        Ok(())
    }

    /// Waits until the priors of this run, or of a later one, are in the index and in the mirror.
    pub(crate) async fn wait_for_priors(&self, run: Timestamp) {
        let mut shown = self.published_run.subscribe();
        // The sender lives as long as `self`.
        let _ = shown.wait_for(|shown| *shown >= Some(run)).await;
    }

    /// Records that priors, index and mirror are up to date.
    pub(crate) async fn set_priors_updated_at(&self, at: Timestamp) -> Result<(), Error> {
        let namespace = self.namespace().await?;
        self.store.set_priors_updated_at(&namespace, at).await?;
        *lock(&self.priors_updated_at) = Some(at);
        Ok(())
    }

    /// Reads when the priors were last updated, by any gateway.
    pub(crate) async fn read_priors_updated_at(&self) -> Result<Option<Timestamp>, Error> {
        let namespace = self.namespace().await?;
        let at = self.store.priors_updated_at(&namespace).await?;
        *lock(&self.priors_updated_at) = at;
        Ok(at)
    }

    /// Returns when the priors were last updated, as far as that was read, and when this index was
    /// created.
    pub(crate) fn priors_age(&self) -> (Option<Timestamp>, Timestamp) {
        (*lock(&self.priors_updated_at), self.created_at)
    }

    /// Returns the namespace of this configuration in the store.
    pub(crate) async fn namespace(&self) -> Result<String, Error> {
        self.mirror.namespace().await
    }

    /// Like `rebuild`, for a process that knows only some of the servers: the mirror, which
    /// describes all of them to other runs, stays unchanged.
    pub(crate) async fn build_unmirrored(
        &self,
        contents: &IndexContents<'_>,
    ) -> Result<(), EmbedderError> {
        let word_index = self.publish_word_index(contents).await;
        self.embed_rest(word_index, || false, |_, _| {}).await
    }

    /// Makes a catalog searchable by keywords and by the available vectors. Unchanged parts of the
    /// previous snapshot are reused.
    async fn publish_word_index(&self, contents: &IndexContents<'_>) -> WordIndex {
        self.reload_measured().await;
        let before = self.snapshot();
        let subjects = contents.subjects();
        let positions = before.find_positions(&subjects);
        let sources = self
            .collect_sources(contents, &subjects, &before, &positions)
            .await;
        let loaded = self.vectors.load_from_store(&sources).await;
        let snapshot = self
            .publish_snapshot(&sources, subjects, &before, &positions)
            .await;
        WordIndex {
            sources,
            priors_run: self.measured.load().counted_at,
            loaded,
            snapshot,
        }
    }

    async fn embed_rest(
        &self,
        word_index: WordIndex,
        overtaken: impl Fn() -> bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let WordIndex {
            sources,
            loaded,
            snapshot,
            ..
        } = word_index;
        loaded?;
        self.embed_missing(&sources, snapshot, overtaken, progress)
            .await
    }

    /// Builds an index of only these tools, apart from the one that serves.
    pub async fn build_detached(
        &self,
        sources: &[IndexSource],
        with_vectors: bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<Index, EmbedderError> {
        let sources: Vec<_> = sources.iter().cloned().map(Arc::new).collect();
        if with_vectors {
            self.vectors.load_from_store(&sources).await?;
            self.embed_missing(&sources, None, || false, progress)
                .await?;
        }
        let nothing = Snapshot::default();
        let documents =
            self.vectors
                .build_documents(&sources, &nothing, &vec![None; sources.len()]);
        Ok(nothing.index.with_documents(documents))
    }

    /// True if the index should be rebuilt, because a run over the audit computed other priors, or
    /// because vectors are missing.
    pub(crate) async fn is_outdated(&self) -> bool {
        let snapshot = self.snapshot();
        self.reload_measured().await || !snapshot.index.is_complete()
    }

    /// Deletes stored vectors that no tool uses any more, once there are many of them.
    pub(crate) async fn forget_unused(&self) {
        self.vectors.forget_unused(&self.mirror).await;
    }

    /// Reads the result of the last run over the audit. Returns true if it has changed.
    async fn reload_measured(&self) -> bool {
        match self.read_measured().await {
            Ok(measured) => {
                let changed = measured != **self.measured.load();
                self.measured.store(Arc::new(measured));
                changed
            }
            Err(error) => {
                tracing::warn!(%error, "failed to read the measured priors of tools");
                false
            }
        }
    }

    async fn read_measured(&self) -> Result<MeasuredPriors, Error> {
        self.read_priors_updated_at().await?;
        MeasuredPriors::load(&self.store, &self.namespace().await?).await
    }

    /// Returns the source of each subject.
    async fn collect_sources(
        &self,
        contents: &IndexContents<'_>,
        subjects: &[IndexSubject],
        before: &Snapshot,
        positions: &[Option<usize>],
    ) -> Arc<[Arc<IndexSource>]> {
        let (now, measured) = (now(), self.measured.load_full());
        let mut sources: Vec<Arc<IndexSource>> = Vec::with_capacity(subjects.len());
        let mut new = Vec::new();
        for (at, (subject, position)) in subjects.iter().zip(positions).enumerate() {
            if at % BETWEEN_YIELDS == 0 {
                tokio::task::yield_now().await;
            }
            let known = position.map(|at| (&before.subjects[at], &before.sources[at]));
            if known.is_none() {
                new.push(at);
            }
            sources.push(contents.reuse_or_build_source(subject, known, &measured, now));
        }
        if let Err(error) = self.mirror.restore_change_times(&mut sources, &new).await {
            tracing::warn!(%error, "failed to read when tools last changed");
        }
        sources.into()
    }

    /// Publishes the current state, and returns it; `None` when the gateway is closing.
    async fn publish_snapshot(
        &self,
        sources: &Arc<[Arc<IndexSource>]>,
        subjects: Arc<[IndexSubject]>,
        before: &Snapshot,
        positions: &[Option<usize>],
    ) -> Option<Arc<Snapshot>> {
        let documents = self.vectors.build_documents(sources, before, positions);
        let index = before.index.clone();
        // The first time it takes seconds for a hundred thousand tools; requests must not wait for
        // it.
        let index = tokio::task::spawn_blocking(move || index.with_documents(documents))
            .await
            .ok()?;
        let snapshot = Arc::new(Snapshot {
            index: Arc::new(index),
            subjects,
            sources: sources.clone(),
        });
        self.snapshot.store(snapshot.clone());
        self.begun.send_replace(true);
        Some(snapshot)
    }
}

impl IndexContents<'_> {
    /// Returns the source of a subject, reusing the known one if nothing about it has changed.
    fn reuse_or_build_source(
        &self,
        subject: &IndexSubject,
        known: Option<(&IndexSubject, &Arc<IndexSource>)>,
        measured: &MeasuredPriors,
        now: Timestamp,
    ) -> Arc<IndexSource> {
        let priors = self.priors_for(subject, measured);
        let same = known.filter(|(known, _)| subject.is_same(known));
        let made = match same {
            Some((_, source)) if source.priors == priors => return source.clone(),
            Some((_, source)) => return Arc::new(source.with_priors(priors)),
            None => self.tool_source(subject).into_source(priors, now),
        };
        let known = known.map(|(_, source)| source);
        match known.filter(|it| it.definition == made.definition) {
            Some(known) if known.priors == priors => known.clone(),
            Some(known) => Arc::new(known.with_priors(priors)),
            None => Arc::new(made),
        }
    }

    fn priors_for(&self, subject: &IndexSubject, measured: &MeasuredPriors) -> Priors {
        let Some(entry) = subject.entry() else {
            return Priors::default();
        };
        let of_file = entry.tool_file.as_ref().map(|tool| tool.index_facts());
        let declared = self.overrides.get(&entry.plain_name).or(of_file.as_ref());
        measured.priors_for(declared, &entry.capability, self.usd_per_million_tokens)
    }

    fn tool_source(&self, subject: &IndexSubject) -> ToolSource {
        match subject {
            IndexSubject::Provider(name) => {
                let provider = self.providers.get(name);
                let provider = provider.map(|it| ToolSource::from_provider(it.spec()));
                provider.unwrap_or_default()
            }
            IndexSubject::Tool(entry) | IndexSubject::Unapproved(entry) => {
                let of_file = entry.tool_file.as_ref().map(|tool| tool.index_facts());
                let declared = self.overrides.get(&entry.plain_name).or(of_file.as_ref());
                match declared {
                    Some(declared) => ToolSource::from_entry(entry).with_override(declared),
                    None => ToolSource::from_entry(entry),
                }
            }
        }
    }

    fn subjects(&self) -> Arc<[IndexSubject]> {
        let tools = self.catalog.tools.iter().cloned().map(IndexSubject::Tool);
        let unapproved = self
            .catalog
            .unapproved_tools
            .iter()
            .cloned()
            .map(IndexSubject::Unapproved);
        tools
            .chain(self.providers.names().cloned().map(IndexSubject::Provider))
            .chain(unapproved)
            .collect()
    }

    /// Returns the number of sources that callers may find. They precede the unapproved ones.
    fn served_count(&self) -> usize {
        self.catalog.tools.len() + self.providers.names().count()
    }
}
