//! Adapts the gateway's embedder for the context plane.

use std::sync::Arc;

use futures::FutureExt as _;
use kitbag_embedding::{EmbedderError, TextEmbedder};
use kitbag_platform::{EmbedFunction, EmbeddedTexts, EmbeddingFailed, TextsToEmbed};

/// Returns the function that embeds facts and questions.
pub fn embed_function(embedder: Arc<TextEmbedder>) -> EmbedFunction {
    Arc::new(move |texts| {
        let embedder = embedder.clone();
        let embedded = async move {
            embed_texts(&embedder, texts)
                .await
                .map_err(to_embedding_failed)
        };
        embedded.boxed()
    })
}

async fn embed_texts(
    embedder: &TextEmbedder,
    texts: TextsToEmbed,
) -> Result<EmbeddedTexts, EmbedderError> {
    let vectors = match texts {
        TextsToEmbed::Questions(texts) => embedder.embed_queries(texts).await?,
        TextsToEmbed::Documents(texts) => embedder.embed_documents(texts).await?,
    };
    let model = embedder.id().await?;
    Ok(EmbeddedTexts { model, vectors })
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn to_embedding_failed(error: EmbedderError) -> EmbeddingFailed {
    EmbeddingFailed {
        reason: error.to_string(),
    }
}
