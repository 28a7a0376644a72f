//! Computes the vectors that tools do not have yet, beside the requests.

use std::sync::Arc;
use std::time::Instant;

use kitbag_embedding::EmbedderError;
use kitbag_upstream::format_duration;

use super::missing_texts::MissingTexts;
use super::source::IndexSource;
use super::vectors::ComputedVectors;
use super::{CapabilityIndex, Snapshot};

/// Texts that are embedded before what is there so far is published, unless a search asks for them.
const PUBLISH_BATCH: usize = 256;

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
        let _run = served.as_ref().map(|_| self.requested_texts.begin_run());
        let mut missing = MissingTexts::new(self.vectors.missing_texts(sources));
        let (total, started) = (missing.len(), Instant::now());
        let mut computed = ComputedVectors::new();
        let ended = loop {
            if missing.is_empty() || overtaken() {
                break Ok(());
            }
            progress(total - missing.len(), total);
            let due = self.take_batch(&mut computed);
            let turn = missing.next_batch(&self.requested_texts);
            // The last portion is kept and published while this turn is computed.
            let (next, taken_in) = tokio::join!(
                self.vectors.embed_texts(&turn),
                self.store_and_publish(due, sources, &mut served)
            );
            taken_in?;
            match next {
                Ok(next) => computed.extend(next),
                Err(error) => break Err(error),
            }
        };
        self.store_and_publish(computed, sources, &mut served)
            .await?;
        ended?;
        if total > 0 && missing.is_empty() {
            progress(total, total);
            tracing::info!(
                texts = total,
                took = format_duration(started.elapsed()),
                "vectors computed"
            );
        }
        Ok(())
    }

    /// Takes out the vectors if they are a portion, or if a search asks for one of them.
    fn take_batch(&self, computed: &mut ComputedVectors) -> ComputedVectors {
        let texts = computed.iter().map(|(text, _)| text);
        if computed.len() >= PUBLISH_BATCH || self.requested_texts.contains_any(texts) {
            return std::mem::take(computed);
        }
        ComputedVectors::new()
    }

    /// Keeps the vectors of a portion, and publishes them where their tools are served.
    async fn store_and_publish(
        &self,
        computed: ComputedVectors,
        sources: &[Arc<IndexSource>],
        served: &mut Option<Arc<Snapshot>>,
    ) -> Result<(), EmbedderError> {
        if computed.is_empty() {
            return Ok(());
        }
        let texts = computed.iter().map(|(text, _)| *text).collect();
        self.vectors.store(computed).await?;
        if let Some(served) = served {
            self.publish_vectors(sources, served).await;
            self.requested_texts.remove_published(&texts);
        }
        Ok(())
    }

    /// Publishes the vectors that have come since, with the words as they are.
    async fn publish_vectors(&self, sources: &[Arc<IndexSource>], served: &mut Arc<Snapshot>) {
        let index = served.index.clone();
        let vectors = self.vectors.known_vectors(sources);
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
