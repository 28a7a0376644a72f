//! Computes the vectors that tools do not have yet, beside the requests.

use std::sync::Arc;
use std::time::Instant;

use kitbag_embed::EmbedderError;
use kitbag_upstream::in_words;

use super::source::IndexSource;
use super::vectors::ComputedVectors;
use super::{CapabilityIndex, Snapshot};

/// Texts that are embedded before what is there so far is published.
const PORTION: usize = 256;

impl CapabilityIndex {
    /// Computes the vectors that are not there yet, portion by portion; where the tools are those
    /// that are served, each portion is published.
    pub(super) async fn embed_missing(
        &self,
        sources: &[IndexSource],
        served: Option<&Snapshot>,
        overtaken: impl Fn() -> bool,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<(), EmbedderError> {
        let missing = self.vectors.missing(sources);
        let (total, started) = (missing.len(), Instant::now());
        let mut computed = ComputedVectors::new();
        for (number, portion) in missing.chunks(PORTION).enumerate() {
            progress(number * PORTION, total);
            if overtaken() {
                return self.take_in(computed, sources, served).await;
            }
            // The last portion is kept and published while this one is computed.
            let (next, taken_in) = tokio::join!(
                self.vectors.compute(portion),
                self.take_in(computed, sources, served)
            );
            taken_in?;
            computed = next?;
        }
        self.take_in(computed, sources, served).await?;
        if total > 0 {
            progress(total, total);
            tracing::info!(
                texts = total,
                took = in_words(started.elapsed()),
                "vectors computed"
            );
        }
        Ok(())
    }

    /// Keeps the vectors of a portion, and publishes them where their tools are served.
    async fn take_in(
        &self,
        computed: ComputedVectors,
        sources: &[IndexSource],
        served: Option<&Snapshot>,
    ) -> Result<(), EmbedderError> {
        if computed.is_empty() {
            return Ok(());
        }
        self.vectors.keep(computed).await?;
        if let Some(served) = served {
            self.publish_vectors(sources, served).await;
        }
        Ok(())
    }

    /// The vectors that have come since, with the words as they are.
    async fn publish_vectors(&self, sources: &[IndexSource], served: &Snapshot) {
        let index = served.index.clone();
        let vectors = self.vectors.of(sources);
        let building = tokio::task::spawn_blocking(move || index.with_vectors(vectors));
        let Ok(index) = building.await else { return };
        let subjects = served.subjects.clone();
        self.snapshot.store(Arc::new(Snapshot {
            index: Arc::new(index),
            subjects,
        }));
    }
}
