//! Holds the figures that a gateway counts, and puts them into the forms that others read:
//! OpenMetrics, the classic format of Prometheus, and OpenTelemetry.
//!
//! # Layout
//! - [`figures`]: tokens and calls, by tenant, tool and client, and how many of them are kept
//! - [`model_requests`]: requests to models that pass through the gateway
//! - [`operations`]: programs and requests in words, by the way they took
//! - [`process`]: what the operating system says of this process
//! - [`exposition`]: pages of metrics as text
//! - [`otlp`]: the figures, and a span for each call, to a collector of OpenTelemetry; [`span_ids`]: the ids
//!   of a span, chosen before it is written

pub mod exposition;
pub mod figures;
pub mod model_requests;
pub mod operations;
pub mod otlp;
pub mod process;
pub mod span_ids;
