//! Where vectors come from: the model in the binary.

use std::sync::{Arc, LazyLock};

use kitbag_relevance::embed::Encoder;

#[derive(Clone)]
pub(crate) enum Embedder {
    /// Unpacked when first used: most verbs of the command line never need it.
    BuiltIn(&'static LazyLock<Arc<Encoder>>),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbedderError {
    #[error("embedding was interrupted")]
    Interrupted,
}

static BUILT_IN: LazyLock<Arc<Encoder>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../../models/kitbag-embedder.bin");
    Arc::new(Encoder::from_container(bytes).expect("the model in the binary is the one that was tested"))
});

impl Embedder {
    pub(crate) fn built_in() -> Self {
        Self::BuiltIn(&BUILT_IN)
    }

    /// Tells vectors of one model from those of another.
    pub(crate) fn id(&self) -> String {
        self.encoder().id().as_str().to_owned()
    }

    /// The vector of an intent: a few milliseconds of work, not worth another thread.
    pub(crate) fn intent(&self, text: &str) -> Vec<f32> {
        self.encoder().embed(text)
    }

    pub(crate) async fn documents(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedderError> {
        let encoder = self.encoder().clone();
        let work = tokio::task::spawn_blocking(move || on_all_cores(&encoder, &texts));
        work.await.map_err(|_| EmbedderError::Interrupted)
    }

    fn encoder(&self) -> &Arc<Encoder> {
        match self {
            Self::BuiltIn(encoder) => encoder,
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
