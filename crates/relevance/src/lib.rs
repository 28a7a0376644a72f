//! Ranks tools for a query.
//!
//! Pure: no I/O, no clock and no unsafe code. The caller passes vectors and the time, and the same
//! input gives the same result on every machine.
//!
//! # Layout
//! - [`indexed_tool`]: a tool's facts; [`tool_kind`]: its category and complexity
//! - [`index`]: the snapshot, in `blocks` that consecutive snapshots share
//! - [`mod@retrieve`]: the search; `query_matcher`: one text compared with all documents
//! - `lexical` (on [`terms`]) and [`dense`]: BM25F and vectors; [`score`]: their weighted sum
//! - `ranking`: sorts, with bonuses for steps, votes and names; `named_tools`: tools that a query
//!   names; `equivalents`: tools that share a slot; `nearest`: tools to embed first
//! - [`learning`]: votes from past use; `priors`: success, latency and cost
//! - [`options`]: filters; [`steps`]: splits a query into its steps
//! - [`tool_text`]: the text that is embedded for a tool
//! - `confidence`: the probability that the results are right; [`metrics`]: the quality of a
//!   ranking; [`calibration`]: the quality of probabilities
//! - [`spelling`]: corrects misspelt words; [`language`]: detects queries that are not in English
//! - [`server_summary`]: the purpose of a server, in a few words

mod blocks;
pub mod calibration;
mod confidence;
pub mod dense;
mod equivalents;
pub mod index;
pub mod indexed_tool;
pub mod language;
pub mod learning;
mod lexical;
pub mod metrics;
mod named_tools;
mod nearest;
pub mod options;
mod priors;
mod query_matcher;
mod ranking;
pub mod retrieve;
pub mod score;
pub mod server_summary;
pub mod spelling;
pub mod steps;
pub mod terms;
pub mod tool_kind;
pub mod tool_text;

pub use confidence::Confidence;
pub use equivalents::find_equivalents;
pub use index::{Document, Index};
pub use indexed_tool::IndexedTool;
pub use learning::{Experience, Lesson, Signal, Votes};
pub use nearest::nearest_by_words;
pub use options::{MAX_TOP_K, Options};
pub use retrieve::{Candidate, Query, QueryMatches, Retrieved, retrieve};
pub use score::{Parts, ScoreUnit, Weights};
pub use steps::QueryStep;
