//! Vectors of texts, from the model in the binary, a model on disk, or a service.
//!
//! # Layout
//! - `local`: models that run in this process; `directory`: loading one from disk; `queue`: waiting
//!   queries
//! - [`precomputed`]: vectors of built-in texts
//! - `service`: an embeddings service; `service_format`: its requests and replies; `service_error`:
//!   its errors

mod directory;
mod local;
pub mod precomputed;
mod queue;
mod service;
mod service_error;
mod service_format;

use std::fmt;
use std::sync::Arc;

use kitbag_config::Prefixes;
use kitbag_domain::{Lookup, Remedy};

use local::{Local, LocalError, Model};
use service::EmbeddingService;
use service_error::EmbeddingServiceError;

pub use local::{built_in, texts_at_once};

/// Embeds texts with the configured model.
pub struct TextEmbedder(EmbedderKind);

enum EmbedderKind {
    Local(Local),
    Endpoint(Box<EmbeddingService>),
}

/// The words that a model knows.
pub struct Vocabulary(Arc<Model>);

impl Vocabulary {
    /// True if the model knows the lower-case word as a whole, and not only as a sequence of
    /// pieces.
    pub fn knows(&self, word: &str) -> bool {
        self.0.knows_word(word)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EmbedderError {
    #[error(transparent)]
    Local(#[from] LocalError),
    #[error(transparent)]
    Endpoint(#[from] EmbeddingServiceError),
}

/// The role of a text in a search. Some models distinguish the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextRole {
    Query,
    Document,
}

impl TextRole {
    /// Returns the prefix that the model needs before a text of this role; may be empty.
    pub(crate) fn prefix(self, prefixes: &Prefixes) -> &str {
        let prefix = match self {
            Self::Query => &prefixes.query,
            Self::Document => &prefixes.document,
        };
        prefix.as_deref().unwrap_or_default()
    }
}

impl TextEmbedder {
    /// Creates the configured embedder. It asks `lookup` for the variables in a key at each
    /// request.
    pub fn new(configured: &kitbag_config::Embedder, lookup: &Lookup) -> Self {
        Self(match configured {
            kitbag_config::Embedder::BuiltIn => EmbedderKind::Local(Local::built_in()),
            kitbag_config::Embedder::Directory(directory) => {
                EmbedderKind::Local(Local::in_directory(directory.clone()))
            }
            kitbag_config::Embedder::Endpoint(endpoint) => {
                let service = EmbeddingService::new(endpoint.clone(), lookup.clone());
                EmbedderKind::Endpoint(Box::new(service))
            }
        })
    }

    /// True for the model in the binary.
    pub fn is_built_in(&self) -> bool {
        matches!(&self.0, EmbedderKind::Local(local) if local.is_built_in())
    }

    /// Returns the vocabulary of a model in this process; a service does not publish its own.
    pub async fn vocabulary(&self) -> Option<Vocabulary> {
        match &self.0 {
            EmbedderKind::Local(local) => local.model().await.ok().cloned().map(Vocabulary),
            EmbedderKind::Endpoint(_) => None,
        }
    }

    /// Checks whether the embedder works as configured.
    pub async fn check(&self) -> Result<(), EmbedderError> {
        if self.is_built_in() {
            Ok(())
        } else {
            self.id().await.map(drop)
        }
    }

    /// Returns an id that distinguishes the vectors of this embedder from others.
    pub async fn id(&self) -> Result<String, EmbedderError> {
        match &self.0 {
            EmbedderKind::Local(local) => Ok(local.model().await?.id.clone()),
            EmbedderKind::Endpoint(endpoint) => Ok(endpoint.id()?),
        }
    }

    /// Returns the vectors of queries, within a short timeout.
    pub async fn embed_queries(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedderError> {
        match &self.0 {
            EmbedderKind::Local(local) => Ok(local.embed(texts, TextRole::Query).await?),
            EmbedderKind::Endpoint(endpoint) => Ok(endpoint.embed_queries(texts).await?),
        }
    }

    /// Returns the vectors of the searched texts, however long that takes.
    pub async fn embed_documents(
        &self,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbedderError> {
        match &self.0 {
            EmbedderKind::Local(local) => Ok(local.embed(texts, TextRole::Document).await?),
            EmbedderKind::Endpoint(endpoint) => Ok(endpoint.embed_documents(texts).await?),
        }
    }

    /// Records the length of the vectors that the store has from an earlier run.
    pub fn set_dimension(&self, dimension: usize) {
        if let EmbedderKind::Endpoint(endpoint) = &self.0 {
            endpoint.set_dimension(dimension);
        }
    }
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vocabulary")
    }
}

impl fmt::Debug for TextEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextEmbedder").finish_non_exhaustive()
    }
}

impl Remedy for EmbedderError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Local(error) => error.remedy(),
            Self::Endpoint(error) => Some(error.remedy()),
        }
    }
}
