//! Computes the vectors that tools do not have yet, beside the requests.

use std::sync::Arc;
use std::time::Instant;

use kitbag_embedding::EmbedderError;
use kitbag_upstream::in_words;

use super::missing_texts::MissingTexts;
use super::source::IndexSource;
use super::vectors::ComputedVectors;
use super::{CapabilityIndex, Snapshot};

/// Texts that are embedded before what is there so far is published, unless a search asks for them.
const PORTION: usize = 256;

impl CapabilityIndex {
    /// Computes the vectors that are not there yet, turn by turn; where the tools are those that are
    /// served, they are published portion by portion.
    pub(super) async fn embed_missing(
        &self,
        sources: &[Arc<IndexSource>],
        mut served: Option<Arc<Snapshot>>,
        overtaken: impl Fn() -> bool,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let _run = served.as_ref().map(|_| self.asked.begin_run());
        let mut missing = MissingTexts::new(self.vectors.missing(sources));
        let (total, started) = (missing.len(), Instant::now());
        let mut computed = ComputedVectors::new();
        let ended = loop {
            if missing.is_empty() || overtaken() {
                break Ok(());
            }
            progress(total - missing.len(), total);
            let due = self.take_due(&mut computed);
            let turn = missing.take(&self.asked);
            // The last portion is kept and published while this turn is computed.
            let (next, taken_in) = tokio::join!(
                self.vectors.compute(&turn),
                self.take_in(due, sources, &mut served)
            );
            taken_in?;
            match next {
                Ok(next) => computed.extend(next),
                Err(error) => break Err(error),
            }
        };
        self.take_in(computed, sources, &mut served).await?;
        ended?;
        if total > 0 && missing.is_empty() {
            progress(total, total);
            tracing::info!(
                texts = total,
                took = in_words(started.elapsed()),
                "vectors computed"
            );
        }
        Ok(())
    }

    /// Takes out the vectors if they are a portion, or if a search asks for one of them.
    fn take_due(&self, computed: &mut ComputedVectors) -> ComputedVectors {
        let texts = computed.iter().map(|(text, _)| text);
        if computed.len() >= PORTION || self.asked.is_asked_for(texts) {
            return std::mem::take(computed);
        }
        ComputedVectors::new()
    }

    /// Keeps the vectors of a portion, and publishes them where their tools are served.
    async fn take_in(
        &self,
        computed: ComputedVectors,
        sources: &[Arc<IndexSource>],
        served: &mut Option<Arc<Snapshot>>,
    ) -> Result<(), EmbedderError> {
        if computed.is_empty() {
            return Ok(());
        }
        let texts = computed.iter().map(|(text, _)| *text).collect();
        self.vectors.keep(computed).await?;
        if let Some(served) = served {
            self.publish_vectors(sources, served).await;
            self.asked.are_published(&texts);
        }
        Ok(())
    }

    /// Publishes the vectors that have come since, with the words as they are.
    async fn publish_vectors(&self, sources: &[Arc<IndexSource>], served: &mut Arc<Snapshot>) {
        let index = served.index.clone();
        let vectors = self.vectors.of(sources);
        let building = tokio::task::spawn_blocking(move || index.with_vectors(vectors));
        let Ok(index) = building.await else { return };
        *served = Arc::new(Snapshot {
            index: Arc::new(index),
            subjects: served.subjects.clone(),
            sources: served.sources.clone(),
        });
        self.snapshot.store(served.clone());
    }
}
