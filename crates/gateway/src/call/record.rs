//! The record of one call: written when the call ends or, where the audit is required, before the
//! request is sent.

use std::time::Instant;

use kitbag_domain::{CallCost, Capability, NanoUsd, Observation, Outcome, TraceParent};
use kitbag_store::{AuditRowId, AuditSink};
use kitbag_wire::Raw;

use crate::call::failure::Failure;
use crate::call::observe::{self, ToolUse};
use crate::state::clock::now;
use crate::telemetry::audit::arguments::to_recorded_arguments;
use crate::turn::Turn;

/// A call in progress. If it is dropped before its end, it is recorded as cancelled.
pub(crate) struct CallRecord {
    audit: AuditSink,
    /// `None` for a call that is not recorded, and after the end is recorded.
    observation: Option<Observation>,
    started: Instant,
    /// The audit row of a call that was recorded in advance.
    row: Option<AuditRowId>,
    /// The tool use to report to the learner.
    tool_use: Option<ToolUse>,
    span: Option<TraceParent>,
}

impl CallRecord {
    pub(crate) fn new(turn: &Turn) -> Self {
        Self {
            audit: turn.gateway.services.audit.clone(),
            observation: None,
            started: Instant::now(),
            row: None,
            tool_use: None,
            span: turn.gateway.services.meter.new_span(turn.trace.parent),
        }
    }

    /// Returns the call's span, if traces are exported.
    pub(crate) fn span(&self) -> Option<TraceParent> {
        self.span
    }

    /// Sets the subject of the call and its arguments as JSON. A list concerns a whole server; it
    /// has no name and is not recorded.
    pub(crate) fn set_subject(
        &mut self,
        turn: &Turn,
        capability: Capability,
        arguments: Option<&str>,
    ) {
        if capability.name.is_empty() {
            return;
        }
        let gateway = &turn.gateway;
        let recording = gateway.audit_settings.arguments;
        self.observation = Some(Observation {
            at: now(),
            caller: turn.caller().clone(),
            client: turn.client.name.clone(),
            origin: turn.origin.clone(),
            purpose: turn.purpose,
            cost: CallCost {
                tokens: None,
                price: configured_price(turn, &capability),
            },
            arguments: arguments
                .and_then(|it| to_recorded_arguments(recording, &gateway.services.store, it)),
            capability: capability.into_shortened(),
            outcome: Outcome::Unfinished,
            latency: self.started.elapsed(),
        });
    }

    /// Stores the tool use to report to the learner.
    pub(crate) fn set_tool_use(&mut self, tool_use: Option<ToolUse>) {
        self.tool_use = tool_use;
    }

    /// Records the price that the execution reported. A price declared by the operator takes
    /// precedence.
    pub(crate) fn record_price(&mut self, price: NanoUsd) {
        if let Some(observation) = &mut self.observation {
            observation.cost.price.get_or_insert(price);
        }
    }

    /// Call this before contacting any server. Where the audit is required, returns once the row is
    /// durable, and fails if it cannot be written.
    pub(crate) async fn write_required_row(&mut self, turn: &Turn) -> Result<(), Failure> {
        if turn.gateway.audit_settings.required
            && let Some(observation) = &self.observation
        {
            self.row = Some(self.audit.begin_call(observation.clone()).await?);
        }
        Ok(())
    }

    pub(crate) fn write_end(
        mut self,
        turn: &Turn,
        answer: &Result<Raw, Failure>,
        outcome: impl FnOnce(&Raw) -> Outcome,
    ) {
        let outcome = answer.as_ref().map_or_else(Failure::audit_outcome, outcome);
        if let Some(tool_use) = self.tool_use.take() {
            observe::report_call(turn, tool_use, outcome);
        }
        let tokens = answer
            .as_ref()
            .ok()
            .and_then(|it| estimate_tokens(turn, it));
        let span = self.span;
        if let Some(observation) = self.finish_audit_row(outcome, tokens) {
            turn.gateway
                .services
                .meter
                .record_call(&turn.catalog, &observation, span);
        }
    }

    fn finish_audit_row(&mut self, outcome: Outcome, tokens: Option<u64>) -> Option<Observation> {
        let latency = self.started.elapsed();
        let observation = self.observation.take()?;
        let price = observation.cost.price.filter(|_| is_paid(outcome));
        let cost = CallCost { tokens, price };
        // The row's time is that of the end, as for a call recorded only at its end.
        let observation = Observation {
            at: now(),
            outcome,
            latency,
            cost,
            ..observation
        };
        match self.row {
            Some(row) => self.audit.end_call(row, outcome, latency, cost),
            None => self.audit.record_call(observation.clone()),
        }
        Some(observation)
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        self.finish_audit_row(Outcome::Cancelled, None);
    }
}

/// Returns the price that the operator declares for a call of this tool.
fn configured_price(turn: &Turn, capability: &Capability) -> Option<NanoUsd> {
    // Most operators declare no overrides.
    let declared = Some(&turn.gateway.overrides).filter(|it| !it.is_empty())?;
    let entry = turn.catalog.find_tool(capability)?;
    let usd = declared.get(&entry.plain_name)?.cost_usd?;
    Some(NanoUsd::from_usd(usd))
}

/// A call that reached no server costs nothing.
fn is_paid(outcome: Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::Denied | Outcome::Invalid | Outcome::Unavailable
    )
}

/// Estimates how many tokens of a result a model receives: none if a program gets the result, and
/// at most the length to which results are truncated.
fn estimate_tokens(turn: &Turn, result: &Raw) -> Option<u64> {
    /// Counting a longer result exactly would take as long as a short call.
    const EXACT: usize = 16 * 1024;
    const BYTES_PER_TOKEN: usize = 4;
    if turn.run.is_some() {
        return None;
    }
    let text = result.get();
    let tokens = match text.len() {
        ..=EXACT => kitbag_budget::estimate_result_tokens(text),
        long => long / BYTES_PER_TOKEN,
    };
    let most = match turn.view.is_small_surface() {
        true => turn.gateway.surfaces.result_tokens,
        false => usize::MAX,
    };
    Some(tokens.min(most) as u64)
}
