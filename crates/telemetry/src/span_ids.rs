//! Spans whose ids are chosen when a call begins, though they are written down when it has ended: the servers
//! that a call reaches are told the ids meanwhile.

use std::cell::Cell;

use kitbag_domain::TraceParent;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};

const SAMPLED: u8 = 1;

/// Returns a new span under a parent, or in a trace of its own. It is recorded if the parent is.
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

/// Gives a span the ids that were chosen for it, or random ones.
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
