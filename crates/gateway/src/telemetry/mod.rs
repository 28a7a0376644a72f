//! Counts and records what the gateway does: tokens, outcomes, audit rows.
//!
//! May touch the store and `kitbag-telemetry`. Recording never delays or fails a request, except where
//! the audit is required.

pub mod audit;
pub(crate) mod measure;
pub mod meter;
pub(crate) mod refusals;
pub(crate) mod row_budget;
