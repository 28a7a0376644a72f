//! Keeps the capability index in step with the catalog.
//!
//! A changed catalog becomes searchable by its words at once; vectors that are in the store
//! already come along, the others are computed beside the requests and join when they are
//! ready. A request only ever reads one finished snapshot.
//!
//! # Layout
//! - `source`: from a tool's definition to what the index keeps of it; `priors`: what else is
//!   known of it
//! - `vectors`: the vectors of the tools, in memory and in the store; `embed_missing`: computes those
//!   that are not there yet
//! - `missing_texts`: the order in which they are computed; `asked_first`: a search has its tools
//!   embedded first; `asked_texts`: the texts that searches ask for
//! - `intent`: an intent that a client asks tools for, with its vectors; `intents`: the latest ones
//! - `mirror`: what an exact name reads
//! - `snapshot`: the index that searches see
//! - [`detached`]: an index of tools that no gateway serves

mod asked_first;
mod asked_texts;
#[cfg(test)]
mod built_in_vectors;
pub mod context_embedding;
pub mod detached;
mod embed_missing;
#[cfg(test)]
mod growth;
pub mod intent;
mod intents;
mod mirror;
mod missing_texts;
pub mod priors;
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

use self::asked_texts::AskedTexts;
use self::intent::Vectors;
use self::intents::IntentCache;
use self::mirror::Mirror;
use self::priors::{Declared, Measured, Priors};
pub(crate) use self::snapshot::{Snapshot, Subject};
use self::source::{IndexSource, ToolSource};
use self::vectors::ToolVectors;
use crate::catalog::Catalog;
use crate::catalog::providers::Providers;
use crate::state::clock::now;
use kitbag_embedding::{EmbedderError, TextEmbedder};

/// Tools described before others get their turn: about a millisecond of work.
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
    /// True once there has been a first catalog.
    begun: watch::Sender<bool>,
    embedder: Arc<TextEmbedder>,
    store: Store,
    mirror: Mirror,
    measured: ArcSwap<Measured>,
    /// The run over the audit whose priors stand in the index and in the mirror.
    shown_run: watch::Sender<Option<Timestamp>>,
    priors_updated_at: Mutex<Option<Timestamp>>,
    created_at: Timestamp,
    vectors: ToolVectors,
    asked: AskedTexts,
    intents: Mutex<IntentCache<Arc<Vectors>>>,
}

/// The data from which the index is built.
pub(crate) struct Contents<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) providers: &'a Providers,
    pub(crate) declared: &'a Declared,
    pub(crate) usd_per_million_tokens: Option<f64>,
    /// Servers of which it is not known yet what they offer.
    pub(crate) unlisted: &'a HashSet<ServerName>,
}

/// An index that has its words, and perhaps not yet all its vectors.
struct WordIndex {
    sources: Arc<[Arc<IndexSource>]>,
    /// The run over the audit that found the priors.
    counted_at: Option<Timestamp>,
    /// `Ok` if the vectors that the store has could be taken from there.
    recalled: Result<(), EmbedderError>,
    words: Option<Arc<Snapshot>>,
}

impl CapabilityIndex {
    /// `configuration` tells it from others that use the same store.
    pub fn new(embedder: Arc<TextEmbedder>, store: Store, configuration: String) -> Self {
        Self {
            snapshot: ArcSwap::default(),
            begun: watch::Sender::default(),
            vectors: ToolVectors::new(embedder.clone(), store.clone()),
            embedder,
            mirror: Mirror::new(store.clone(), configuration),
            store,
            measured: ArcSwap::default(),
            shown_run: watch::Sender::default(),
            priors_updated_at: Mutex::default(),
            created_at: now(),
            asked: AskedTexts::default(),
            intents: Mutex::default(),
        }
    }

    /// Returns the embedder, for other parts of the gateway that compare texts.
    pub(crate) fn embedder(&self) -> Arc<TextEmbedder> {
        self.embedder.clone()
    }

    /// Returns the entry that the mirror has under a tool's name.
    pub(crate) async fn mirrored(&self, name: &str) -> Result<Option<String>, Error> {
        self.mirror.entry(name).await
    }

    /// Returns what the last run over the audit found.
    pub(crate) fn measured(&self) -> Arc<Measured> {
        self.measured.load_full()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Comes back when there is something to search, if only by its words.
    pub(crate) async fn begun(&self) {
        // The sender lives as long as we do.
        let _ = self.begun.subscribe().wait_for(|begun| *begun).await;
    }

    /// Tells each time when searches see another index.
    pub(crate) fn published(&self) -> watch::Receiver<bool> {
        self.begun.subscribe()
    }

    /// True if there is something to search.
    pub(crate) fn has_begun(&self) -> bool {
        *self.begun.borrow()
    }

    /// True if the scores are those that confidence was fitted to.
    pub(crate) fn is_calibrated(&self) -> bool {
        self.embedder.is_built_in()
    }

    /// Returns an error if the configured embedder cannot work at all. This takes a moment for a
    /// model on disk.
    pub async fn ready(&self) -> Result<(), EmbedderError> {
        self.embedder.check().await
    }

    /// Takes in a new catalog. Comes back when every vector is there, or when it has been
    /// overtaken by a newer one; words are searchable long before.
    pub(crate) async fn rebuild(
        &self,
        contents: &Contents<'_>,
        overtaken: impl Fn() -> bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let begun = self.begin(contents).await;
        if let Err(error) = self.mirror_words(&begun, contents).await {
            tracing::warn!(%error, "the mirror of the index could not be written");
        }
        self.complete(begun, overtaken, progress).await
    }

    /// Takes over the priors that a run over the audit left, into the index and its mirror.
    pub(crate) async fn take_over_priors(&self, contents: &Contents<'_>) -> Result<(), Error> {
        let begun = self.begin(contents).await;
        self.mirror_words(&begun, contents).await
    }

    async fn mirror_words(&self, begun: &WordIndex, contents: &Contents<'_>) -> Result<(), Error> {
        let served = &begun.sources[..contents.served()];
        self.mirror.write(served, contents.unlisted).await?;
        self.shown_run.send_replace(begun.counted_at);
        Ok(())
    }

    /// Comes back when the priors of this run, or of a later one, stand in the index and in the
    /// mirror.
    pub(crate) async fn shows_priors_of(&self, run: Timestamp) {
        let mut shown = self.shown_run.subscribe();
        // The sender lives as long as we do.
        let _ = shown.wait_for(|shown| *shown >= Some(run)).await;
    }

    /// Notes that priors, index and mirror are up to date.
    pub(crate) async fn priors_are_updated(&self, at: Timestamp) -> Result<(), Error> {
        let namespace = self.namespace().await?;
        self.store.set_priors_updated_at(&namespace, at).await?;
        *lock(&self.priors_updated_at) = Some(at);
        Ok(())
    }

    /// Reads when the priors were up to date, also if another gateway saw to that.
    pub(crate) async fn read_priors_updated_at(&self) -> Result<Option<Timestamp>, Error> {
        let namespace = self.namespace().await?;
        let at = self.store.priors_updated_at(&namespace).await?;
        *lock(&self.priors_updated_at) = at;
        Ok(at)
    }

    /// Returns when the priors were up to date, as far as that was read, and when this index was
    /// created.
    pub(crate) fn priors_age(&self) -> (Option<Timestamp>, Timestamp) {
        (*lock(&self.priors_updated_at), self.created_at)
    }

    /// Returns the namespace of this configuration in the store.
    pub(crate) async fn namespace(&self) -> Result<String, Error> {
        self.mirror.namespace().await
    }

    /// Does the same for a process that knows only some of the servers: the mirror, which tells
    /// other runs of all of them, stays as it is.
    pub(crate) async fn build_in_part(&self, contents: &Contents<'_>) -> Result<(), EmbedderError> {
        let begun = self.begin(contents).await;
        self.complete(begun, || false, |_, _| {}).await
    }

    /// Makes a catalog searchable by its words, and by the vectors that are there already. What is the
    /// same as in the snapshot before is taken over from it.
    async fn begin(&self, contents: &Contents<'_>) -> WordIndex {
        self.measure().await;
        let before = self.snapshot();
        let subjects = contents.subjects();
        let places = before.places_of(&subjects);
        let sources = self.sources(contents, &subjects, &before, &places).await;
        let recalled = self.vectors.recall(&sources).await;
        let words = self.publish(&sources, subjects, &before, &places).await;
        WordIndex {
            sources,
            counted_at: self.measured.load().counted_at,
            recalled,
            words,
        }
    }

    async fn complete(
        &self,
        begun: WordIndex,
        overtaken: impl Fn() -> bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let WordIndex {
            sources,
            recalled,
            words,
            ..
        } = begun;
        recalled?;
        self.embed_missing(&sources, words, overtaken, progress)
            .await
    }

    /// An index over these tools alone, apart from the one that serves.
    pub async fn index_of(
        &self,
        sources: &[IndexSource],
        with_vectors: bool,
        progress: impl FnMut(usize, usize),
    ) -> Result<Index, EmbedderError> {
        let sources: Vec<_> = sources.iter().cloned().map(Arc::new).collect();
        if with_vectors {
            self.vectors.recall(&sources).await?;
            self.embed_missing(&sources, None, || false, progress)
                .await?;
        }
        let nothing = Snapshot::default();
        let documents = self
            .vectors
            .documents(&sources, &nothing, &vec![None; sources.len()]);
        Ok(nothing.index.succeeded_by(documents))
    }

    /// Says whether the index should be built anew: because a run over the audit found other priors,
    /// or because vectors are missing.
    pub(crate) async fn is_outdated(&self) -> bool {
        let snapshot = self.snapshot();
        self.measure().await || !snapshot.index.is_complete()
    }

    /// Forgets vectors in the store that no tool has any more, once there are many of them.
    pub(crate) async fn forget_unused(&self) {
        self.vectors.forget_unused(&self.mirror).await;
    }

    /// Reads what the last run over the audit found. Returns true if that is something else than
    /// before.
    async fn measure(&self) -> bool {
        match self.read_measured().await {
            Ok(measured) => {
                let changed = measured != **self.measured.load();
                self.measured.store(Arc::new(measured));
                changed
            }
            Err(error) => {
                tracing::warn!(%error, "how tools have done lately is not known");
                false
            }
        }
    }

    async fn read_measured(&self) -> Result<Measured, Error> {
        self.read_priors_updated_at().await?;
        Measured::of(&self.store, &self.namespace().await?).await
    }

    /// Returns the source of each subject.
    async fn sources(
        &self,
        contents: &Contents<'_>,
        subjects: &[Subject],
        before: &Snapshot,
        places: &[Option<usize>],
    ) -> Arc<[Arc<IndexSource>]> {
        let (now, measured) = (now(), self.measured.load_full());
        let mut sources: Vec<Arc<IndexSource>> = Vec::with_capacity(subjects.len());
        let mut new = Vec::new();
        for (at, (subject, place)) in subjects.iter().zip(places).enumerate() {
            if at % BETWEEN_YIELDS == 0 {
                tokio::task::yield_now().await;
            }
            let known = place.map(|at| (&before.subjects[at], &before.sources[at]));
            if known.is_none() {
                new.push(at);
            }
            sources.push(contents.source(subject, known, &measured, now));
        }
        if let Err(error) = self.mirror.date(&mut sources, &new).await {
            tracing::warn!(%error, "since when tools are as they are is not known");
        }
        sources.into()
    }

    /// Publishes what is known by now, and returns it; `None` when the gateway is closing.
    async fn publish(
        &self,
        sources: &Arc<[Arc<IndexSource>]>,
        subjects: Arc<[Subject]>,
        before: &Snapshot,
        places: &[Option<usize>],
    ) -> Option<Arc<Snapshot>> {
        let documents = self.vectors.documents(sources, before, places);
        let index = before.index.clone();
        // The first time it is seconds of work for a hundred thousand tools; requests go on meanwhile.
        let index = tokio::task::spawn_blocking(move || index.succeeded_by(documents))
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

impl Contents<'_> {
    /// Returns the source of a subject, the known one if nothing about it is different.
    fn source(
        &self,
        subject: &Subject,
        known: Option<(&Subject, &Arc<IndexSource>)>,
        measured: &Measured,
        now: Timestamp,
    ) -> Arc<IndexSource> {
        let priors = self.priors(subject, measured);
        let same = known.filter(|(known, _)| subject.is_same(known));
        let made = match same {
            Some((_, source)) if source.priors == priors => return source.clone(),
            Some((_, source)) => return Arc::new(source.with(priors)),
            None => self.tool_source(subject).into_source(priors, now),
        };
        let known = known.map(|(_, source)| source);
        match known.filter(|it| it.definition == made.definition) {
            Some(known) if known.priors == priors => known.clone(),
            Some(known) => Arc::new(known.with(priors)),
            None => Arc::new(made),
        }
    }

    fn priors(&self, subject: &Subject, measured: &Measured) -> Priors {
        let Some(entry) = subject.entry() else {
            return Priors::default();
        };
        let of_file = entry.declared.as_ref().map(|tool| tool.facts());
        let declared = self.declared.get(&entry.plain_name).or(of_file.as_ref());
        measured.with(declared, &entry.capability, self.usd_per_million_tokens)
    }

    fn tool_source(&self, subject: &Subject) -> ToolSource {
        match subject {
            Subject::Provider(name) => {
                let provider = self.providers.get(name);
                let provider = provider.map(|it| ToolSource::of_provider(it.spec()));
                provider.unwrap_or_default()
            }
            Subject::Tool(entry) | Subject::Held(entry) => {
                let of_file = entry.declared.as_ref().map(|tool| tool.facts());
                let declared = self.declared.get(&entry.plain_name).or(of_file.as_ref());
                match declared {
                    Some(declared) => ToolSource::of(entry).declared(declared),
                    None => ToolSource::of(entry),
                }
            }
        }
    }

    fn subjects(&self) -> Arc<[Subject]> {
        let tools = self.catalog.tools.iter().cloned().map(Subject::Tool);
        let held = self.catalog.held_tools.iter().cloned().map(Subject::Held);
        tools
            .chain(self.providers.names().cloned().map(Subject::Provider))
            .chain(held)
            .collect()
    }

    /// The number of sources that callers may find. They stand before the held ones.
    fn served(&self) -> usize {
        self.catalog.tools.len() + self.providers.names().count()
    }
}
