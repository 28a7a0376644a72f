//! The record of one call: written when the call ends, or, where the audit is required, already
//! before it goes out.

use std::time::Instant;

use kitbag_domain::{Capability, Observation, Outcome};
use kitbag_store::{AuditSink, RowId};
use kitbag_wire::Raw;

use crate::clock::now;
use crate::failure::Failure;
use crate::observe::{self, NotedUse};
use crate::turn::Turn;

/// A call that is being made. One that is dropped without an end is recorded as cancelled.
pub(crate) struct CallRecord {
    audit: AuditSink,
    /// Absent for a call that is not recorded, and once the end is.
    observation: Option<Observation>,
    started: Instant,
    /// The row of the audit in which the call is recorded already.
    row: Option<RowId>,
    /// The part of a call that may teach something.
    noted: Option<NotedUse>,
}

impl CallRecord {
    pub(crate) fn new(turn: &Turn) -> Self {
        Self {
            audit: turn.gateway.services.audit.clone(),
            observation: None,
            started: Instant::now(),
            row: None,
            noted: None,
        }
    }

    /// Says what the call is about. A list is about a whole server; it names nothing, and is not
    /// recorded.
    pub(crate) fn concerns(&mut self, turn: &Turn, capability: Capability) {
        if capability.name.is_empty() {
            return;
        }
        self.observation = Some(Observation {
            at: now(),
            caller: turn.caller().clone(),
            client: turn.client.name.clone(),
            origin: turn.origin.clone(),
            purpose: turn.purpose,
            capability: capability.shortened(),
            outcome: Outcome::Unfinished,
            latency: self.started.elapsed(),
        });
    }

    /// Keeps what the call may teach.
    pub(crate) fn notes(&mut self, noted: Option<NotedUse>) {
        self.noted = noted;
    }

    /// To be called before any server is touched. Where the audit is required it comes back when
    /// the call is on record for good, and fails when it cannot be.
    pub(crate) async fn begin(&mut self, turn: &Turn) -> Result<(), Failure> {
        if turn.gateway.audit_settings.required
            && let Some(observation) = &self.observation
        {
            self.row = Some(self.audit.begin(observation.clone()).await?);
        }
        Ok(())
    }

    pub(crate) fn end(
        mut self,
        turn: &Turn,
        answer: &Result<Raw, Failure>,
        outcome: impl FnOnce(&Raw) -> Outcome,
    ) {
        let outcome = answer.as_ref().map_or_else(Failure::outcome, outcome);
        if let Some(noted) = self.noted.take() {
            observe::called(turn, noted, outcome);
        }
        if let Some(observation) = self.finish(outcome) {
            turn.gateway
                .services
                .meter
                .called(&turn.catalog, &observation);
        }
    }

    fn finish(&mut self, outcome: Outcome) -> Option<Observation> {
        let latency = self.started.elapsed();
        // The time of the row is that of the end, as it is for a call that is recorded only then.
        let observation = Observation {
            at: now(),
            outcome,
            latency,
            ..self.observation.take()?
        };
        match self.row {
            Some(row) => self.audit.end(row, outcome, latency),
            None => self.audit.observe(observation.clone()),
        }
        Some(observation)
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        self.finish(Outcome::Cancelled);
    }
}
