//! One row of the audit, read from the table.

use std::time::Duration;

use kitbag_domain::{Action, Capability, KeyId, Kind, Outcome, Purpose, Tenant, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Sqlite, Type};

use super::table::CALL;
use crate::{Error, failed, unreadable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub id: i64,
    pub at: Timestamp,
    pub tenant: Option<Tenant>,
    pub key: Option<KeyId>,
    pub actor: Option<String>,
    pub client: Option<String>,
    pub request: Option<String>,
    pub address: Option<String>,
    pub trace: Option<String>,
    pub outcome: Outcome,
    pub content: AuditRowContent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditRowContent {
    /// The latency is cut to microseconds.
    Call {
        capability: Capability,
        latency: Duration,
        purpose: Purpose,
    },
    Event {
        action: Action,
        subject: String,
        detail: Option<String>,
    },
}

/// The kinds of rows by which a query can be narrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditRowKind {
    Call,
    Event(Action),
}

impl AuditRow {
    /// Returns what was called, if this is the row of a call.
    pub fn capability(&self) -> Option<&Capability> {
        match &self.content {
            AuditRowContent::Call { capability, .. } => Some(capability),
            AuditRowContent::Event { .. } => None,
        }
    }

    pub(super) fn read(row: &SqliteRow) -> Result<Self, Error> {
        Ok(Self {
            id: column(row, "id")?,
            at: Timestamp(column(row, "at")?),
            tenant: tenant(row)?,
            key: column::<Option<String>>(row, "key_id")?.map(KeyId),
            actor: column(row, "actor")?,
            client: column(row, "client")?,
            request: column(row, "request_id")?,
            address: column(row, "address")?,
            trace: column(row, "trace_id")?,
            outcome: parse_column(row, "outcome", "outcome", Outcome::parse)?,
            content: AuditRowContent::read(row)?,
        })
    }
}

impl AuditRowContent {
    fn read(row: &SqliteRow) -> Result<Self, Error> {
        match parse_column(row, "event", "kind of row", AuditRowKind::parse)? {
            AuditRowKind::Call => Self::read_call(row),
            AuditRowKind::Event(action) => Ok(Self::Event {
                action,
                subject: column(row, "name")?,
                detail: column(row, "detail")?,
            }),
        }
    }

    fn read_call(row: &SqliteRow) -> Result<Self, Error> {
        let latency: i64 = column(row, "latency_us")?;
        Ok(Self::Call {
            capability: Capability {
                server: parse_column(row, "server", "server name", |text| text.parse().ok())?,
                kind: parse_column(row, "kind", "kind of capability", Kind::parse)?,
                name: column(row, "name")?,
            },
            latency: Duration::from_micros(latency.unsigned_abs()),
            purpose: parse_column(row, "purpose", "purpose", Purpose::parse)?,
        })
    }
}

impl AuditRowKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => CALL,
            Self::Event(action) => action.as_str(),
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        if text == CALL {
            Some(Self::Call)
        } else {
            Action::parse(text).map(Self::Event)
        }
    }
}

/// The table has an empty text for events that belong to no tenant.
fn tenant(row: &SqliteRow) -> Result<Option<Tenant>, Error> {
    let text: String = column(row, "tenant")?;
    if text.is_empty() {
        return Ok(None);
    }
    parse_column(row, "tenant", "tenant", |text| text.parse().ok()).map(Some)
}

fn parse_column<T>(
    row: &SqliteRow,
    name: &str,
    what: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    let text: String = column(row, name)?;
    parse(&text).ok_or_else(|| unreadable(what, text))
}

fn column<'r, T>(row: &'r SqliteRow, name: &str) -> Result<T, Error>
where
    T: Decode<'r, Sqlite> + Type<Sqlite>,
{
    row.try_get(name).map_err(failed("read an audit row"))
}
