//! The searches that may have led to a call: recent searches of the same client.

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
    if call.run.is_some() {
        SearchLink::SameRun
    } else if call.request.is_some() && search.request == call.request {
        SearchLink::SameRequest
    } else {
        SearchLink::Probable
    }
}

/// Returns the text of a search, if the audit has it.
pub fn query_text(search: &AuditRow) -> Option<String> {
    let arguments: Value = serde_json::from_str(search.arguments.as_deref()?).ok()?;
    Some(arguments.get("query")?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_domain::{
        CallCost, Caller, Capability, Inquiry, Kind, Observation, Origin, Outcome, Purpose,
        RecordedArguments, ShortText,
    };

    use super::*;

    const CALL_AT: i64 = 1_000_000;

    fn short(text: &str) -> Option<ShortText> {
        (!text.is_empty()).then(|| ShortText::truncate(text))
    }

    fn origin(request: &str, run: &str) -> Origin {
        Origin {
            request: short(request),
            run: short(run),
            ..Origin::default()
        }
    }

    fn search(seconds_before: i64, client: &str, origin: Origin, words: &str) -> Inquiry {
        let arguments = serde_json::json!({ "query": words }).to_string();
        Inquiry {
            at: Timestamp(CALL_AT - seconds_before * 1000),
            kind: InquiryKind::Search,
            caller: Caller::local(),
            client: short(client),
            origin,
            purpose: Purpose::Use,
            subject: ShortText::truncate("search"),
            outcome: Outcome::Ok,
            latency: Duration::ZERO,
            cost: CallCost::default(),
            arguments: Some(RecordedArguments::truncate(&arguments)),
            detail: None,
        }
    }

    fn call(client: &str, origin: Origin) -> Observation {
        Observation {
            at: Timestamp(CALL_AT),
            caller: Caller::local(),
            client: short(client),
            origin,
            purpose: Purpose::Use,
            capability: Capability {
                server: "git".parse().unwrap(),
                kind: Kind::Tool,
                name: "log".to_owned(),
            },
            outcome: Outcome::Ok,
            latency: Duration::ZERO,
            cost: CallCost::default(),
            arguments: None,
        }
    }

    /// Checks the words and links of the searches before a call.
    async fn check(call: Observation, expected: &[(&str, SearchLink)]) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        let searches = [
            search(400, "cursor", origin("", ""), "too old"),
            search(200, "cursor", origin("r1", ""), "first"),
            search(90, "claude", origin("", ""), "other client"),
            search(60, "cursor", origin("", "run1"), "in a run"),
            search(30, "cursor", origin("r2", ""), "second"),
            search(-5, "cursor", origin("", ""), "later"),
        ];
        let mut records: Vec<kitbag_store::AuditRecord> = searches.map(Into::into).into();
        records.push(call.into());
        store.record_all(&records).await.unwrap();
        let id = store.newest_audit_row_id().await.unwrap();
        let row = store.read_audit_rows(&[id]).await.unwrap().remove(0);
        let found = find_earlier_searches(&store, &row).await.unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|it| (query_text(&it.row).unwrap(), it.link))
            .collect();
        let expected = expected
            .iter()
            .map(|(words, link)| ((*words).to_owned(), *link));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn searches_of_the_same_client_shortly_before_a_call_may_have_led_to_it() {
        let probable = SearchLink::Probable;
        check(
            call("cursor", origin("r3", "")),
            &[("second", probable), ("first", probable)],
        )
        .await;
        check(
            call("cursor", origin("r2", "")),
            &[("second", SearchLink::SameRequest), ("first", probable)],
        )
        .await;
        check(
            call("cursor", origin("", "run1")),
            &[("in a run", SearchLink::SameRun)],
        )
        .await;
        check(call("other", origin("", "")), &[]).await;
    }
}
