//! Counts the tokens of texts, and truncates tool results to a budget.
//!
//! # Layout
//! - [`count()`]: exact token counts, for reports
//! - [`estimate_tokens()`]: fast estimates without tables, for the serving path, based on
//!   [`pieces`]
//! - [`estimate_result_tokens()`]: the estimated tokens of a tool's result
//! - [`truncate_to_budget()`]: truncates a tool's result, at a `cut_point`; the remainder stays
//!   readable as [`Pages`]
//! - [`guide`]: the servers behind a search, and their purposes
//! - [`notice`]: the line that informs the model about a truncation
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
mod result_tokens;
mod truncate;

pub use count::count;
pub use estimate::estimate_tokens;
pub use guide::{GuideRow, write_guide};
pub use pages::{Pages, ResultPage};
pub use result_tokens::estimate_result_tokens;
pub use truncate::{StructuredOutcome, TruncateOutcome, TruncatedResult, truncate_to_budget};
