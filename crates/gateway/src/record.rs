//! The record of one call: written when the call ends, or, where the audit is required, already
//! before it goes out.

use std::time::Instant;

use kitbag_domain::{Capability, Observation, Outcome};
use kitbag_store::{AuditSink, RowId};
use kitbag_wire::Raw;

use crate::clock::now;
use crate::failure::Failure;
use crate::turn::Turn;

/// A call that is being made. One that is dropped without an end is recorded as cancelled.
pub(crate) struct CallRecord {
    audit: AuditSink,
    /// Absent once the end is recorded.
    observation: Option<Observation>,
    started: Instant,
    /// The row of the audit in which the call is recorded already.
    row: Option<RowId>,
}

impl CallRecord {
    /// Begins with the thing as the caller named it.
    pub(crate) fn new(turn: &Turn, named: Capability) -> Self {
        let started = Instant::now();
        Self {
            audit: turn.gateway.services.audit.clone(),
            observation: Some(Observation {
                at: now(),
                caller: turn.caller().clone(),
                client: turn.client.name.clone(),
                origin: turn.origin.clone(),
                purpose: turn.purpose,
                capability: named.shortened(),
                outcome: Outcome::Unfinished,
                latency: started.elapsed(),
            }),
            started,
            row: None,
        }
    }

    /// The call turned out to be about this.
    pub(crate) fn concerns(&mut self, capability: &Capability) {
        if let Some(observation) = &mut self.observation {
            observation.capability = capability.clone().shortened();
        }
    }

    /// To be called before any server is touched. Where the audit is required it comes back when
    /// the call is on record for good, and fails when it cannot be.
    pub(crate) async fn begin(&mut self, turn: &Turn) -> Result<(), Failure> {
        if turn.gateway.audit_settings.required
            && let Some(observation) = self.observation.as_ref().filter(|it| is_recorded(it))
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
            ..self.observation.take().filter(is_recorded)?
        };
        match self.row {
            Some(row) => self.audit.end(row, outcome, latency),
            None => self.audit.observe(observation.clone()),
        }
        Some(observation)
    }
}

/// A list is about a whole server; it names nothing, and is not recorded.
fn is_recorded(observation: &Observation) -> bool {
    !observation.capability.name.is_empty()
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        self.finish(Outcome::Cancelled);
    }
}
