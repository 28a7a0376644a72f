//! The searches that may have led to a call: those of the same client shortly before it.

use kitbag_domain::{InquiryKind, Timestamp};
use kitbag_store::{AuditPage, AuditQuery, AuditRow, AuditRowContent, AuditRowKind, Error, Store};
use serde_json::Value;

/// As long as the learner remembers queries, and as many.
const WINDOW_MS: i64 = 5 * 60 * 1000;
const MOST: usize = 8;
/// Searches of other sessions with the same name are left out afterwards.
const READ: u32 = 40;

/// A search before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierSearch {
    pub row: AuditRow,
    pub link: SearchLink,
}

/// How sure it is that a search led to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchLink {
    /// Both belong to one request.
    SameRequest,
    /// Both belong to one run of a program.
    SameRun,
    /// They have the same client, and little time is between them.
    Probable,
}

impl SearchLink {
    pub fn describe(self) -> &'static str {
        match self {
            Self::SameRequest => "of the same request",
            Self::SameRun => "of the same run",
            Self::Probable => "probably",
        }
    }
}

/// Returns the searches that may have led to a call, newest first. The audit does not record which
/// tools a search found.
pub async fn find_earlier_searches(
    store: &Store,
    call: &AuditRow,
) -> Result<Vec<EarlierSearch>, Error> {
    if !matches!(call.content, AuditRowContent::Call { .. }) {
        return Ok(Vec::new());
    }
    let query = AuditQuery {
        tenant: call.tenant.clone(),
        key: call.key.clone(),
        run: call.run.clone(),
        kinds: vec![AuditRowKind::Inquiry(InquiryKind::Search)],
        since: Some(Timestamp(call.at.0 - WINDOW_MS)),
        // A search is recorded when it is answered, a call when it begins.
        page: AuditPage::OlderThan {
            at: call.at,
            id: i64::MAX,
        },
        ..AuditQuery::newest(READ)
    };
    let rows = store.read_audit(&query).await?.into_iter();
    let searches = rows.filter(|row| row.id != call.id && is_same_caller(row, call));
    let searches = searches.map(|row| EarlierSearch {
        link: link_between(&row, call),
        row,
    });
    Ok(searches.take(MOST).collect())
}

fn is_same_caller(search: &AuditRow, call: &AuditRow) -> bool {
    search.client == call.client && search.key == call.key && search.run == call.run
}

fn link_between(search: &AuditRow, call: &AuditRow) -> SearchLink {
    if call.request.is_some() && search.request == call.request {
        SearchLink::SameRequest
    } else if call.run.is_some() {
        SearchLink::SameRun
    } else {
        SearchLink::Probable
    }
}

/// Returns the text of a search, if the audit has it.
pub fn query_text(search: &AuditRow) -> Option<String> {
    let arguments: Value = serde_json::from_str(search.arguments.as_deref()?).ok()?;
    Some(arguments.get("query")?.as_str()?.to_owned())
}
