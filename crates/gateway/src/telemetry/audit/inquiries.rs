//! The record of searches, of looks into the catalog, and of changes of groups.

use std::time::{Duration, Instant};

use kitbag_domain::{CallCost, Caller, Inquiry, InquiryKind, Origin, Outcome, Purpose, ShortText};

use super::arguments::recorded;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::telemetry::row_budget::{RowLimits, more};
use crate::turn::Turn;

/// A search costs a client nothing, so the rows of a tenant are limited: these are 860,000 a day, some
/// 200 MB. No tenant that works comes near.
const LIMITS: RowLimits = RowLimits {
    burst: 10_000,
    one_every: Duration::from_millis(100),
};

/// The client that asks.
#[derive(Clone, Copy)]
pub(crate) struct Inquirer<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) caller: &'a Caller,
    pub(crate) client: Option<&'a ShortText>,
    pub(crate) origin: &'a Origin,
    pub(crate) purpose: Purpose,
}

/// An inquiry that is being answered.
pub(crate) struct BegunInquiry<'a> {
    pub(crate) kind: InquiryKind,
    /// The way by which a search came in, or the name that is looked for.
    pub(crate) subject: &'a str,
    /// The words or the arguments, as JSON.
    pub(crate) arguments: &'a str,
    pub(crate) started: Instant,
}

/// The answer to an inquiry, in figures.
pub(crate) struct InquiryEnd {
    pub(crate) outcome: Outcome,
    /// About how many tokens of the answer a model is given; absent if it is given to no model.
    pub(crate) tokens: Option<usize>,
    pub(crate) found: Option<usize>,
}

impl<'a> From<&'a Turn> for Inquirer<'a> {
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

impl InquiryEnd {
    /// A search that found so many, and an answer to a model.
    pub(crate) fn found(found: usize, tokens: Option<usize>) -> Self {
        Self {
            outcome: Outcome::Ok,
            tokens,
            found: Some(found),
        }
    }
}

impl BegunInquiry<'_> {
    pub(crate) fn end(self, by: Inquirer<'_>, end: &InquiryEnd) {
        let services = &by.gateway.services;
        let Some(untold) = services.inquiries.spend(&by.caller.tenant, &LIMITS) else {
            return;
        };
        let kept = by.gateway.audit_settings.arguments;
        let found = end.found.map(|found| format!("{found} found"));
        let detail: Vec<String> = found.into_iter().chain(more(untold)).collect();
        services.audit.inquired(Inquiry {
            at: now(),
            kind: self.kind,
            caller: by.caller.clone(),
            client: by.client.cloned(),
            origin: by.origin.clone(),
            purpose: by.purpose,
            subject: ShortText::cut(self.subject),
            outcome: end.outcome,
            latency: self.started.elapsed(),
            cost: CallCost {
                tokens: end.tokens.map(|tokens| tokens as u64),
                price: None,
            },
            arguments: recorded(kept, &services.store, self.arguments),
            detail: (!detail.is_empty()).then(|| ShortText::cut(&detail.join("; "))),
        });
    }
}
