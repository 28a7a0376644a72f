//! One row of the audit, read from the table.

use std::time::Duration;

use kitbag_domain::{
    Action, CallCost, Capability, InquiryKind, KeyId, Kind, NanoUsd, Outcome, Purpose, Tenant,
    Timestamp,
};

use super::columns::CALL;
use crate::{Error, unreadable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub id: i64,
    pub at: Timestamp,
    pub tenant: Option<Tenant>,
    pub key: Option<KeyId>,
    pub actor: Option<String>,
    pub client: Option<String>,
    pub request: Option<String>,
    pub run: Option<String>,
    pub address: Option<String>,
    pub trace: Option<String>,
    pub outcome: Outcome,
    pub cost: CallCost,
    pub arguments: Option<String>,
    pub content: AuditRowContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditRowContent {
    /// The latency is truncated to microseconds.
    Call {
        capability: Capability,
        latency: Duration,
        purpose: Purpose,
    },
    /// A search, a discovery or a change of groups.
    Inquiry {
        kind: InquiryKind,
        subject: String,
        latency: Duration,
        purpose: Purpose,
        detail: Option<String>,
    },
    Event {
        action: Action,
        subject: String,
        detail: Option<String>,
    },
}

/// The kinds of rows that a query can filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditRowKind {
    Call,
    Inquiry(InquiryKind),
    Event(Action),
}

impl AuditRow {
    /// Returns the called capability, if this is the row of a call.
    pub fn capability(&self) -> Option<&Capability> {
        match &self.content {
            AuditRowContent::Call { capability, .. } => Some(capability),
            AuditRowContent::Inquiry { .. } | AuditRowContent::Event { .. } => None,
        }
    }
}

/// A row as both engines return it.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct StoredAuditRow {
    id: i64,
    at: i64,
    event: String,
    /// Empty for events that belong to no tenant.
    tenant: String,
    key_id: Option<String>,
    actor: Option<String>,
    client: Option<String>,
    server: String,
    kind: String,
    name: String,
    outcome: String,
    latency_us: i64,
    purpose: String,
    request_id: Option<String>,
    run: Option<String>,
    address: Option<String>,
    trace_id: Option<String>,
    detail: Option<String>,
    tokens: Option<i64>,
    price_nano_usd: Option<i64>,
    arguments: Option<String>,
}

impl TryFrom<StoredAuditRow> for AuditRow {
    type Error = Error;

    fn try_from(mut row: StoredAuditRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.id,
            at: Timestamp(row.at),
            tenant: parse_tenant(&row.tenant)?,
            key: row.key_id.take().map(KeyId),
            actor: row.actor.take(),
            client: row.client.take(),
            request: row.request_id.take(),
            run: row.run.take(),
            address: row.address.take(),
            trace: row.trace_id.take(),
            outcome: parse_column(&row.outcome, "outcome", Outcome::parse)?,
            cost: CallCost {
                tokens: row.tokens.map(i64::unsigned_abs),
                price: row.price_nano_usd.map(NanoUsd),
            },
            arguments: row.arguments.take(),
            content: AuditRowContent::from_stored(row)?,
        })
    }
}

impl AuditRowContent {
    fn from_stored(row: StoredAuditRow) -> Result<Self, Error> {
        match parse_column(&row.event, "kind of row", AuditRowKind::parse)? {
            AuditRowKind::Call => Self::read_call(row),
            AuditRowKind::Inquiry(kind) => Self::read_inquiry(kind, row),
            AuditRowKind::Event(action) => Ok(Self::Event {
                action,
                subject: row.name,
                detail: row.detail,
            }),
        }
    }

    fn read_call(row: StoredAuditRow) -> Result<Self, Error> {
        Ok(Self::Call {
            capability: Capability {
                server: parse_column(&row.server, "server name", |text| text.parse().ok())?,
                kind: parse_column(&row.kind, "kind of capability", Kind::parse)?,
                name: row.name,
            },
            latency: Duration::from_micros(row.latency_us.unsigned_abs()),
            purpose: parse_column(&row.purpose, "purpose", Purpose::parse)?,
        })
    }

    fn read_inquiry(kind: InquiryKind, row: StoredAuditRow) -> Result<Self, Error> {
        Ok(Self::Inquiry {
            kind,
            subject: row.name,
            latency: Duration::from_micros(row.latency_us.unsigned_abs()),
            purpose: parse_column(&row.purpose, "purpose", Purpose::parse)?,
            detail: row.detail,
        })
    }
}

impl AuditRowKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => CALL,
            Self::Inquiry(kind) => kind.as_str(),
            Self::Event(action) => action.as_str(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        if text == CALL {
            return Some(Self::Call);
        }
        let inquiry = InquiryKind::parse(text).map(Self::Inquiry);
        inquiry.or_else(|| Action::parse(text).map(Self::Event))
    }
}

fn parse_tenant(text: &str) -> Result<Option<Tenant>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_column(text, "tenant", |text| text.parse().ok()).map(Some)
}

fn parse_column<T>(
    text: &str,
    what: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    parse(text).ok_or_else(|| unreadable(what, text))
}
