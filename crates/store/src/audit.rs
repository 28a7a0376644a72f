//! The table of what happened.

use std::time::Duration;

use kitbag_domain::{
    Caller, Capability, KeyId, Kind, Observation, Outcome, Role, ServerName, Tenant, Timestamp,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::{Error, Store, failed, unreadable};

/// Which rows are wanted: the newest `limit` of those that fit.
#[derive(Debug, Clone)]
pub struct AuditQuery {
    pub limit: u32,
    pub tenant: Option<Tenant>,
    pub server: Option<ServerName>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub id: i64,
    /// As it was recorded, with the latency cut to microseconds.
    pub observation: Observation,
}

impl Store {
    /// Writes all of them or none.
    pub async fn record(&self, observations: &[Observation]) -> Result<(), Error> {
        let mut transaction =
            self.sqlite.writer.begin_with("BEGIN IMMEDIATE").await.map_err(failed("begin to record"))?;
        let full = observations.chunks_exact(ROWS_PER_STATEMENT);
        let rest = full.remainder().chunks(1);
        for some in full.chain(rest) {
            insertion(some)
                .build()
                .execute(&mut *transaction)
                .await
                .map_err(failed("record what happened"))?;
        }
        transaction.commit().await.map_err(failed("record what happened"))
    }

    /// The newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditRow>, Error> {
        let mut select = QueryBuilder::<Sqlite>::new(
            "SELECT id, at, tenant, key_id, client, server, kind, name, outcome, latency_us FROM audit WHERE TRUE",
        );
        if let Some(tenant) = &query.tenant {
            select.push(" AND tenant = ").push_bind(tenant.as_str());
        }
        if let Some(server) = &query.server {
            select.push(" AND server = ").push_bind(server.as_str());
        }
        select.push(" ORDER BY at DESC, id DESC LIMIT ").push_bind(query.limit);
        let rows =
            select.build().fetch_all(&self.sqlite.reader).await.map_err(failed("recall what happened"))?;
        rows.iter().map(row).collect()
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

/// What remains is written row by row: two statements in all, which are parsed only once.
const ROWS_PER_STATEMENT: usize = 32;

fn insertion(observations: &[Observation]) -> QueryBuilder<Sqlite> {
    let mut insert = QueryBuilder::new(
        "INSERT INTO audit (at, tenant, key_id, client, server, kind, name, outcome, latency_us) ",
    );
    insert.push_values(observations, |mut values, seen| {
        values
            .push_bind(seen.at.0)
            .push_bind(seen.caller.tenant.as_str())
            .push_bind(seen.caller.key.as_ref().map(|key| key.0.as_str()))
            .push_bind(seen.client.as_deref())
            .push_bind(seen.capability.server.as_str())
            .push_bind(seen.capability.kind.as_str())
            .push_bind(seen.capability.name.as_str())
            .push_bind(seen.outcome.as_str())
            .push_bind(i64::try_from(seen.latency.as_micros()).unwrap_or(i64::MAX));
    });
    insert
}

fn row(row: &SqliteRow) -> Result<AuditRow, Error> {
    let text = |column: &str| row.try_get::<String, _>(column).map_err(failed("read an audit row"));
    let maybe = |column: &str| row.try_get::<Option<String>, _>(column).map_err(failed("read an audit row"));
    let number = |column: &str| row.try_get::<i64, _>(column).map_err(failed("read an audit row"));
    let caller = Caller {
        tenant: parsed("tenant", text("tenant")?, |it| it.parse().ok())?,
        key: maybe("key_id")?.map(KeyId),
        // Who calls something is never an operator.
        role: Role::User,
    };
    let capability = Capability {
        server: parsed("server name", text("server")?, |it| it.parse().ok())?,
        kind: parsed("kind of capability", text("kind")?, Kind::parse)?,
        name: text("name")?,
    };
    let observation = Observation {
        at: Timestamp(number("at")?),
        caller,
        client: maybe("client")?,
        capability,
        outcome: parsed("outcome", text("outcome")?, Outcome::parse)?,
        latency: Duration::from_micros(number("latency_us")?.unsigned_abs()),
    };
    Ok(AuditRow { id: number("id")?, observation })
}

fn parsed<T>(what: &'static str, value: String, parse: impl Fn(&str) -> Option<T>) -> Result<T, Error> {
    parse(&value).ok_or_else(|| unreadable(what, value))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::{path, store};

    pub(crate) fn seen(at: i64, tenant: &str, capability: &str) -> Observation {
        let (server, name) = capability.split_once('/').unwrap();
        Observation {
            at: Timestamp(at),
            caller: Caller { tenant: tenant.parse().unwrap(), ..Caller::local() },
            client: None,
            capability: Capability::tool(server.parse().unwrap(), name),
            outcome: Outcome::Ok,
            latency: Duration::from_micros(1234),
        }
    }

    pub(crate) const EVERYTHING: AuditQuery = AuditQuery { limit: u32::MAX, tenant: None, server: None };

    /// The names of what the query finds, in order.
    #[track_caller]
    fn check(rows: Result<Vec<AuditRow>, Error>, expected: &str) {
        let names: Vec<_> = rows.unwrap().into_iter().map(|row| row.observation.capability.name).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[tokio::test]
    async fn every_field_comes_back_after_a_restart() {
        let (directory, store) = store().await;
        let mut expected: Vec<_> = Outcome::ALL
            .into_iter()
            .zip(Kind::ALL.into_iter().cycle())
            .enumerate()
            .map(|(number, (outcome, kind))| {
                let mut it = seen(number as i64, "acme", "git/log");
                (it.outcome, it.capability.kind) = (outcome, kind);
                it.client = (number % 2 == 0).then(|| "Claude '\"; DROP TABLE audit; --".to_owned());
                it.caller.key = (number % 3 == 0).then(|| KeyId("0123abcd".to_owned()));
                it
            })
            .collect();
        store.record(&expected).await.unwrap();
        store.close().await;

        let store = Store::open(&path(&directory)).await.unwrap();
        let rows = store.audit(&EVERYTHING).await.unwrap();
        expected.reverse();
        assert_eq!(rows.into_iter().map(|row| row.observation).collect::<Vec<_>>(), expected);
    }

    #[tokio::test]
    async fn the_newest_come_first_and_can_be_narrowed() {
        let (_directory, store) = store().await;
        let rows = [
            seen(3, "acme", "git/c"),
            seen(1, "acme", "git/a"),
            seen(2, "acme", "mail/b"),
            seen(3, "local", "git/d"),
        ];
        store.record(&rows).await.unwrap();
        let acme = Some("acme".parse().unwrap());
        let git = Some("git".parse().unwrap());
        check(store.audit(&EVERYTHING).await, "d c b a");
        check(store.audit(&AuditQuery { limit: 2, ..EVERYTHING }).await, "d c");
        check(store.audit(&AuditQuery { tenant: acme.clone(), ..EVERYTHING }).await, "c b a");
        check(store.audit(&AuditQuery { server: git.clone(), ..EVERYTHING }).await, "d c a");
        check(store.audit(&AuditQuery { limit: 1, tenant: acme, server: git }).await, "c");
    }

    #[tokio::test]
    async fn what_happened_long_ago_is_forgotten_portion_by_portion() {
        let (_directory, store) = store().await;
        let rows: Vec<_> = (0..5).map(|at| seen(at, "acme", &format!("git/{at}"))).collect();
        store.record(&rows).await.unwrap();
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 2);
        check(store.audit(&EVERYTHING).await, "4 3 2");
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 1);
        assert_eq!(store.forget_audit(Timestamp(3), 2).await.unwrap(), 0);
        check(store.audit(&EVERYTHING).await, "4 3");
    }

    #[tokio::test]
    async fn more_rows_than_fit_one_statement_are_recorded_together() {
        let (_directory, store) = store().await;
        let many: Vec<_> = (0..1000).map(|at| seen(at, "acme", "git/log")).collect();
        store.record(&many).await.unwrap();
        store.record(&[]).await.unwrap();
        assert_eq!(store.audit(&EVERYTHING).await.unwrap().len(), 1000);
    }
}
