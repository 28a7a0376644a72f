//! The record of one call: written when the call ends, or, where the audit is required, already
//! before it goes out.

use std::time::Instant;

use kitbag_domain::{CallCost, Capability, NanoUsd, Observation, Outcome, TraceParent};
use kitbag_store::{AuditRowId, AuditSink};
use kitbag_wire::Raw;

use crate::call::failure::Failure;
use crate::call::observe::{self, ToolUse};
use crate::state::clock::now;
use crate::telemetry::audit::arguments::to_recorded_arguments;
use crate::turn::Turn;

/// A call that is being made. One that is dropped without an end is recorded as cancelled.
pub(crate) struct CallRecord {
    audit: AuditSink,
    /// Absent for a call that is not recorded, and once the end is.
    observation: Option<Observation>,
    started: Instant,
    /// The row of the audit in which the call is recorded already.
    row: Option<AuditRowId>,
    /// The part of a call that may teach something.
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

    /// Returns the span of the call, if a collector hears of it.
    pub(crate) fn span(&self) -> Option<TraceParent> {
        self.span
    }

    /// Says what the call is about, and with which arguments, as JSON. A list is about a whole server; it names nothing, and is not
    /// recorded.
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
        let kept = gateway.audit_settings.arguments;
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
                .and_then(|it| to_recorded_arguments(kept, &gateway.services.store, it)),
            capability: capability.into_shortened(),
            outcome: Outcome::Unfinished,
            latency: self.started.elapsed(),
        });
    }

    /// Keeps what the call may teach.
    pub(crate) fn set_tool_use(&mut self, noted: Option<ToolUse>) {
        self.tool_use = noted;
    }

    /// Says what the call has cost, as it shows itself. A price that the operator declares stays.
    pub(crate) fn record_price(&mut self, price: NanoUsd) {
        if let Some(observation) = &mut self.observation {
            observation.cost.price.get_or_insert(price);
        }
    }

    /// To be called before any server is touched. Where the audit is required it comes back when
    /// the call is on record for good, and fails when it cannot be.
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
        if let Some(noted) = self.tool_use.take() {
            observe::report_call(turn, noted, outcome);
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
                .called(&turn.catalog, &observation, span);
        }
    }

    fn finish_audit_row(&mut self, outcome: Outcome, tokens: Option<u64>) -> Option<Observation> {
        let latency = self.started.elapsed();
        let begun = self.observation.take()?;
        let price = begun.cost.price.filter(|_| is_paid(outcome));
        let cost = CallCost { tokens, price };
        // The time of the row is that of the end, as it is for a call that is recorded only then.
        let observation = Observation {
            at: now(),
            outcome,
            latency,
            cost,
            ..begun
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

/// The price that the operator declares for a call of this tool.
fn configured_price(turn: &Turn, capability: &Capability) -> Option<NanoUsd> {
    // Most operators declare nothing.
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

/// About how many tokens of a result a model is given: none if a program gets it, and no more than
/// results are cut to.
fn estimate_tokens(turn: &Turn, result: &Raw) -> Option<u64> {
    /// The price of a longer result would take as long as a short call.
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
    let most = match turn.view.is_frugal() {
        true => turn.gateway.surfaces.result_tokens,
        false => usize::MAX,
    };
    Some(tokens.min(most) as u64)
}
