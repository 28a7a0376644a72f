//! The function that makes vectors of texts. How they are made is not known here.

use std::sync::Arc;

use futures::future::BoxFuture;

/// Makes vectors of texts, one for each, in their order.
pub type EmbedFunction = Arc<
    dyn Fn(TextsToEmbed) -> BoxFuture<'static, Result<EmbeddedTexts, EmbeddingFailed>>
        + Send
        + Sync,
>;

/// Texts, and their role: some models want to be told which of the two it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextsToEmbed {
    Questions(Vec<String>),
    Documents(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedTexts {
    /// Tells vectors of one model from those of another: the two cannot be compared.
    pub model: String,
    pub vectors: Vec<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("texts cannot be compared by meaning at the moment: {reason}")]
pub struct EmbeddingFailed {
    pub reason: String,
}
