//! The table of what happened: how rows get into it, and out again after their time.
//!
//! It is read in [`crate::audit_query`].

use std::net::IpAddr;
use std::time::Duration;

use kitbag_domain::{Event, Observation, Origin, Outcome, ShortText, Timestamp, TraceParent};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::sqlite::Transaction;
use crate::{Error, Store, failed};

/// What becomes a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Call(Observation),
    Event(Event),
}

/// The row of a call that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowId(pub(crate) i64);

/// How a call ended whose row is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) row: RowId,
    pub(crate) outcome: Outcome,
    pub(crate) latency: Duration,
}

/// What is written together.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    pub(crate) records: Vec<&'a Record>,
    pub(crate) begun: Vec<&'a Observation>,
    pub(crate) ended: Vec<&'a Ending>,
}

impl Store {
    /// Writes all of them or none.
    pub async fn record(&self, records: &[Record]) -> Result<(), Error> {
        let batch = Batch {
            records: records.iter().collect(),
            ..Batch::default()
        };
        self.write_audit(&batch).await.map(drop)
    }

    /// Writes all of it or nothing; gives the rows of what has begun, in order.
    pub(crate) async fn write_audit(&self, batch: &Batch<'_>) -> Result<Vec<RowId>, Error> {
        const ACTION: &str = "record what happened";
        let mut transaction = self.sqlite.begin("begin to record").await?;
        let full = batch.records.chunks_exact(ROWS_PER_STATEMENT);
        let rest = full.remainder().chunks(1);
        for some in full.chain(rest) {
            let rows = some.iter().map(|record| Columns::of(record));
            insertion(rows)
                .build()
                .execute(&mut *transaction)
                .await
                .map_err(failed(ACTION))?;
        }
        for ending in &batch.ended {
            finish(&mut transaction, ending).await?;
        }
        let mut begun = Vec::with_capacity(batch.begun.len());
        for observation in &batch.begun {
            let mut insert = insertion([Columns::of_call(observation)].into_iter());
            insert.push(" RETURNING id");
            let row = insert
                .build()
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed(ACTION))?;
            begun.push(RowId(row.try_get("id").map_err(failed(ACTION))?));
        }
        transaction.commit(ACTION).await?;
        Ok(begun)
    }

    /// Removes up to `at_most` rows from before a moment, and says how many those were. Small
    /// portions let calls be recorded in between.
    pub async fn forget_audit(&self, before: Timestamp, at_most: u32) -> Result<u64, Error> {
        let removed = sqlx::query(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?)",
        )
        .bind(before.0)
        .bind(at_most)
        .execute(&self.sqlite.writer)
        .await
        .map_err(failed("forget what happened long ago"))?;
        Ok(removed.rows_affected())
    }
}

impl From<Observation> for Record {
    fn from(observation: Observation) -> Self {
        Self::Call(observation)
    }
}

impl From<Event> for Record {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl Record {
    pub(crate) fn tenant(&self) -> &str {
        match self {
            Self::Call(observation) => observation.caller.tenant.as_str(),
            Self::Event(event) => event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
        }
    }

    /// About how much memory it takes while it waits to be written.
    pub(crate) fn weight(&self) -> usize {
        let (texts, name) = match self {
            Self::Call(it) => (
                [it.client.as_ref(), it.origin.request.as_ref(), None],
                &*it.capability.name,
            ),
            Self::Event(it) => (
                [it.client.as_ref(), it.detail.as_ref(), it.actor.as_ref()],
                it.subject.as_str(),
            ),
        };
        let texts = texts.into_iter().flatten().map(|text| text.as_str().len());
        size_of::<Self>() + name.len() + texts.sum::<usize>()
    }
}

/// A record, column by column.
struct Columns<'a> {
    at: Timestamp,
    event: &'static str,
    tenant: &'a str,
    key: Option<&'a str>,
    actor: Option<&'a ShortText>,
    client: Option<&'a ShortText>,
    server: &'a str,
    kind: &'static str,
    name: &'a str,
    outcome: Outcome,
    latency: Duration,
    purpose: &'static str,
    origin: &'a Origin,
    detail: Option<&'a ShortText>,
}

impl<'a> Columns<'a> {
    fn of(record: &'a Record) -> Self {
        match record {
            Record::Call(observation) => Self::of_call(observation),
            Record::Event(event) => Self::of_event(event),
        }
    }

    fn of_call(seen: &'a Observation) -> Self {
        Self {
            at: seen.at,
            event: CALL,
            tenant: seen.caller.tenant.as_str(),
            key: seen.caller.key.as_ref().map(|key| key.0.as_str()),
            actor: None,
            client: seen.client.as_ref(),
            server: seen.capability.server.as_str(),
            kind: seen.capability.kind.as_str(),
            name: &seen.capability.name,
            outcome: seen.outcome,
            latency: seen.latency,
            purpose: seen.purpose.as_str(),
            origin: &seen.origin,
            detail: None,
        }
    }

    fn of_event(event: &'a Event) -> Self {
        use kitbag_domain::{Action, Purpose};
        let refused = event.action == Action::KeyRefused;
        Self {
            at: event.at,
            event: event.action.as_str(),
            tenant: event.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            key: event.key.as_ref().map(|key| key.0.as_str()),
            actor: event.actor.as_ref(),
            client: event.client.as_ref(),
            server: "",
            kind: "",
            name: event.subject.as_str(),
            outcome: if refused {
                Outcome::Denied
            } else {
                Outcome::Ok
            },
            latency: Duration::ZERO,
            purpose: Purpose::Use.as_str(),
            origin: &event.origin,
            detail: event.detail.as_ref(),
        }
    }
}

/// What `event` says of a call.
pub(crate) const CALL: &str = "call";

/// What remains is written row by row: two statements in all, which are parsed only once.
const ROWS_PER_STATEMENT: usize = 32;

fn insertion<'a>(rows: impl Iterator<Item = Columns<'a>>) -> QueryBuilder<Sqlite> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO audit (at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
         purpose, request_id, address, trace_id, detail) ",
    );
    insert.push_values(rows, |mut values, row| {
        values
            .push_bind(row.at.0)
            .push_bind(row.event)
            .push_bind(row.tenant.to_owned())
            .push_bind(row.key.map(ToOwned::to_owned))
            .push_bind(text(row.actor))
            .push_bind(text(row.client))
            .push_bind(row.server.to_owned())
            .push_bind(row.kind)
            .push_bind(row.name.to_owned())
            .push_bind(row.outcome.as_str())
            .push_bind(micros(row.latency))
            .push_bind(row.purpose)
            .push_bind(text(row.origin.request.as_ref()))
            .push_bind(row.origin.address.as_ref().map(IpAddr::to_string))
            .push_bind(row.origin.trace.as_ref().map(TraceParent::trace_id))
            .push_bind(text(row.detail));
    });
    insert
}

async fn finish(transaction: &mut Transaction, ending: &Ending) -> Result<(), Error> {
    sqlx::query("UPDATE audit SET outcome = ?, latency_us = ? WHERE id = ?")
        .bind(ending.outcome.as_str())
        .bind(micros(ending.latency))
        .bind(ending.row.0)
        .execute(&mut **transaction)
        .await
        .map_err(failed("record how a call ended"))?;
    Ok(())
}

fn text(text: Option<&ShortText>) -> Option<String> {
    text.map(|text| text.as_str().to_owned())
}

fn micros(latency: Duration) -> i64 {
    i64::try_from(latency.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use kitbag_domain::{Caller, Capability, Purpose};

    use super::*;
    use crate::AuditQuery;
    use crate::tests::store;

    pub(crate) fn seen(at: i64, tenant: &str, capability: &str) -> Observation {
        let (server, name) = capability.split_once('/').unwrap();
        Observation {
            at: Timestamp(at),
            caller: Caller {
                tenant: tenant.parse().unwrap(),
                ..Caller::local()
            },
            client: None,
            origin: Origin::default(),
            purpose: Purpose::Use,
            capability: Capability::tool(server.parse().unwrap(), name),
            outcome: Outcome::Ok,
            latency: Duration::from_micros(1234),
        }
    }

    pub(crate) const EVERYTHING: AuditQuery = AuditQuery::newest(u32::MAX);

    pub(crate) fn records(observations: impl IntoIterator<Item = Observation>) -> Vec<Record> {
        observations.into_iter().map(Record::Call).collect()
    }

    #[tokio::test]
    async fn what_happened_long_ago_is_forgotten_portion_by_portion() {
        let (_directory, store) = store().await;
        let rows = (0..5).map(|at| seen(at, "acme", &format!("git/{at}")));
        store.record(&records(rows)).await.unwrap();
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 2);
        assert_eq!(store.audit(&EVERYTHING).await.unwrap().len(), 3);
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 1);
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 0);
        assert_eq!(store.audit(&EVERYTHING).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn more_rows_than_fit_one_statement_are_recorded_together() {
        let (_directory, store) = store().await;
        let many = records((0..1000).map(|at| seen(at, "acme", "git/log")));
        store.record(&many).await.unwrap();
        store.record(&[]).await.unwrap();
        assert_eq!(store.audit(&EVERYTHING).await.unwrap().len(), 1000);
    }

    #[tokio::test]
    async fn a_call_that_has_begun_is_on_record_before_it_ends() {
        let (_directory, store) = store().await;
        let begun = Observation {
            outcome: Outcome::Unfinished,
            ..seen(1, "acme", "git/push")
        };
        let batch = Batch {
            begun: vec![&begun],
            ..Batch::default()
        };
        let rows = store.write_audit(&batch).await.unwrap();
        let there = store.audit(&EVERYTHING).await.unwrap();
        assert_eq!(
            (there[0].id, there[0].outcome),
            (rows[0].0, Outcome::Unfinished)
        );

        let ending = Ending {
            row: rows[0],
            outcome: Outcome::ToolError,
            latency: Duration::from_millis(7),
        };
        store
            .write_audit(&Batch {
                ended: vec![&ending],
                ..Batch::default()
            })
            .await
            .unwrap();
        let there = store.audit(&EVERYTHING).await.unwrap();
        assert_eq!((there.len(), there[0].outcome), (1, Outcome::ToolError));
    }
}
