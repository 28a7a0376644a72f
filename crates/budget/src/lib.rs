//! Counts the tokens of a text, and cuts a tool's result to a budget.
//!
//! # Layout
//! - [`count()`]: the tokens of a text, exactly, for reports
//! - [`estimate()`]: about as many, at once and without tables, for the serving path; it splits
//!   text into [`pieces`]
//! - [`price()`]: about how many tokens a tool's result costs
//! - [`fit()`]: cuts a tool's result to a budget, at a `cut_point`; the rest stays readable as
//!   [`Pages`]
//! - [`guide()`]: the servers behind a search, and what they are for
//! - [`notice`]: the line that tells the model about the cut
//!
//! Nothing here reads a clock or waits.

mod block;
mod count;
mod cut_point;
mod duplicate;
mod estimate;
mod guide;
mod json;
pub mod notice;
mod pages;
pub mod pieces;
mod price;
mod truncate;

pub use count::count;
pub use estimate::estimate_tokens;
pub use guide::{GuideRow, write_guide};
pub use pages::{Pages, ResultPage};
pub use price::estimate_result_tokens;
pub use truncate::{StructuredOutcome, TruncateOutcome, TruncatedResult, truncate_to_budget};
