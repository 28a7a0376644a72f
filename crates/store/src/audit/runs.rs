//! The latest runs of programs, summed up from the rows of their calls.

use std::collections::HashSet;

use kitbag_domain::{Tenant, Timestamp};

use super::query::AuditPage;
use crate::engine::row_struct::row_struct;
use crate::tenant_column::read_optional_tenant;
use crate::{Error, Store, skip_unreadable};

/// Asks for the runs with the newest calls.
#[derive(Debug, Clone)]
pub struct RunQuery {
    pub limit: usize,
    pub tenant: Option<Tenant>,
    /// Runs whose last row is older than a row that was read before.
    pub page: AuditPage,
}

/// A run of a program, as far as it has made calls or searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub run: String,
    pub tenant: Option<Tenant>,
    pub client: Option<String>,
    pub started: Timestamp,
    /// The end of its last call.
    pub last: Timestamp,
    pub calls: u64,
    pub searches: u64,
    /// Calls with another outcome than success.
    pub failed: u64,
    pub tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    pub runs: Vec<RunSummary>,
    /// The next page, if there may be one.
    pub next: Option<AuditPage>,
}

/// A program makes a few calls; this many rows hold a page of runs even if some make hundreds.
const SCANNED_ROWS: usize = 2048;

const READ: &str = "read the runs of programs";

row_struct! {
    struct RunRow {
        run: String,
        at: i64,
        id: i64,
    }
}

row_struct! {
    struct SummaryRow {
        run: String,
        tenant: String,
        client: Option<String>,
        started: i64,
        last: i64,
        calls: i64,
        searches: i64,
        failed: i64,
        tokens: i64,
    }
}

impl Store {
    pub async fn recent_runs(&self, query: &RunQuery) -> Result<RunPage, Error> {
        let rows = self.rows_of_runs(query).await?;
        let (newest, next) = newest_rows(&rows, query.limit);
        if newest.is_empty() {
            return Ok(RunPage {
                runs: Vec::new(),
                next: None,
            });
        }
        let select = self.engine.query(
            "SELECT run, min(tenant) AS tenant, max(client) AS client, min(at - latency_us / 1000) AS started, max(at) AS last,
                    CAST(sum(CASE WHEN event = 'call' THEN 1 ELSE 0 END) AS bigint) AS calls,
                    CAST(sum(CASE WHEN event = 'search' THEN 1 ELSE 0 END) AS bigint) AS searches,
                    CAST(sum(CASE WHEN event = 'call' AND outcome <> 'ok' THEN 1 ELSE 0 END) AS bigint) AS failed,
                    CAST(coalesce(sum(tokens), 0) AS bigint) AS tokens
             FROM audit WHERE run IN ",
        );
        let select = select.push_list(newest.iter().map(|row| row.run.as_str()));
        let summaries: Vec<SummaryRow> = select.push(" GROUP BY run").fetch_all(READ).await?;
        let mut runs: Vec<RunSummary> = skip_unreadable(summaries, read_summary);
        // A run that went on after the end of the page before is on that page.
        if let AuditPage::OlderThan { at, .. } = query.page {
            runs.retain(|run| run.last <= at);
        }
        runs.sort_by(|a, b| (b.last, &b.run).cmp(&(a.last, &a.run)));
        Ok(RunPage { runs, next })
    }

    async fn rows_of_runs(&self, query: &RunQuery) -> Result<Vec<RunRow>, Error> {
        let select = self
            .engine
            .query("SELECT run, at, id FROM audit WHERE run IS NOT NULL")
            .push_filter(" AND tenant = ", query.tenant.as_ref().map(Tenant::as_str));
        let select = match query.page {
            AuditPage::OlderThan { at, id } => select
                .push_bind(" AND (at, id) < (", at.0)
                .push_bind(", ", id)
                .push(")"),
            AuditPage::Newest | AuditPage::WrittenAfter { .. } => select,
        };
        let select = select.push_bind(" ORDER BY at DESC, id DESC LIMIT ", SCANNED_ROWS as i64);
        select.fetch_all(READ).await
    }
}

/// Returns the newest row of each of the newest runs, and the next page.
fn newest_rows(rows: &[RunRow], limit: usize) -> (Vec<&RunRow>, Option<AuditPage>) {
    let mut newest: Vec<&RunRow> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let older_than = |row: &RunRow| AuditPage::OlderThan {
        at: Timestamp(row.at),
        id: row.id,
    };
    for row in rows {
        if !seen.insert(&row.run) {
            continue;
        }
        if newest.len() == limit {
            return (newest.clone(), newest.last().map(|last| older_than(last)));
        }
        newest.push(row);
    }
    let more = rows.last().filter(|_| rows.len() == SCANNED_ROWS);
    (newest, more.map(older_than))
}

fn read_summary(row: SummaryRow) -> Result<RunSummary, Error> {
    let tenant = read_optional_tenant(&row.tenant)?;
    Ok(RunSummary {
        run: row.run,
        tenant,
        client: row.client,
        started: Timestamp(row.started),
        last: Timestamp(row.last),
        calls: row.calls.unsigned_abs(),
        searches: row.searches.unsigned_abs(),
        failed: row.failed.unsigned_abs(),
        tokens: row.tokens.unsigned_abs(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_domain::{Observation, Outcome, ShortText};

    use super::*;
    use crate::audit::tests::{new_observation, records};
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(runs_come_newest_first_once_each_and_page_by_page,);

    fn call(at: i64, run: &str, outcome: Outcome) -> Observation {
        let mut call = new_observation(at, "acme", "git/log");
        (call.outcome, call.cost.tokens) = (outcome, Some(5));
        call.latency = Duration::from_millis(1);
        call.origin.run = (!run.is_empty()).then(|| ShortText::truncate(run));
        call
    }

    async fn runs_come_newest_first_once_each_and_page_by_page(place: TestPlace) {
        let store = place.open().await;
        let rows = [
            call(1, "a", Outcome::Ok),
            call(2, "b", Outcome::Ok),
            call(3, "", Outcome::Ok),
            call(4, "c", Outcome::Ok),
            call(5, "a", Outcome::TimedOut),
        ];
        store.record_all(&records(rows)).await.unwrap();
        let mut query = RunQuery {
            limit: 2,
            tenant: None,
            page: AuditPage::Newest,
        };
        let first = store.recent_runs(&query).await.unwrap();
        let names = |page: &RunPage| {
            page.runs
                .iter()
                .map(|it| it.run.clone())
                .collect::<String>()
        };
        assert_eq!(names(&first), "ac");
        let a = &first.runs[0];
        assert_eq!((a.calls, a.failed, a.tokens), (2, 1, 10));
        assert_eq!((a.started, a.last), (Timestamp(0), Timestamp(5)));
        query.page = first.next.unwrap();
        let second = store.recent_runs(&query).await.unwrap();
        assert_eq!(names(&second), "b");
        assert_eq!(second.next, None);
        query.tenant = "globex".parse().ok();
        let none = store.recent_runs(&query).await.unwrap();
        assert!(none.runs.is_empty());
    }
}
