//! The counters of a gateway, and their export to Prometheus and OpenTelemetry.
//!
//! # Layout
//! - [`figures`]: tokens and calls by tenant, tool and client, with limits on the number of rows
//! - [`model_requests`]: requests to models that pass through the gateway
//! - [`operations`]: programs and intents, by the path they took
//! - [`process`]: memory, CPU time and open files of this process
//! - [`exposition`]: metrics as text, for Prometheus
//! - [`otlp`]: the figures and a span for each call, for an OpenTelemetry collector; [`span_ids`]:
//!   span ids that are chosen before the span is recorded

pub mod exposition;
pub mod figures;
pub mod model_requests;
pub mod operations;
pub mod otlp;
pub mod process;
pub mod span_ids;
