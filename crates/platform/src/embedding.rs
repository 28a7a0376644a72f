//! The function that embeds texts. The gateway provides it.

use std::sync::Arc;

use futures::future::BoxFuture;

/// Returns one vector for each text, in order.
pub type EmbedFunction = Arc<
    dyn Fn(TextsToEmbed) -> BoxFuture<'static, Result<EmbeddedTexts, EmbeddingFailed>>
        + Send
        + Sync,
>;

/// Texts and their role; some models embed queries and documents differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextsToEmbed {
    Questions(Vec<String>),
    Documents(Vec<String>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedTexts {
    /// The model that made the vectors. Only vectors of one model can be compared.
    pub model: String,
    pub vectors: Vec<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("texts cannot be compared by meaning at the moment: {reason}")]
pub struct EmbeddingFailed {
    pub reason: String,
}
