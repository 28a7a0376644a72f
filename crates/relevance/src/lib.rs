//! Given capabilities and an intent, which are worth showing.
//!
//! Pure: no network, no disk, no clock. Model bytes and vectors are handed in, time is an
//! argument, and the same input gives the same answer.
//!
//! # Layout
//! - [`entry`]: what is known of a capability
//! - [`index`]: the snapshot; [`mod@retrieve`]: searching it, with one `question` or several
//! - [`lexical`] (over [`terms`]) and [`dense`]: the two ways to compare; [`score`]: their sum
//! - [`options`]: which capabilities come into question; [`steps`]: an intent for several taken apart
//! - [`text`]: what stands for a tool; [`embed`]: text into vectors; `simd`: the arithmetic under it
//! - `confidence`: whether the best is likely to do; [`eval`]: how good a ranking is

mod confidence;
pub mod dense;
pub mod embed;
pub mod entry;
pub mod eval;
pub mod index;
pub mod lexical;
pub mod options;
mod question;
pub mod retrieve;
pub mod score;
mod simd;
pub mod steps;
pub mod terms;
pub mod text;

pub use confidence::confident;
pub use entry::Entry;
pub use index::{Document, Index};
pub use options::{MAX_TOP_K, Options};
pub use retrieve::{Candidate, Intent, retrieve};
pub use score::{Parts, Unit, Weights};
pub use steps::Step;
