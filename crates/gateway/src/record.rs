//! What is written down of one call: when it ends, or, where the audit is required, already before
//! it goes out.

use std::time::Instant;

use kitbag_domain::{Capability, Observation, Outcome};
use kitbag_store::{AuditSink, RowId};
use kitbag_wire::Raw;

use crate::clock::now;
use crate::failure::Failure;
use crate::gateway::Gateway;
use crate::turn::Turn;

/// A call that is being made. One that is let go of without an end is recorded as cancelled.
pub(crate) struct CallRecord {
    audit: AuditSink,
    /// Absent for a list, which is about a whole server, and once the end is recorded.
    observation: Option<Observation>,
    started: Instant,
    /// Where the call is on record already.
    row: Option<RowId>,
}

impl CallRecord {
    pub(crate) fn new(turn: &Turn, capability: &Capability, started: Instant) -> Self {
        let observation = || Observation {
            at: now(),
            caller: turn.client.caller.clone(),
            client: turn.client.name.clone(),
            origin: turn.origin.clone(),
            purpose: turn.purpose,
            capability: capability.clone().shortened(),
            outcome: Outcome::Unfinished,
            latency: started.elapsed(),
        };
        let observation = (!capability.name.is_empty()).then(observation);
        Self {
            audit: turn.gateway.services.audit.clone(),
            observation,
            started,
            row: None,
        }
    }

    /// To be called before any server is touched. Where the audit is required it comes back when
    /// the call is on record for good, and fails when it cannot be.
    pub(crate) async fn begin(&mut self, gateway: &Gateway) -> Result<(), Failure> {
        if gateway.audit_settings.required
            && let Some(observation) = &self.observation
        {
            self.row = Some(self.audit.begin(observation.clone()).await?);
        }
        Ok(())
    }

    pub(crate) fn end(
        mut self,
        gateway: &Gateway,
        answer: &Result<Raw, Failure>,
        outcome: impl FnOnce(&Raw) -> Outcome,
    ) {
        let outcome = answer.as_ref().map_or_else(Failure::outcome, outcome);
        if let Some(observation) = self.finish(outcome) {
            gateway.services.meter.called(gateway, &observation);
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
