//! Span ids that are chosen when a call begins, because the call passes them to servers. The span
//! itself is recorded when the call has ended.

use std::cell::Cell;

use kitbag_domain::TraceParent;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

const SAMPLED: u8 = 1;

/// Returns a new span under the parent, or in a new trace. It is sampled if the parent is.
pub fn new_span(parent: Option<TraceParent>) -> TraceParent {
    let random = RandomIdGenerator::default();
    TraceParent {
        trace: parent.map_or_else(|| random.new_trace_id().to_bytes(), |it| it.trace),
        span: random.new_span_id().to_bytes(),
        flags: parent.map_or(SAMPLED, |it| it.flags & SAMPLED),
    }
}

thread_local! {
    static CHOSEN: Cell<Option<TraceParent>> = const { Cell::new(None) };
}

/// Starts a span with these ids.
pub(crate) fn with_ids<T>(ids: Option<TraceParent>, start: impl FnOnce() -> T) -> T {
    CHOSEN.set(ids);
    let started = start();
    CHOSEN.set(None);
    started
}

/// Returns the ids chosen by [`with_ids`], or random ids.
#[derive(Debug, Default)]
pub(crate) struct ChosenIds(RandomIdGenerator);

impl IdGenerator for ChosenIds {
    fn new_trace_id(&self) -> TraceId {
        let chosen = CHOSEN.get().map(|ids| TraceId::from_bytes(ids.trace));
        chosen.unwrap_or_else(|| self.0.new_trace_id())
    }

    fn new_span_id(&self) -> SpanId {
        let chosen = CHOSEN.get().map(|ids| SpanId::from_bytes(ids.span));
        chosen.unwrap_or_else(|| self.0.new_span_id())
    }
}
