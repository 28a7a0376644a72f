//! A record as the columns of a row, for both engines.

use std::net::IpAddr;
use std::time::Duration;

use kitbag_domain::{
    Action, CallCost, Event, Inquiry, NanoUsd, Observation, Origin, Outcome, Purpose,
    RecordedArguments, ShortText, Timestamp, TraceParent,
};

use super::AuditRecord;

/// The value of the column `event` in the row of a call.
pub(super) const CALL: &str = "call";

/// A record, column by column.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuditColumns<'a> {
    pub(super) at: Timestamp,
    pub(super) event: &'static str,
    pub(super) tenant: &'a str,
    pub(super) key: Option<&'a str>,
    pub(super) actor: Option<&'a str>,
    pub(super) client: Option<&'a str>,
    pub(super) server: &'a str,
    pub(super) kind: &'static str,
    pub(super) name: &'a str,
    pub(super) outcome: Outcome,
    pub(super) latency: Duration,
    pub(super) purpose: &'static str,
    origin: &'a Origin,
    cost: CallCost,
    pub(super) arguments: Option<&'a str>,
    pub(super) detail: Option<&'a str>,
}

impl<'a> AuditColumns<'a> {
    pub(super) fn new(record: &'a AuditRecord) -> Self {
        match record {
            AuditRecord::Call(observation) => Self::from_call(observation),
            AuditRecord::Inquiry(inquiry) => Self::from_inquiry(inquiry),
            AuditRecord::Event(event) => Self::from_event(event),
        }
    }

    pub(super) fn from_call(seen: &'a Observation) -> Self {
        Self {
            at: seen.at,
            event: CALL,
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: optional_str(seen.client.as_ref()),
            server: seen.capability.server.as_str(),
            kind: seen.capability.kind.as_str(),
            name: &seen.capability.name,
            outcome: seen.outcome,
            latency: seen.latency,
            purpose: seen.purpose.as_str(),
            origin: &seen.origin,
            cost: seen.cost,
            arguments: seen.arguments.as_ref().map(RecordedArguments::as_str),
            detail: None,
        }
    }

    fn from_inquiry(seen: &'a Inquiry) -> Self {
        Self {
            at: seen.at,
            event: seen.kind.as_str(),
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: optional_str(seen.client.as_ref()),
            server: "",
            kind: "",
            name: seen.subject.as_str(),
            outcome: seen.outcome,
            latency: seen.latency,
            purpose: seen.purpose.as_str(),
            origin: &seen.origin,
            cost: seen.cost,
            arguments: seen.arguments.as_ref().map(RecordedArguments::as_str),
            detail: optional_str(seen.detail.as_ref()),
        }
    }

    fn from_event(event: &'a Event) -> Self {
        Self {
            at: event.at,
            event: event.action.as_str(),
            tenant: event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            key: event.key.as_ref().map(|key| key.0.as_str()),
            actor: optional_str(event.actor.as_ref()),
            client: optional_str(event.client.as_ref()),
            server: "",
            kind: "",
            name: event.subject.as_str(),
            outcome: outcome_for(event.action),
            latency: Duration::ZERO,
            purpose: Purpose::Use.as_str(),
            origin: &event.origin,
            cost: CallCost::default(),
            arguments: None,
            detail: optional_str(event.detail.as_ref()),
        }
    }

    pub(super) fn token_count(&self) -> Option<i64> {
        to_token_count(self.cost)
    }

    pub(super) fn price(&self) -> Option<i64> {
        to_nano_usd(self.cost)
    }

    pub(super) fn request_id(&self) -> Option<&'a str> {
        optional_str(self.origin.request.as_ref())
    }

    pub(super) fn run(&self) -> Option<&'a str> {
        optional_str(self.origin.run.as_ref())
    }

    pub(super) fn address(&self) -> Option<String> {
        self.origin.address.as_ref().map(IpAddr::to_string)
    }

    pub(super) fn trace_id(&self) -> Option<String> {
        self.origin.trace.as_ref().map(TraceParent::trace_id)
    }
}

fn outcome_for(action: Action) -> Outcome {
    match action {
        Action::KeyRefused => Outcome::Denied,
        _ => Outcome::Ok,
    }
}

fn optional_str(text: Option<&ShortText>) -> Option<&str> {
    text.map(ShortText::as_str)
}

pub(super) fn to_token_count(cost: CallCost) -> Option<i64> {
    let tokens = cost.tokens?;
    Some(i64::try_from(tokens).unwrap_or(i64::MAX))
}

pub(super) fn to_nano_usd(cost: CallCost) -> Option<i64> {
    cost.price.map(|NanoUsd(price)| price)
}

pub(super) fn to_micros(latency: Duration) -> i64 {
    i64::try_from(latency.as_micros()).unwrap_or(i64::MAX)
}
