//! Prioritizes the embedding of tools that a search needs, while vectors are missing.

use std::sync::Arc;
use std::time::Duration;

use kitbag_relevance::{Options, nearest_by_words};
use kitbag_store::TextHash;

use super::embedded_query::EmbeddedQuery;
use super::{CapabilityIndex, IndexSubject, Snapshot};

/// How long a search waits for the vectors of its nearest tools. On two idle cores the embedder's
/// current batch and the search's batches take 0.3 to 0.5 s; on a busy machine it is enough for the
/// nearest few.
const MAX_WAIT: Duration = Duration::from_millis(500);

impl CapabilityIndex {
    /// Requests the vectors that a search for this query needs first, and waits for them briefly.
    /// If no vectors are missing, compares two numbers only.
    pub(crate) async fn embed_first(
        &self,
        query: &EmbeddedQuery,
        options: &Options,
        allowed: impl Fn(&IndexSubject) -> bool,
    ) {
        let snapshot = self.snapshot();
        // A query without a vector is matched by keywords anyway.
        if snapshot.index.is_complete()
            || query.vector().is_none()
            || !self.requested_texts.has_run()
        {
            return;
        }
        let missing = snapshot.missing_near(query, options, allowed);
        if missing.is_empty() {
            return;
        }
        let waits = self.requested_texts.request(missing);
        // Vectors published since the snapshot was taken do not notify this search.
        let is_latest = Arc::ptr_eq(&snapshot, &self.snapshot());
        if let Some(end) = waits.filter(|_| is_latest) {
            // The answer uses the available vectors, however the wait ends.
            let _ = tokio::time::timeout(MAX_WAIT, end).await;
        }
    }
}

impl Snapshot {
    /// Returns the texts without a vector of the tools that match best by keywords.
    fn missing_near(
        &self,
        query: &EmbeddedQuery,
        options: &Options,
        allowed: impl Fn(&IndexSubject) -> bool,
    ) -> Vec<TextHash> {
        let documents = self.index.documents();
        let text = query.as_query().text;
        let nearest = nearest_by_words(&self.index, text, |at| {
            options.admits(&documents[at].entry) && allowed(&self.subjects[at])
        });
        let missing = nearest
            .into_iter()
            .filter(|at| !self.index.is_embedded(*at));
        missing.map(|at| self.sources[at].hash).collect()
    }
}
