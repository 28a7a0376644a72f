//! What text costs a model, and how to cut it to a price.
//!
//! # Layout
//! - [`count()`]: the tokens of a text, exactly, for reports
//! - [`estimate()`]: about as many, at once and without tables, for the serving path; it splits
//!   text into [`pieces`]
//! - [`price()`]: about what a tool's result costs, whatever it is made of
//! - [`fit()`]: a tool's result within a budget; what it leaves out stays readable as [`Pages`]
//! - [`notice`]: what the model is told about that
//!
//! Nothing here reads a clock or waits for anything.

mod block;
mod count;
mod estimate;
mod fit;
mod json;
pub mod notice;
mod pages;
pub mod pieces;
mod place;
mod price;
mod same;

pub use count::count;
pub use estimate::estimate;
pub use fit::{Cut, Fitted, Structured, fit};
pub use pages::{Page, Pages};
pub use price::price;
