//! Models that run in this process, on threads of their own.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use kitbag_config::{ModelDirectory, Prefixes};
use kitbag_relevance::embed::Encoder;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::TextRole;
use crate::directory::{self, DirectoryError};
use crate::precomputed;

pub(crate) struct Local {
    /// The directory of the model, if the model is not in the binary.
    directory: Option<ModelDirectory>,
    /// The model is unpacked when it is first used: most verbs of the command line never need it.
    model: OnceCell<Arc<Model>>,
    /// Allows as many requests at once as there are cores; more would only make each other wait.
    places: Semaphore,
}

pub(crate) struct Model {
    pub(crate) id: String,
    encoder: Encoder,
    prefixes: Prefixes,
}

#[derive(Debug, thiserror::Error)]
pub enum LocalError {
    #[error("the model in {} cannot be used", path.display())]
    Directory {
        path: PathBuf,
        source: DirectoryError,
    },
    #[error("embedding was interrupted")]
    Interrupted,
}

impl Local {
    pub(crate) fn built_in() -> Self {
        Self::new(None)
    }

    pub(crate) fn in_directory(directory: ModelDirectory) -> Self {
        Self::new(Some(directory))
    }

    fn new(directory: Option<ModelDirectory>) -> Self {
        Self {
            directory,
            model: OnceCell::new(),
            places: Semaphore::new(cores()),
        }
    }

    pub(crate) fn is_built_in(&self) -> bool {
        self.directory.is_none()
    }

    #[cfg(test)]
    pub(crate) fn is_unpacked(&self) -> bool {
        self.model.get().is_some()
    }

    pub(crate) async fn model(&self) -> Result<&Arc<Model>, LocalError> {
        self.model.get_or_try_init(|| self.load()).await
    }

    async fn load(&self) -> Result<Arc<Model>, LocalError> {
        let directory = self.directory.clone();
        let loading = tokio::task::spawn_blocking(move || Model::load(directory)).await;
        loading.map_err(|_| LocalError::Interrupted)?.map(Arc::new)
    }

    pub(crate) async fn embed(
        &self,
        texts: Vec<String>,
        role: TextRole,
    ) -> Result<Vec<Vec<f32>>, LocalError> {
        if role == TextRole::Document && self.is_built_in() {
            return self.embed_all_but_known(texts).await;
        }
        self.compute(texts, role).await
    }

    /// The built-in tools have their vectors already; the model is not even unpacked for them.
    async fn embed_all_but_known(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, LocalError> {
        let known: Vec<Option<Vec<f32>>> =
            texts.iter().map(|text| precomputed::vector(text)).collect();
        let unknown = texts
            .into_iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none());
        let unknown: Vec<String> = unknown.map(|(text, _)| text).collect();
        if unknown.is_empty() {
            return Ok(known.into_iter().flatten().collect());
        }
        let mut computed = self.compute(unknown, TextRole::Document).await?.into_iter();
        let vectors = known
            .into_iter()
            .map(|known| known.or_else(|| computed.next()));
        Ok(vectors.flatten().collect())
    }

    async fn compute(
        &self,
        texts: Vec<String>,
        role: TextRole,
    ) -> Result<Vec<Vec<f32>>, LocalError> {
        let model = self.model().await?.clone();
        // A batch of tools takes no place, so that a search does not wait for it.
        let _place = match role {
            TextRole::Query => Some(self.place().await?),
            TextRole::Document => None,
        };
        let work = tokio::task::spawn_blocking(move || model.embed(&texts, role));
        work.await.map_err(|_| LocalError::Interrupted)
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>, LocalError> {
        let place = self.places.acquire().await;
        place.map_err(|_| LocalError::Interrupted)
    }
}

impl Model {
    fn load(directory: Option<ModelDirectory>) -> Result<Self, LocalError> {
        match directory {
            Some(directory) => Self::in_directory(&directory),
            None => Ok(Self::built_in()),
        }
    }

    fn built_in() -> Self {
        let encoder = built_in();
        Self {
            id: encoder.id().as_str().to_owned(),
            encoder,
            prefixes: Prefixes::default(),
        }
    }

    fn in_directory(directory: &ModelDirectory) -> Result<Self, LocalError> {
        let loaded = directory::load(directory).map_err(|source| LocalError::Directory {
            path: directory.path.clone(),
            source,
        });
        let (encoder, prefixes) = loaded?;
        // With another prefix, documents have other vectors, so the prefix is part of the id. The
        // vectors of requests are not kept.
        let document = prefixes.document.as_deref().unwrap_or_default();
        let id = format!("{} {document}", encoder.id().as_str());
        Ok(Self {
            id: id.trim_end().to_owned(),
            encoder,
            prefixes,
        })
    }

    fn embed(&self, texts: &[String], role: TextRole) -> Vec<Vec<f32>> {
        match role.prefix(&self.prefixes) {
            "" => self.on_all_cores(texts),
            prefix => {
                let prefixed: Vec<_> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
                self.on_all_cores(&prefixed)
            }
        }
    }

    fn on_all_cores(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let share = texts.len().div_ceil(cores()).max(LEAST_SHARE);
        if texts.len() <= share {
            return self.on_this_core(texts);
        }
        std::thread::scope(|scope| {
            let shares = texts.chunks(share);
            let workers: Vec<_> = shares
                .map(|texts| scope.spawn(|| self.on_this_core(texts)))
                .collect();
            let done = workers.into_iter().map(ScopedJoinHandle::join);
            done.flat_map(|vectors| vectors.expect("embedding does not panic"))
                .collect()
        })
    }

    fn on_this_core(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.encoder.embed_batch(&texts)
    }
}

/// Unpacks the model in the binary.
pub fn built_in() -> Encoder {
    let bytes = include_bytes!("../kitbag-embedder.bin");
    Encoder::from_container(bytes).expect("the model in the binary is the one that was tested")
}

/// Fewer texts than this are done before another thread has begun.
const LEAST_SHARE: usize = 8;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl LocalError {
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::Directory { source, .. } => Some(source.remedy().to_owned()),
            Self::Interrupted => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of the words by which the built-in tools know a capability of agents.
    const BUILT_IN: &str = "plan mode";

    #[tokio::test]
    async fn a_built_in_text_is_embedded_without_the_model_and_others_with_it() {
        let local = Local::built_in();
        let text = BUILT_IN.to_owned();
        assert!(precomputed::vector(&text).is_some(), "it is built in");
        let vectors = local.embed(vec![text.clone()], TextRole::Document).await;
        let vectors = vectors.unwrap();
        assert!(!local.is_unpacked());
        let mixed = vec![text, "something else".to_owned()];
        let mixed = local.embed(mixed, TextRole::Document).await.unwrap();
        assert_eq!(mixed[0], vectors[0]);
        assert_eq!(mixed[1].len(), vectors[0].len());
        assert!(local.is_unpacked());
    }
}
