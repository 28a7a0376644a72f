//! An index of tools that no gateway serves, such as tool files being checked. Nothing is stored.

use std::sync::Arc;

use kitbag_config::Embedder;
use kitbag_domain::Lookup;
use kitbag_embedding::{EmbedderError, TextEmbedder};
use kitbag_relevance::{Candidate, Document, Index, Options, retrieve};

use super::embedded_query::EmbeddedQuery;
use super::source::IndexSource;

/// Texts that are embedded between two progress reports.
const PORTION: usize = 64;

pub struct DetachedIndex {
    embedder: TextEmbedder,
    index: Index,
}

impl DetachedIndex {
    /// Embeds the tools with the built-in model, so that results are the same on every machine.
    pub async fn build(
        sources: Vec<IndexSource>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Self, EmbedderError> {
        let nothing: Lookup = Arc::new(|_| None);
        let embedder = TextEmbedder::new(&Embedder::BuiltIn, &nothing);
        let mut documents = Vec::with_capacity(sources.len());
        for portion in sources.chunks(PORTION) {
            progress(documents.len(), sources.len());
            let texts = portion.iter().map(|it| it.text.clone()).collect();
            let vectors = embedder.embed_documents(texts).await?;
            documents.extend(portion.iter().zip(vectors).map(with_vector));
        }
        Ok(Self {
            index: Index::build(documents),
            embedder,
        })
    }

    /// Returns the best candidates for a query, best first.
    pub async fn find(
        &self,
        query: &str,
        options: &Options,
    ) -> Result<Vec<Candidate>, EmbedderError> {
        let query = EmbeddedQuery::embed_uncached(query, &self.embedder).await?;
        let found = retrieve(&self.index, query.as_query(), options, |_| true);
        Ok(found.candidates)
    }
}

fn with_vector((source, vector): (&IndexSource, Vec<f32>)) -> Document {
    Document {
        vector: Some(vector.into()),
        ..source.document.clone()
    }
}
