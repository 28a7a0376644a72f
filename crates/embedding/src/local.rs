//! Models that run in this process, on threads of their own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use kitbag_config::{ModelDirectory, Prefixes};
use kitbag_encoder::Encoder;
use tokio::sync::OnceCell;

use crate::TextRole;
use crate::directory::{self, DirectoryError};
use crate::precomputed;
use crate::queue::QueryQueue;

pub(crate) struct Local {
    /// The directory of the model, unless it is in the binary.
    directory: Option<ModelDirectory>,
    /// The model is unpacked on first use: most commands never need it.
    model: OnceCell<Arc<Model>>,
    requests: Arc<QueryQueue>,
}

pub(crate) struct Model {
    pub(crate) id: String,
    encoder: Encoder,
    prefixes: Prefixes,
}

impl Model {
    pub(crate) fn knows_word(&self, word: &str) -> bool {
        self.encoder.knows_word(word)
    }
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
            requests: Arc::default(),
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

    /// The built-in tools have precomputed vectors; the model is not even unpacked for them.
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
        // A batch of tools does not use the queue, so a search does not wait for it.
        if role == TextRole::Query {
            return self.requests.embed(&model, texts).await;
        }
        let work = tokio::task::spawn_blocking(move || model.embed(&texts, role));
        work.await.map_err(|_| LocalError::Interrupted)
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
        // vectors of queries are not stored.
        let document = prefixes.document.as_deref().unwrap_or_default();
        let id = format!("{} {document}", encoder.id().as_str());
        Ok(Self {
            id: id.trim_end().to_owned(),
            encoder,
            prefixes,
        })
    }

    pub(crate) fn embed(&self, texts: &[String], role: TextRole) -> Vec<Vec<f32>> {
        match role.prefix(&self.prefixes) {
            "" => self.embed_on_all_cores(texts),
            prefix => {
                let prefixed: Vec<_> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
                self.embed_on_all_cores(&prefixed)
            }
        }
    }

    /// Each core takes a few texts at a time, because texts differ in length and cores in load.
    fn embed_on_all_cores(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let shares: Vec<&[String]> = texts.chunks(MIN_SHARE).collect();
        let workers = cores().min(shares.len());
        if workers < 2 {
            return self.embed_on_this_core(texts);
        }
        let next = AtomicUsize::new(0);
        let mut done: Vec<(usize, Vec<Vec<f32>>)> = std::thread::scope(|scope| {
            let workers = (0..workers).map(|_| scope.spawn(|| self.take_shares(&shares, &next)));
            let workers: Vec<_> = workers.collect();
            let done = workers.into_iter().map(ScopedJoinHandle::join);
            done.flat_map(|shares| shares.expect("embedding does not panic"))
                .collect()
        });
        done.sort_unstable_by_key(|(number, _)| *number);
        done.into_iter().flat_map(|(_, vectors)| vectors).collect()
    }

    fn take_shares(&self, shares: &[&[String]], next: &AtomicUsize) -> Vec<(usize, Vec<Vec<f32>>)> {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        numbers
            .map_while(|number| Some((number, self.embed_on_this_core(shares.get(number)?))))
            .collect()
    }

    fn embed_on_this_core(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.encoder.embed_batch(&texts)
    }
}

/// Unpacks the model in the binary.
pub fn built_in() -> Encoder {
    let bytes = include_bytes!("../kitbag-embedder.bin");
    Encoder::from_container(bytes).expect("the model in the binary is the one that was tested")
}

/// Fewer texts than this are embedded before another thread would have started. As many queries
/// share one pass over the weights.
pub(crate) const MIN_SHARE: usize = 8;

/// Returns the number of texts that keep all cores busy for one pass.
pub fn texts_at_once() -> usize {
    MIN_SHARE * cores()
}

pub(crate) fn cores() -> usize {
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

    /// A text by which the built-in tools know a capability of agents.
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
