//! Where vectors come from: the model in the binary, a model on disk, or a service.

use kitbag_config::Prefixes;
use kitbag_domain::Lookup;

use super::endpoint::{Endpoint, EndpointError};
use super::local::{Local, LocalError};

pub(crate) enum Embedder {
    Local(Local),
    Endpoint(Endpoint),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbedderError {
    #[error(transparent)]
    Local(#[from] LocalError),
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Some models want to be told which of the two a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Query,
    Document,
}

impl Role {
    /// The text that the model needs before a text of this role; empty if it needs none.
    pub(super) fn prefix(self, prefixes: &Prefixes) -> &str {
        let prefix = match self {
            Self::Query => &prefixes.query,
            Self::Document => &prefixes.document,
        };
        prefix.as_deref().unwrap_or_default()
    }
}

impl Embedder {
    /// Variables in a key are asked of `lookup` at each request.
    pub(crate) fn new(configured: &kitbag_config::Embedder, lookup: &Lookup) -> Self {
        match configured {
            kitbag_config::Embedder::BuiltIn => Self::Local(Local::built_in()),
            kitbag_config::Embedder::Directory(directory) => {
                Self::Local(Local::in_directory(directory.clone()))
            }
            kitbag_config::Embedder::Endpoint(endpoint) => {
                Self::Endpoint(Endpoint::new(endpoint.clone(), lookup.clone()))
            }
        }
    }

    /// Whether it is the model in the binary.
    pub(super) fn is_built_in(&self) -> bool {
        matches!(self, Self::Local(local) if local.is_built_in())
    }

    /// Whether it can work as it is configured.
    pub(super) async fn check(&self) -> Result<(), EmbedderError> {
        if self.is_built_in() {
            Ok(())
        } else {
            self.id().await.map(drop)
        }
    }

    /// Tells vectors of one embedder from those of another.
    pub(crate) async fn id(&self) -> Result<String, EmbedderError> {
        match self {
            Self::Local(local) => Ok(local.model().await?.id.clone()),
            Self::Endpoint(endpoint) => Ok(endpoint.id()?),
        }
    }

    /// The vectors of what somebody is looking for, soon or not at all.
    pub(crate) async fn queries(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedderError> {
        match self {
            Self::Local(local) => Ok(local.embed(texts, Role::Query).await?),
            Self::Endpoint(endpoint) => Ok(endpoint.queries(texts).await?),
        }
    }

    /// The vectors of what is searched, however long that takes.
    pub(crate) async fn documents(
        &self,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbedderError> {
        match self {
            Self::Local(local) => Ok(local.embed(texts, Role::Document).await?),
            Self::Endpoint(endpoint) => Ok(endpoint.documents(texts).await?),
        }
    }

    /// How long the vectors are that the store has from an earlier run.
    pub(super) fn remembers(&self, dimension: usize) {
        if let Self::Endpoint(endpoint) = self {
            endpoint.remembers(dimension);
        }
    }
}

impl EmbedderError {
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::Local(error) => error.remedy(),
            Self::Endpoint(error) => Some(error.remedy()),
        }
    }
}
