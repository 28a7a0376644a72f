//! One row of the audit, read from the table.

use std::time::Duration;

use kitbag_domain::{
    Action, CallCost, Capability, InquiryKind, KeyId, Kind, NanoUsd, Outcome, Purpose, Tenant,
    Timestamp,
};

use super::columns::CALL;
use crate::engine::row_struct::row_struct;
use crate::tenant_column::read_optional_tenant;
use crate::{Error, unreadable_error};

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

row_struct! {
    /// A row as both engines return it.
    #[derive(Debug)]
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
}

impl StoredAuditRow {
    pub(super) fn read(self) -> Result<AuditRow, Error> {
        let latency = Duration::from_micros(self.latency_us.unsigned_abs());
        let purpose = || parse_column(&self.purpose, "purpose", Purpose::parse);
        let tenant = read_optional_tenant(&self.tenant)?;
        let outcome = parse_column(&self.outcome, "outcome", Outcome::parse)?;
        let content = match parse_column(&self.event, "kind of row", AuditRowKind::parse)? {
            AuditRowKind::Call => AuditRowContent::Call {
                capability: Capability {
                    server: parse_column(&self.server, "server name", |text| text.parse().ok())?,
                    kind: parse_column(&self.kind, "kind of capability", Kind::parse)?,
                    name: self.name,
                },
                latency,
                purpose: purpose()?,
            },
            AuditRowKind::Inquiry(kind) => AuditRowContent::Inquiry {
                kind,
                subject: self.name,
                latency,
                purpose: purpose()?,
                detail: self.detail,
            },
            AuditRowKind::Event(action) => AuditRowContent::Event {
                action,
                subject: self.name,
                detail: self.detail,
            },
        };
        Ok(AuditRow {
            id: self.id,
            at: Timestamp(self.at),
            tenant,
            key: self.key_id.map(KeyId),
            actor: self.actor,
            client: self.client,
            request: self.request_id,
            run: self.run,
            address: self.address,
            trace: self.trace_id,
            outcome,
            cost: CallCost {
                tokens: self.tokens.map(i64::unsigned_abs),
                price: self.price_nano_usd.map(NanoUsd),
            },
            arguments: self.arguments,
            content,
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

fn parse_column<T>(
    text: &str,
    what: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    parse(text).ok_or_else(|| unreadable_error(what, text))
}
