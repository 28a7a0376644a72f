//! Finds the tools that are worth showing for an intent.
//!
//! Pure: no network, no disk, no clock. The caller hands in model bytes, vectors and the time, and
//! the same input gives the same answer.
//!
//! # Layout
//! - [`indexed_tool`]: the facts about a tool; [`light`]: its category and complexity
//! - [`index`]: the snapshot, made of `blocks` that the next one shares; [`mod@retrieve`]: searching it,
//!   with one `query` or several
//! - `lexical` (over [`terms`]) and [`dense`]: the two ways to compare; [`score`]: their sum
//! - `ranking`: the best first, with a bonus for the steps of an intent; `named`: the tools that an
//!   intent names; `same_task`: the tools that share a place; `nearest`: those that need a vector first
//! - [`learned`]: the votes of past contexts, from use; `priors`: the part of success, time and
//!   cost in a score
//! - [`options`]: filters on the tools; [`steps`]: splits an intent into its steps
//! - [`text`]: the text a tool is embedded by
//! - `confidence`: the probability that the tools found are right; [`eval`]: how good a
//!   ranking is; [`calibration`]: how true probabilities are
//! - [`spelling`]: corrects misspelt words of a request
//! - [`language`]: recognises a request that is not in English
//! - [`purpose`]: what a server is for, in a few words

mod blocks;
pub mod calibration;
mod confidence;
pub mod dense;
pub mod eval;
pub mod index;
pub mod indexed_tool;
pub mod language;
pub mod learned;
mod lexical;
pub mod light;
mod named;
mod nearest;
pub mod options;
mod priors;
pub mod purpose;
mod query;
mod ranking;
pub mod retrieve;
mod same_task;
pub mod score;
pub mod spelling;
pub mod steps;
pub mod terms;
pub mod text;

pub use confidence::Confidence;
pub use index::{Document, Index};
pub use indexed_tool::IndexedTool;
pub use learned::{Experience, Lesson, Signal, Votes};
pub use nearest::nearest_by_words;
pub use options::{MAX_TOP_K, Options};
pub use retrieve::{Candidate, Intent, Retrieved, retrieve};
pub use same_task::equals;
pub use score::{Parts, ScoreUnit, Weights};
pub use steps::IntentStep;
