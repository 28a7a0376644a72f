//! An audit row as `kitbag audit --json`, exports and `/v1/audit` return it.

use std::time::Duration;

use kitbag_domain::{NanoUsd, Tenant, Timestamp};
use kitbag_store::{AuditRow, AuditRowContent, AuditRowKind};
use serde::Serialize;

/// Flat, with the same fields for calls, searches and events, so that every row fits a table.
#[derive(Debug, Serialize)]
pub struct AuditLine<'a> {
    pub id: i64,
    pub at: String,
    /// `call`, `search`, or the action of an event.
    pub event: &'static str,
    pub tenant: Option<&'a str>,
    pub key: Option<&'a str>,
    pub actor: Option<&'a str>,
    pub client: Option<&'a str>,
    pub server: Option<&'a str>,
    pub kind: Option<&'static str>,
    /// The name of the called capability, or of the subject of the event.
    pub name: &'a str,
    pub outcome: &'static str,
    pub latency_ms: Option<f64>,
    /// Estimated tokens of the answer given to the model.
    pub tokens: Option<u64>,
    /// The configured price of the call, or the cost of a model's answer.
    pub cost_usd: Option<f64>,
    pub purpose: Option<&'static str>,
    pub request: Option<&'a str>,
    /// The program run that made the call.
    pub run: Option<&'a str>,
    pub address: Option<&'a str>,
    pub trace: Option<&'a str>,
    pub detail: Option<&'a str>,
    /// A hash of the arguments, or the arguments without secrets, if they are recorded.
    pub arguments: Option<&'a str>,
}

impl<'a> AuditLine<'a> {
    pub const COLUMNS: [&'static str; 21] = [
        "id",
        "at",
        "event",
        "tenant",
        "key",
        "actor",
        "client",
        "server",
        "kind",
        "name",
        "outcome",
        "latency_ms",
        "tokens",
        "cost_usd",
        "purpose",
        "request",
        "run",
        "address",
        "trace",
        "detail",
        "arguments",
    ];

    pub fn from_row(row: &'a AuditRow) -> Self {
        let mut line = Self {
            id: row.id,
            at: format_time(row.at),
            event: AuditRowKind::Call.as_str(),
            tenant: row.tenant.as_ref().map(Tenant::as_str),
            key: row.key.as_ref().map(|key| key.0.as_str()),
            actor: row.actor.as_deref(),
            client: row.client.as_deref(),
            server: None,
            kind: None,
            name: "",
            outcome: row.outcome.as_str(),
            latency_ms: None,
            tokens: row.cost.tokens,
            cost_usd: row.cost.price.map(NanoUsd::to_usd),
            purpose: None,
            request: row.request.as_deref(),
            run: row.run.as_deref(),
            address: row.address.as_deref(),
            trace: row.trace.as_deref(),
            detail: None,
            arguments: row.arguments.as_deref(),
        };
        match &row.content {
            AuditRowContent::Call {
                capability,
                latency,
                purpose,
            } => {
                line.server = Some(capability.server.as_str());
                line.kind = Some(capability.kind.as_str());
                line.name = &capability.name;
                line.latency_ms = Some(to_milliseconds(*latency));
                line.purpose = Some(purpose.as_str());
            }
            AuditRowContent::Inquiry {
                kind,
                subject,
                latency,
                purpose,
                detail,
            } => {
                line.event = kind.as_str();
                line.name = subject;
                line.latency_ms = Some(to_milliseconds(*latency));
                line.purpose = Some(purpose.as_str());
                line.detail = detail.as_deref();
            }
            AuditRowContent::Event {
                action,
                subject,
                detail,
            } => {
                line.event = action.as_str();
                line.name = subject;
                line.detail = detail.as_deref();
            }
        }
        line
    }
}

fn to_milliseconds(latency: Duration) -> f64 {
    latency.as_micros() as f64 / 1000.0
}

/// Formats a time in UTC, to the millisecond.
fn format_time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |moment| format!("{moment:.3}"))
}
