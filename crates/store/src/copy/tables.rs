//! The tables that a copy includes, and their rows as plain values.

use sqlx::{ColumnIndex, Decode, Row, Type};

#[derive(Debug)]
pub(super) struct CopiedTable {
    pub(super) name: &'static str,
    pub(super) columns: &'static [CopiedColumn],
    /// The number of leading columns that form the key.
    pub(super) key: usize,
    /// The rows that a resumed copy reads again, because they may have changed since.
    pub(super) stale: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct CopiedColumn {
    pub(super) name: &'static str,
    pub(super) kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    Text,
    Number,
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CopiedValue {
    Text(Option<String>),
    Number(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

pub(crate) type CopiedRow = Vec<CopiedValue>;

const ALL_ROWS: Option<&str> = Some("TRUE");

/// Every table with data to keep. Small ones are copied again after an interruption.
pub(super) const TABLES: [CopiedTable; 18] = [
    CopiedTable {
        name: "listings",
        columns: &[
            text("server"),
            text("fingerprint"),
            text("body"),
            number("listed_at"),
        ],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "api_keys",
        columns: &[
            text("id"),
            text("tenant"),
            text("role"),
            text("label"),
            bytes("secret_hash"),
            number("created_at"),
            number("expires_at"),
            number("last_used_at"),
            number("revoked_at"),
        ],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "secrets",
        columns: &[text("name"), bytes("sealed"), number("updated_at")],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "logins",
        columns: &[text("server"), bytes("sealed"), number("updated_at")],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "credentials",
        columns: &[
            text("tenant"),
            text("name"),
            text("fields"),
            bytes("sealed"),
            number("updated_at"),
        ],
        key: 2,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "learned_templates",
        columns: &[
            text("tenant"),
            text("id"),
            number("revision"),
            text("body"),
            number("updated_at"),
        ],
        key: 2,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "lessons",
        columns: &[
            number("id"),
            text("tenant"),
            text("credential"),
            number("session"),
            number("at"),
            text("tool"),
            text("signal"),
            text("model"),
            bytes("vector"),
            text("words"),
        ],
        key: 1,
        // A lesson does not change.
        stale: None,
    },
    CopiedTable {
        name: "approved_definitions",
        columns: &[bytes("hash"), text("body"), number("approved_at")],
        key: 1,
        // The text of a hash does not change.
        stale: None,
    },
    CopiedTable {
        name: "agent_state",
        columns: &[
            text("tenant"),
            text("key"),
            number("version"),
            number("bytes"),
            number("updated_at"),
            number("expires_at"),
            text("value"),
        ],
        key: 2,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "agent_state_sums",
        columns: &[
            text("tenant"),
            number("keys"),
            number("bytes"),
            number("last_version"),
        ],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "agent_feedback",
        columns: &[
            number("id"),
            text("tenant"),
            text("key_id"),
            text("client"),
            number("at"),
            text("kind"),
            text("severity"),
            text("tool"),
            text("summary"),
            text("details"),
            number("resolved_at"),
            text("resolution"),
        ],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "context_facts",
        columns: &[
            number("id"),
            text("tenant"),
            bytes("fingerprint"),
            text("subject"),
            text("subject_key"),
            text("predicate"),
            text("predicate_key"),
            text("object"),
            text("source"),
            text("url"),
            text("quote"),
            number("authority"),
            number("observed_at"),
            number("valid_until"),
            text("model"),
            bytes("vector"),
        ],
        key: 1,
        // A fact does not change.
        stale: None,
    },
    CopiedTable {
        name: "mirror_owners",
        columns: &[text("namespace"), text("configuration"), number("used_at")],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "mirror",
        columns: &[text("namespace"), text("name"), text("value")],
        key: 2,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "priors",
        columns: &[
            text("namespace"),
            text("server"),
            text("name"),
            text("body"),
            number("updated_at"),
        ],
        key: 3,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "priors_runs",
        columns: &[
            text("namespace"),
            number("counted_to"),
            number("counted_at"),
        ],
        key: 1,
        stale: ALL_ROWS,
    },
    CopiedTable {
        name: "vectors",
        columns: &[
            text("namespace"),
            text("model"),
            bytes("text_hash"),
            number("dimension"),
            bytes("vector"),
        ],
        key: 3,
        // The vector of a text does not change.
        stale: None,
    },
    CopiedTable {
        name: "audit",
        columns: &[
            number("id"),
            number("at"),
            text("event"),
            text("tenant"),
            text("key_id"),
            text("actor"),
            text("client"),
            text("server"),
            text("kind"),
            text("name"),
            text("outcome"),
            number("latency_us"),
            text("purpose"),
            text("request_id"),
            text("run"),
            text("address"),
            text("trace_id"),
            text("detail"),
            number("tokens"),
            number("price_nano_usd"),
            text("arguments"),
        ],
        key: 1,
        // Only the row of a call that had not ended is changed once more.
        stale: Some("id >= (SELECT min(id) FROM audit WHERE outcome = 'unfinished')"),
    },
];

const fn text(name: &'static str) -> CopiedColumn {
    let kind = ColumnKind::Text;
    CopiedColumn { name, kind }
}

const fn number(name: &'static str) -> CopiedColumn {
    let kind = ColumnKind::Number;
    CopiedColumn { name, kind }
}

const fn bytes(name: &'static str) -> CopiedColumn {
    let kind = ColumnKind::Bytes;
    CopiedColumn { name, kind }
}

impl CopiedTable {
    /// Selects these columns of all rows.
    pub(super) fn select(&self, columns: &str) -> String {
        format!("SELECT {columns} FROM {}", self.name)
    }

    pub(super) fn key_columns(&self) -> &'static [CopiedColumn] {
        &self.columns[..self.key]
    }
}

/// The names of columns, as a list in SQL.
pub(super) fn column_list(columns: &[CopiedColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    names.join(", ")
}

/// Reads a row that has these columns in this order.
pub(crate) fn read_row<'r, R>(row: &'r R, columns: &[CopiedColumn]) -> sqlx::Result<CopiedRow>
where
    R: Row,
    usize: ColumnIndex<R>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    Option<Vec<u8>>: Decode<'r, R::Database> + Type<R::Database>,
{
    let values = columns.iter().enumerate();
    let values = values.map(|(at, column)| match column.kind {
        ColumnKind::Text => row.try_get(at).map(CopiedValue::Text),
        ColumnKind::Number => row.try_get(at).map(CopiedValue::Number),
        ColumnKind::Bytes => row.try_get(at).map(CopiedValue::Bytes),
    });
    values.collect()
}
