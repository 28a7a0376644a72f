//! Computes missing vectors in the background.

use std::sync::Arc;
use std::time::Instant;

use kitbag_embedding::EmbedderError;
use kitbag_upstream::format_duration;

use super::missing_texts::MissingTexts;
use super::source::IndexSource;
use super::vectors::ComputedVectors;
use super::{CapabilityIndex, Snapshot};

/// The number of texts that are embedded before the vectors are published, unless a search requests
/// one of them.
const PUBLISH_BATCH: usize = 256;

impl CapabilityIndex {
    /// Computes missing vectors batch by batch; vectors of served tools are published in portions.
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
            let batch = missing.next_batch(&self.requested_texts);
            // The previous portion is stored and published while this batch is computed.
            let (next, published) = tokio::join!(
                self.vectors.embed_texts(&batch),
                self.store_and_publish(due, sources, &mut served)
            );
            published?;
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

    /// Takes the vectors if they fill a portion, or if a search requests one of them.
    fn take_batch(&self, computed: &mut ComputedVectors) -> ComputedVectors {
        let texts = computed.iter().map(|(text, _)| text);
        if computed.len() >= PUBLISH_BATCH || self.requested_texts.contains_any(texts) {
            return std::mem::take(computed);
        }
        ComputedVectors::new()
    }

    /// Stores the vectors of a portion, and publishes them if their tools are served.
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

    /// Publishes the vectors that were computed since, with unchanged keywords.
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
