//! Reading the table of what happened: narrowed, page by page, or as it grows.

use std::time::Duration;

use kitbag_domain::{
    Action, Capability, KeyId, Kind, Outcome, Purpose, ServerName, Tenant, Timestamp,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::audit::CALL;
use crate::{Error, Store, failed, unreadable};

/// Which rows are wanted: the newest `limit` of those that fit every condition.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    pub limit: u32,
    pub tenant: Option<Tenant>,
    pub server: Option<ServerName>,
    pub key: Option<KeyId>,
    /// A glob for the name, for `server/name` or for `server__name`.
    pub name: Option<String>,
    /// Any of these; all, if it is empty.
    pub outcomes: Vec<Outcome>,
    /// Any of these; calls as well as events, if it is empty.
    pub entries: Vec<Entry>,
    pub since: Option<Timestamp>,
    /// Up to and without this moment.
    pub until: Option<Timestamp>,
    pub part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Call,
    Event(Action),
}

/// Which part of all fitting rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest first.
    Newest,
    /// Those older than a row that was read before, the newest first.
    OlderThan { at: Timestamp, id: i64 },
    /// Those written after a row, in the order they were written in.
    WrittenAfter { id: i64 },
}

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
    pub what: What,
}

/// What a row tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
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

impl AuditQuery {
    pub const fn newest(limit: u32) -> Self {
        Self {
            limit,
            tenant: None,
            server: None,
            key: None,
            name: None,
            outcomes: Vec::new(),
            entries: Vec::new(),
            since: None,
            until: None,
            part: Part::Newest,
        }
    }
}

impl AuditRow {
    /// What was called, if this tells of a call.
    pub fn capability(&self) -> Option<&Capability> {
        match &self.what {
            What::Call { capability, .. } => Some(capability),
            What::Event { .. } => None,
        }
    }
}

impl Store {
    pub async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, Error> {
        let rows = selection(query)
            .build()
            .fetch_all(&self.sqlite.reader)
            .await;
        rows.map_err(failed("recall what happened"))?
            .iter()
            .map(row)
            .collect()
    }

    /// These rows as they are now, as far as they are there.
    pub async fn audit_rows(&self, ids: &[i64]) -> Result<Vec<AuditRow>, Error> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = QueryBuilder::<Sqlite>::new(SELECT);
        select.push(" AND id IN (");
        let mut list = select.separated(", ");
        for id in ids {
            list.push_bind(*id);
        }
        select.push(") ORDER BY id");
        let rows = select
            .build()
            .persistent(false)
            .fetch_all(&self.sqlite.reader)
            .await;
        rows.map_err(failed("recall what happened"))?
            .iter()
            .map(row)
            .collect()
    }

    /// The last row that was written; none are later ones.
    pub async fn newest_audit_row(&self) -> Result<i64, Error> {
        let newest: Option<i64> = sqlx::query_scalar("SELECT max(id) FROM audit")
            .fetch_one(&self.sqlite.reader)
            .await
            .map_err(failed("find the last row of the audit"))?;
        Ok(newest.unwrap_or(0))
    }
}

const SELECT: &str = "SELECT id, at, event, tenant, key_id, actor, client, server, kind, name, outcome, latency_us, \
     purpose, request_id, address, trace_id, detail FROM audit WHERE TRUE";

fn selection(query: &AuditQuery) -> QueryBuilder<Sqlite> {
    let mut select = QueryBuilder::<Sqlite>::new(SELECT);
    if let Some(tenant) = &query.tenant {
        select
            .push(" AND tenant = ")
            .push_bind(tenant.as_str().to_owned());
    }
    if let Some(server) = &query.server {
        select
            .push(" AND server = ")
            .push_bind(server.as_str().to_owned());
    }
    if let Some(key) = &query.key {
        select.push(" AND key_id = ").push_bind(key.0.clone());
    }
    if let Some(glob) = &query.name {
        select.push(" AND (name GLOB ").push_bind(glob.clone());
        select
            .push(" OR server || '/' || name GLOB ")
            .push_bind(glob.clone());
        select
            .push(" OR server || '__' || name GLOB ")
            .push_bind(glob.clone())
            .push(")");
    }
    one_of(
        &mut select,
        "outcome",
        query.outcomes.iter().map(|it| it.as_str()),
    );
    one_of(
        &mut select,
        "event",
        query.entries.iter().map(|it| it.as_str()),
    );
    if let Some(since) = query.since {
        select.push(" AND at >= ").push_bind(since.0);
    }
    if let Some(until) = query.until {
        select.push(" AND at < ").push_bind(until.0);
    }
    match query.part {
        Part::Newest => select.push(" ORDER BY at DESC, id DESC"),
        Part::OlderThan { at, id } => {
            select
                .push(" AND (at, id) < (")
                .push_bind(at.0)
                .push(", ")
                .push_bind(id);
            select.push(") ORDER BY at DESC, id DESC")
        }
        Part::WrittenAfter { id } => select.push(" AND id > ").push_bind(id).push(" ORDER BY id"),
    };
    select.push(" LIMIT ").push_bind(query.limit);
    select
}

fn one_of(
    select: &mut QueryBuilder<Sqlite>,
    column: &str,
    values: impl ExactSizeIterator<Item = &'static str>,
) {
    if values.len() == 0 {
        return;
    }
    select.push(format!(" AND {column} IN ("));
    let mut list = select.separated(", ");
    for value in values {
        list.push_bind(value);
    }
    select.push(")");
}

impl Entry {
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

fn row(row: &SqliteRow) -> Result<AuditRow, Error> {
    let text = |column: &str| {
        row.try_get::<String, _>(column)
            .map_err(failed("read an audit row"))
    };
    let maybe = |column: &str| {
        row.try_get::<Option<String>, _>(column)
            .map_err(failed("read an audit row"))
    };
    let number = |column: &str| {
        row.try_get::<i64, _>(column)
            .map_err(failed("read an audit row"))
    };
    let tenant = Some(text("tenant")?).filter(|tenant| !tenant.is_empty());
    let what = match parsed("kind of row", text("event")?, Entry::parse)? {
        Entry::Call => What::Call {
            capability: Capability {
                server: parsed("server name", text("server")?, |it| it.parse().ok())?,
                kind: parsed("kind of capability", text("kind")?, Kind::parse)?,
                name: text("name")?,
            },
            latency: Duration::from_micros(number("latency_us")?.unsigned_abs()),
            purpose: parsed("purpose", text("purpose")?, Purpose::parse)?,
        },
        Entry::Event(action) => What::Event {
            action,
            subject: text("name")?,
            detail: maybe("detail")?,
        },
    };
    Ok(AuditRow {
        id: number("id")?,
        at: Timestamp(number("at")?),
        tenant: tenant
            .map(|it| parsed("tenant", it, |it| it.parse().ok()))
            .transpose()?,
        key: maybe("key_id")?.map(KeyId),
        actor: maybe("actor")?,
        client: maybe("client")?,
        request: maybe("request_id")?,
        address: maybe("address")?,
        trace: maybe("trace_id")?,
        outcome: parsed("outcome", text("outcome")?, Outcome::parse)?,
        what,
    })
}

fn parsed<T>(
    what: &'static str,
    value: String,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, Error> {
    parse(&value).ok_or_else(|| unreadable(what, value))
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Event, Observation, Origin, ShortText};

    use super::*;
    use crate::audit::tests::{EVERYTHING, records, seen};
    use crate::tests::{path, store};

    /// The names of what the query finds, in order.
    async fn check(store: &Store, query: AuditQuery, expected: &str) {
        let rows = store.audit(&query).await.unwrap();
        let name = |row: AuditRow| match row.what {
            What::Call { capability, .. } => capability.name,
            What::Event { subject, .. } => subject,
        };
        assert_eq!(
            rows.into_iter().map(name).collect::<Vec<_>>().join(" "),
            expected,
            "{query:?}"
        );
    }

    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn origin() -> Origin {
        Origin {
            request: Some(ShortText::cut("0011aabb")),
            address: "192.0.2.7".parse().ok(),
            trace: TRACE.parse().ok(),
        }
    }

    #[tokio::test]
    async fn every_field_of_a_call_comes_back_after_a_restart() {
        let (directory, store) = store().await;
        let expected: Vec<Observation> = Outcome::ALL
            .into_iter()
            .zip(Kind::ALL.into_iter().cycle())
            .enumerate()
            .map(|(number, (outcome, kind))| {
                let mut it = seen(number as i64, "acme", "git/log");
                (it.outcome, it.capability.kind) = (outcome, kind);
                it.client =
                    (number % 2 == 0).then(|| ShortText::cut("Claude '\"; DROP TABLE audit; --"));
                it.caller.key = (number % 3 == 0).then(|| KeyId("0123abcd".to_owned()));
                it.origin = if number % 2 == 1 {
                    origin()
                } else {
                    Origin::default()
                };
                it.purpose = Purpose::ALL[number % 2];
                it
            })
            .collect();
        store.record(&records(expected.clone())).await.unwrap();
        store.close().await;

        let store = Store::open(&path(&directory)).await.unwrap();
        let rows = store.audit(&EVERYTHING).await.unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, seen) in rows.into_iter().zip(expected.into_iter().rev()) {
            let Origin {
                request,
                address,
                trace,
            } = &seen.origin;
            assert_eq!(
                (row.at, row.outcome, row.key),
                (seen.at, seen.outcome, seen.caller.key)
            );
            assert_eq!(row.tenant, Some(seen.caller.tenant));
            assert_eq!(
                row.client.as_deref(),
                seen.client.as_ref().map(ShortText::as_str)
            );
            assert_eq!(
                row.request.as_deref(),
                request.as_ref().map(ShortText::as_str)
            );
            assert_eq!(row.address, address.map(|it| it.to_string()));
            assert_eq!(row.trace, trace.map(|it| it.trace_id()));
            let Observation {
                capability,
                latency,
                purpose,
                ..
            } = seen;
            assert_eq!(
                row.what,
                What::Call {
                    capability,
                    latency,
                    purpose
                }
            );
        }
    }

    #[tokio::test]
    async fn every_field_of_an_event_comes_back() {
        let (_directory, store) = store().await;
        let event = |action| Event {
            tenant: "acme".parse().ok(),
            key: Some(KeyId("0123abcd".to_owned())),
            actor: Some(ShortText::cut("ann")),
            client: Some(ShortText::cut("kitbag key create")),
            detail: Some(ShortText::cut("more of it")),
            origin: origin(),
            ..Event::new(Timestamp(1), action, "what it was about")
        };
        store
            .record(&Action::ALL.map(|action| event(action).into()))
            .await
            .unwrap();
        let rows = store.audit(&EVERYTHING).await.unwrap();
        for (row, action) in rows.into_iter().zip(Action::ALL.into_iter().rev()) {
            let subject = "what it was about".to_owned();
            assert_eq!(
                row.what,
                What::Event {
                    action,
                    subject,
                    detail: Some("more of it".to_owned())
                }
            );
            assert_eq!(
                (row.actor.as_deref(), row.client.as_deref()),
                (Some("ann"), Some("kitbag key create"))
            );
            assert_eq!(
                (row.tenant.unwrap().as_str(), row.key.unwrap().0.as_str()),
                ("acme", "0123abcd")
            );
            assert_eq!(row.address.as_deref(), Some("192.0.2.7"));
        }
        store
            .record(&[Event::new(Timestamp(2), Action::SecretSet, "token").into()])
            .await
            .unwrap();
        let rows = store.audit(&AuditQuery::newest(1)).await.unwrap();
        assert_eq!((&rows[0].tenant, &rows[0].address), (&None, &None));
    }

    #[tokio::test]
    async fn the_newest_come_first_and_can_be_narrowed() {
        let (_directory, store) = store().await;
        let mut rows = records([
            seen(3, "acme", "git/c"),
            seen(1, "acme", "git/a"),
            seen(2, "acme", "mail/b"),
            seen(3, "local", "git/d"),
        ]);
        let Record::Call(last) = &mut rows[3] else {
            panic!("a call")
        };
        (last.outcome, last.caller.key) = (Outcome::TimedOut, Some(KeyId("77".to_owned())));
        rows.push(Event::new(Timestamp(4), Action::SecretSet, "token").into());
        store.record(&rows).await.unwrap();
        let everything = || EVERYTHING;
        let acme = "acme".parse::<Tenant>().ok();
        let git = "git".parse::<ServerName>().ok();
        let named = |glob: &str| AuditQuery {
            name: Some(glob.to_owned()),
            ..everything()
        };
        check(&store, everything(), "token d c b a").await;
        check(&store, AuditQuery::newest(2), "token d").await;
        check(
            &store,
            AuditQuery {
                tenant: acme.clone(),
                ..everything()
            },
            "c b a",
        )
        .await;
        check(
            &store,
            AuditQuery {
                server: git.clone(),
                ..everything()
            },
            "d c a",
        )
        .await;
        check(
            &store,
            AuditQuery {
                limit: 1,
                tenant: acme,
                server: git,
                ..everything()
            },
            "c",
        )
        .await;
        check(
            &store,
            AuditQuery {
                key: Some(KeyId("77".to_owned())),
                ..everything()
            },
            "d",
        )
        .await;
        check(
            &store,
            AuditQuery {
                outcomes: vec![Outcome::TimedOut],
                ..everything()
            },
            "d",
        )
        .await;
        check(
            &store,
            AuditQuery {
                entries: vec![Entry::Call],
                ..everything()
            },
            "d c b a",
        )
        .await;
        let secrets = vec![
            Entry::Event(Action::SecretSet),
            Entry::Event(Action::SecretRemoved),
        ];
        check(
            &store,
            AuditQuery {
                entries: secrets,
                ..everything()
            },
            "token",
        )
        .await;
        let (since, until) = (Some(Timestamp(2)), Some(Timestamp(4)));
        check(
            &store,
            AuditQuery {
                since,
                until,
                ..everything()
            },
            "d c b",
        )
        .await;
        check(&store, named("[cd]"), "d c").await;
        check(&store, named("mail__*"), "b").await;
        check(&store, named("git/?"), "d c a").await;
        check(&store, named("' OR TRUE --"), "").await;
    }

    #[tokio::test]
    async fn pages_follow_one_another_and_what_is_written_later_is_found() {
        let (_directory, store) = store().await;
        store
            .record(&records(
                (0..5).map(|at| seen(at / 2, "acme", &format!("git/{at}"))),
            ))
            .await
            .unwrap();
        let (mut query, mut pages) = (AuditQuery::newest(2), Vec::new());
        loop {
            let rows = store.audit(&query).await.unwrap();
            let Some(last) = rows.last() else { break };
            query.part = Part::OlderThan {
                at: last.at,
                id: last.id,
            };
            pages.extend(
                rows.iter()
                    .map(|row| row.capability().unwrap().name.clone()),
            );
        }
        assert_eq!(pages.join(" "), "4 3 2 1 0");

        let id = store.newest_audit_row().await.unwrap();
        // The clock may go back; what is new is told by the order of writing.
        store
            .record(&records([
                seen(0, "acme", "git/late"),
                seen(9, "acme", "git/later"),
            ]))
            .await
            .unwrap();
        let news = AuditQuery {
            part: Part::WrittenAfter { id },
            ..EVERYTHING
        };
        check(&store, news, "late later").await;
    }

    use crate::Record;
}
