//! Turns text into vectors, with a small transformer that runs on any machine.
//!
//! [`Encoder`] splits a text with `wordpiece` (over `words`), passes its tokens through `layers`
//! and averages their vectors. A model comes from Kitbag's own `container` or from a directory as
//! published by `hugging_face`; `checkpoint` finds the `tensors` in either.

mod attention;
mod checkpoint;
mod container;
mod error;
mod hugging_face;
mod layers;
mod math;
mod model;
mod tensors;
mod weights;
mod wordpiece;
mod words;

pub use error::ModelError;
pub use hugging_face::{ModelFiles, Pooling, Vocabulary};
pub use model::{Encoder, MAX_TOKENS, ModelId};
pub use weights::ModelShape;
pub use wordpiece::VocabularyError;
