//! Reads a page of the audit in limited time, for a person who waits for it.
//!
//! A filter that no index serves, such as a pattern, reads every row until the page is full. Here
//! it reads the audit piece by piece, newest first, and stops after a moment with what it found.

use std::time::{Duration, Instant};

use kitbag_domain::{Outcome, Timestamp};
use kitbag_store::{AuditPage, AuditQuery, AuditRow, AuditRowKind, Error, Store};

/// The rows of a first piece: a few milliseconds without an index.
const FIRST_PIECE: u32 = 10_000;
/// A piece that took less than this is followed by a larger one.
const QUICK: Duration = Duration::from_millis(5);
const LARGEST_PIECE: u32 = 640_000;
/// After this time no further piece is read.
const TIME_LIMIT: Duration = Duration::from_millis(45);

/// The rows of a page, newest first, as far as they were found in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitedRead {
    pub rows: Vec<AuditRow>,
    /// The rows after these, if there may be any.
    pub next: Option<AuditPage>,
    /// The time back to which the audit was searched, if that is why there are no more rows.
    pub searched_back_to: Option<Timestamp>,
}

/// Reads the newest rows of a query, or those older than its page.
pub async fn read_within_limit(store: &Store, query: &AuditQuery) -> Result<LimitedRead, Error> {
    if !has_index(query) {
        return read_pieces(store, query, FIRST_PIECE, TIME_LIMIT).await;
    }
    let rows = store.read_audit(query).await?;
    let is_full = rows.len() >= query.limit as usize;
    let next = rows.last().filter(|_| is_full).map(older_than);
    Ok(LimitedRead::new(rows, next, None))
}

/// True if an index of the store leads to the rows of the query and to no others. Indexes leave out
/// successful calls, which are most rows.
fn has_index(query: &AuditQuery) -> bool {
    let indexed = [
        query.tenant.is_some(),
        query.client.is_some(),
        query.server.is_some(),
        query.run.is_some(),
        !query.outcomes.is_empty() && !query.outcomes.contains(&Outcome::Ok),
        !query.kinds.is_empty() && !query.kinds.contains(&AuditRowKind::Call),
    ];
    let others = [
        query.key.is_some(),
        query.name.is_some(),
        query.outcomes.contains(&Outcome::Ok),
        query.kinds.contains(&AuditRowKind::Call),
    ];
    let count = indexed.into_iter().filter(|is_given| *is_given).count();
    count <= 1 && !others.contains(&true)
}

async fn read_pieces(
    store: &Store,
    query: &AuditQuery,
    first_piece: u32,
    patience: Duration,
) -> Result<LimitedRead, Error> {
    let started = Instant::now();
    let (mut rows, mut piece, mut query) = (Vec::new(), first_piece, query.clone());
    let (limit, since) = (query.limit as usize, query.since);
    loop {
        let piece_started = Instant::now();
        let end = store.audit_time_before(&query, piece).await?;
        query.since = end.or(since);
        query.limit = u32::try_from(limit - rows.len()).unwrap_or(u32::MAX);
        rows.extend(store.read_audit(&query).await?);
        if rows.len() >= limit {
            let next = rows.last().map(older_than);
            return Ok(LimitedRead::new(rows, next, None));
        }
        let Some(end) = end else {
            return Ok(LimitedRead::new(rows, None, None));
        };
        // IDs are positive: these are the rows of earlier times.
        query.page = AuditPage::OlderThan { at: end, id: 0 };
        query.since = since;
        if started.elapsed() >= patience {
            return Ok(LimitedRead::new(rows, Some(query.page), Some(end)));
        }
        if piece_started.elapsed() < QUICK {
            piece = piece.saturating_mul(2).min(LARGEST_PIECE);
        }
    }
}

fn older_than(row: &AuditRow) -> AuditPage {
    let (at, id) = (row.at, row.id);
    AuditPage::OlderThan { at, id }
}

impl LimitedRead {
    fn new(
        rows: Vec<AuditRow>,
        next: Option<AuditPage>,
        searched_back_to: Option<Timestamp>,
    ) -> Self {
        Self {
            rows,
            next,
            searched_back_to,
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Action, Event};
    use kitbag_store::AuditRowContent;

    use super::*;

    async fn store_of(subjects: &str) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("kitbag.db")).await.unwrap();
        let events = subjects.split(' ').enumerate().map(|(at, subject)| {
            let at = Timestamp(at as i64 / 2);
            Event::new(at, Action::SecretSet, subject).into()
        });
        store.record_all(&events.collect::<Vec<_>>()).await.unwrap();
        (folder, store)
    }

    fn subjects(read: &LimitedRead) -> String {
        let subject = |row: &AuditRow| match &row.content {
            AuditRowContent::Event { subject, .. } => subject.clone(),
            _ => panic!("an event"),
        };
        read.rows.iter().map(subject).collect()
    }

    fn named(glob: &str, limit: u32) -> AuditQuery {
        AuditQuery {
            name: Some(glob.to_owned()),
            ..AuditQuery::newest(limit)
        }
    }

    #[tokio::test]
    async fn pieces_add_up_to_all_rows_in_order() {
        let (_folder, store) = store_of("a x b x c x d x e").await;
        for piece in 1..12 {
            let query = named("[a-e]", 99);
            let read = read_pieces(&store, &query, piece, Duration::MAX).await;
            assert_eq!(subjects(&read.unwrap()), "edcba", "{piece}");
        }
    }

    #[tokio::test]
    async fn an_imlimited_read_continues_where_it_stopped() {
        let (_folder, store) = store_of("a x b x c x d x e").await;
        let (mut query, mut found, mut reads) = (named("[a-e]", 2), String::new(), 0);
        loop {
            let read = read_pieces(&store, &query, 3, Duration::ZERO)
                .await
                .unwrap();
            found += &subjects(&read);
            reads += 1;
            match read.next {
                Some(next) => query.page = next,
                None => break,
            }
        }
        assert_eq!(found, "edcba");
        assert!(reads > 2, "{reads}");
    }

    #[test]
    fn one_filter_has_an_index_and_two_have_none() {
        let base = || AuditQuery::newest(9);
        let check = |query: AuditQuery, expected| assert_eq!(has_index(&query), expected);
        let tenant = || "acme".parse().ok();
        check(base(), true);
        check(
            AuditQuery {
                tenant: tenant(),
                ..base()
            },
            true,
        );
        check(
            AuditQuery {
                outcomes: vec![Outcome::Denied],
                ..base()
            },
            true,
        );
        check(
            AuditQuery {
                outcomes: vec![Outcome::Ok],
                ..base()
            },
            false,
        );
        check(
            AuditQuery {
                kinds: vec![AuditRowKind::Call],
                ..base()
            },
            false,
        );
        check(
            AuditQuery {
                name: Some("x".to_owned()),
                ..base()
            },
            false,
        );
        let client = Some("cursor".to_owned());
        check(
            AuditQuery {
                tenant: tenant(),
                client,
                ..base()
            },
            false,
        );
    }

    #[tokio::test]
    async fn a_span_limits_every_piece() {
        let (_folder, store) = store_of("a b c d e f").await;
        let query = AuditQuery {
            since: Some(Timestamp(1)),
            until: Some(Timestamp(2)),
            ..named("*", 9)
        };
        let read = read_pieces(&store, &query, 1, Duration::MAX).await.unwrap();
        assert_eq!(subjects(&read), "dc");
    }
}
