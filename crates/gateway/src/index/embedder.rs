//! Where vectors come from: the model in the binary, a model on disk, or an endpoint.

use std::sync::Arc;

use kitbag_relevance::embed::{Encoder, ModelError};

#[derive(Clone)]
pub(crate) enum Embedder {
    Local(Arc<Encoder>),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbedderError {
    #[error("the model cannot be used: {0}")]
    Model(#[from] ModelError),
    #[error("embedding was interrupted")]
    Interrupted,
}

/// The model that ships with Kitbag.
static BUILT_IN: &[u8] = include_bytes!("../../../../models/kitbag-embedder.bin");

impl Embedder {
    pub(crate) fn built_in() -> Result<Self, EmbedderError> {
        Ok(Self::Local(Arc::new(Encoder::from_bundle(BUILT_IN)?)))
    }

    /// Tells vectors of one model from those of another.
    pub(crate) fn id(&self) -> String {
        match self {
            Self::Local(encoder) => encoder.id().to_owned(),
        }
    }

    pub(crate) async fn intent(&self, text: &str) -> Result<Vec<f32>, EmbedderError> {
        match self {
            // A few milliseconds of work: not worth moving to another thread.
            Self::Local(encoder) => Ok(encoder.embed(text)),
        }
    }

    pub(crate) async fn documents(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedderError> {
        match self {
            Self::Local(encoder) => {
                let encoder = encoder.clone();
                let work = tokio::task::spawn_blocking(move || on_all_cores(&encoder, &texts));
                work.await.map_err(|_| EmbedderError::Interrupted)
            }
        }
    }
}

fn on_all_cores(encoder: &Encoder, texts: &[String]) -> Vec<Vec<f32>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = texts.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = texts
            .chunks(share)
            .map(|texts| {
                scope.spawn(|| {
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    encoder.embed_batch(&texts)
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("embedding does not panic")).collect()
    })
}
