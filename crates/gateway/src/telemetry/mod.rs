//! Counts tokens and outcomes, and writes audit rows.
//!
//! Uses the store, the catalog and `kitbag-telemetry`, and reads the client from the turn. Serves
//! no request: other modules call it. Recording never delays or fails a request, unless the audit
//! is required.

pub mod audit;
pub mod meter;
pub mod rejections;
pub(crate) mod row_budget;
