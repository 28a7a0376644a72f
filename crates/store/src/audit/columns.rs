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
pub(super) struct Columns<'a> {
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

impl<'a> Columns<'a> {
    pub(super) fn of(record: &'a AuditRecord) -> Self {
        match record {
            AuditRecord::Call(observation) => Self::of_call(observation),
            AuditRecord::Inquiry(inquiry) => Self::of_inquiry(inquiry),
            AuditRecord::Event(event) => Self::of_event(event),
        }
    }

    pub(super) fn of_call(seen: &'a Observation) -> Self {
        Self {
            at: seen.at,
            event: CALL,
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: text(seen.client.as_ref()),
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

    fn of_inquiry(seen: &'a Inquiry) -> Self {
        Self {
            at: seen.at,
            event: seen.kind.as_str(),
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: text(seen.client.as_ref()),
            server: "",
            kind: "",
            name: seen.subject.as_str(),
            outcome: seen.outcome,
            latency: seen.latency,
            purpose: seen.purpose.as_str(),
            origin: &seen.origin,
            cost: seen.cost,
            arguments: seen.arguments.as_ref().map(RecordedArguments::as_str),
            detail: text(seen.detail.as_ref()),
        }
    }

    fn of_event(event: &'a Event) -> Self {
        Self {
            at: event.at,
            event: event.action.as_str(),
            tenant: event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            key: event.key.as_ref().map(|key| key.0.as_str()),
            actor: text(event.actor.as_ref()),
            client: text(event.client.as_ref()),
            server: "",
            kind: "",
            name: event.subject.as_str(),
            outcome: outcome_of(event.action),
            latency: Duration::ZERO,
            purpose: Purpose::Use.as_str(),
            origin: &event.origin,
            cost: CallCost::default(),
            arguments: None,
            detail: text(event.detail.as_ref()),
        }
    }

    pub(super) fn tokens(&self) -> Option<i64> {
        tokens(self.cost)
    }

    pub(super) fn price(&self) -> Option<i64> {
        price(self.cost)
    }

    pub(super) fn request(&self) -> Option<&'a str> {
        text(self.origin.request.as_ref())
    }

    pub(super) fn run(&self) -> Option<&'a str> {
        text(self.origin.run.as_ref())
    }

    pub(super) fn address(&self) -> Option<String> {
        self.origin.address.as_ref().map(IpAddr::to_string)
    }

    pub(super) fn trace(&self) -> Option<String> {
        self.origin.trace.as_ref().map(TraceParent::trace_id)
    }
}

fn outcome_of(action: Action) -> Outcome {
    match action {
        Action::KeyRefused => Outcome::Denied,
        _ => Outcome::Ok,
    }
}

fn text(text: Option<&ShortText>) -> Option<&str> {
    text.map(ShortText::as_str)
}

pub(super) fn tokens(cost: CallCost) -> Option<i64> {
    let tokens = cost.tokens?;
    Some(i64::try_from(tokens).unwrap_or(i64::MAX))
}

pub(super) fn price(cost: CallCost) -> Option<i64> {
    cost.price.map(|NanoUsd(price)| price)
}

pub(super) fn micros(latency: Duration) -> i64 {
    i64::try_from(latency.as_micros()).unwrap_or(i64::MAX)
}
