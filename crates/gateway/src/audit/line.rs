//! The form in which programs read a row of the audit: from `kitbag audit --json`, in exports and
//! over HTTP.

use kitbag_domain::{Tenant, Timestamp};
use kitbag_store::{AuditRow, AuditRowContent, AuditRowKind};
use serde::Serialize;

/// Flat, with the same fields for calls and for events, so that every row fits a line of a table.
#[derive(Debug, Serialize)]
pub struct AuditLine<'a> {
    pub id: i64,
    pub at: String,
    /// `call`, or what else happened.
    pub event: &'static str,
    pub tenant: Option<&'a str>,
    pub key: Option<&'a str>,
    pub actor: Option<&'a str>,
    pub client: Option<&'a str>,
    pub server: Option<&'a str>,
    pub kind: Option<&'static str>,
    /// The name of the thing that was called, or of the subject of the event.
    pub name: &'a str,
    pub outcome: &'static str,
    pub latency_ms: Option<f64>,
    pub purpose: Option<&'static str>,
    pub request: Option<&'a str>,
    /// The run of code that made the call.
    pub run: Option<&'a str>,
    pub address: Option<&'a str>,
    pub trace: Option<&'a str>,
    pub detail: Option<&'a str>,
}

impl<'a> AuditLine<'a> {
    pub const COLUMNS: [&'static str; 18] = [
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
        "purpose",
        "request",
        "run",
        "address",
        "trace",
        "detail",
    ];

    pub fn of(row: &'a AuditRow) -> Self {
        let mut line = Self {
            id: row.id,
            at: moment(row.at),
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
            purpose: None,
            request: row.request.as_deref(),
            run: row.run.as_deref(),
            address: row.address.as_deref(),
            trace: row.trace.as_deref(),
            detail: None,
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
                line.latency_ms = Some(latency.as_micros() as f64 / 1000.0);
                line.purpose = Some(purpose.as_str());
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

/// To the millisecond, in UTC.
fn moment(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.0.to_string(), |moment| format!("{moment:.3}"))
}
