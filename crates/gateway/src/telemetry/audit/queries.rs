//! Audit rows for searches, reads of the catalog, and changes of groups.

use std::time::{Duration, Instant};

use kitbag_domain::{CallCost, Caller, Inquiry, InquiryKind, Origin, Outcome, Purpose, ShortText};

use super::arguments::to_recorded_arguments;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::telemetry::row_budget::{RowLimits, describe_skipped};
use crate::turn::Turn;

/// Searches are free for a client, so the rows of a tenant are limited: to 860,000 a day, about
/// 200 MB. Regular use stays far below that.
const LIMITS: RowLimits = RowLimits {
    burst: 10_000,
    one_every: Duration::from_millis(100),
};

/// Who sends a query, for its audit row.
#[derive(Clone, Copy)]
pub(crate) struct QueryContext<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) caller: &'a Caller,
    pub(crate) client: Option<&'a ShortText>,
    pub(crate) origin: &'a Origin,
    pub(crate) purpose: Purpose,
}

/// A query that is being answered.
pub(crate) struct AuditedQuery<'a> {
    pub(crate) kind: InquiryKind,
    /// The route of a search, or the name that is looked up.
    pub(crate) subject: &'a str,
    /// The text of the query or its arguments, as JSON.
    pub(crate) arguments: &'a str,
    pub(crate) started: Instant,
}

/// The figures of an answer to a query.
pub(crate) struct QueryOutcome {
    pub(crate) outcome: Outcome,
    /// Estimated tokens of the answer; absent if no model gets it.
    pub(crate) tokens: Option<usize>,
    pub(crate) found: Option<usize>,
}

impl<'a> From<&'a Turn> for QueryContext<'a> {
    fn from(turn: &'a Turn) -> Self {
        Self {
            gateway: &turn.gateway,
            caller: turn.caller(),
            client: turn.client.name.as_ref(),
            origin: &turn.origin,
            purpose: turn.purpose,
        }
    }
}

impl QueryOutcome {
    /// Returns the outcome of a successful search.
    pub(crate) fn with_results(found: usize, tokens: Option<usize>) -> Self {
        Self {
            outcome: Outcome::Ok,
            tokens,
            found: Some(found),
        }
    }
}

impl AuditedQuery<'_> {
    pub(crate) fn record(self, by: QueryContext<'_>, end: &QueryOutcome) {
        let services = &by.gateway.services;
        let Some(skipped) = services.query_budgets.try_spend(&by.caller.tenant, &LIMITS) else {
            return;
        };
        let recording = by.gateway.audit_settings.arguments;
        let found = end.found.map(|found| format!("{found} found"));
        let detail: Vec<String> = found.into_iter().chain(describe_skipped(skipped)).collect();
        services.audit.record_inquiry(Inquiry {
            at: now(),
            kind: self.kind,
            caller: by.caller.clone(),
            client: by.client.cloned(),
            origin: by.origin.clone(),
            purpose: by.purpose,
            subject: ShortText::truncate(self.subject),
            outcome: end.outcome,
            latency: self.started.elapsed(),
            cost: CallCost {
                tokens: end.tokens.map(|tokens| tokens as u64),
                price: None,
            },
            arguments: to_recorded_arguments(recording, &services.store, self.arguments),
            detail: (!detail.is_empty()).then(|| ShortText::truncate(&detail.join("; "))),
        });
    }
}
