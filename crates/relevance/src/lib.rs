//! Given capabilities and an intent, which are worth showing.
//!
//! Pure: no network, no disk, no clock. Model bytes and vectors are handed in, time is an
//! argument, and the same input gives the same answer.
//!
//! # Layout
//! - [`entry`]: what is known of a capability
//! - [`index`]: the snapshot; [`mod@retrieve`]: searching it
//! - [`lexical`] (over [`terms`]) and [`dense`]: the two ways to compare; [`fuse`]: their sum
//! - [`text`]: what stands for a tool; [`embed`]: text into vectors; `simd`: the arithmetic under it
//! - [`eval`]: how good a ranking is

pub mod dense;
pub mod embed;
pub mod entry;
pub mod eval;
pub mod fuse;
pub mod index;
pub mod lexical;
pub mod retrieve;
mod simd;
pub mod terms;
pub mod text;

pub use entry::{Entry, WriteClass};
pub use fuse::{Parts, Weights};
pub use index::{Document, Index};
pub use retrieve::{Candidate, Intent, MAX_TOP_K, Options, retrieve};
