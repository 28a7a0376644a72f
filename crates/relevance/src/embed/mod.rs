//! Text into vectors, by a small transformer that runs on any machine.
//!
//! [`Encoder`] reads a text with `wordpiece` (over `words`), passes it through `layers` and
//! averages what comes out. Models come from our own `container` or a folder as
//! `hugging_face` has them; `checkpoint` finds the `tensors` in either.

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
pub use weights::Shape;
pub use wordpiece::VocabularyError;
