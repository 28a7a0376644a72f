//! What a credential used most, read from the audit.

use kitbag_domain::{Caller, Capability, Kind, Outcome, Purpose, Timestamp};
use sqlx::Row;

use crate::{Error, Store, failed, unreadable};

impl Store {
    /// The tools this caller called with success since then, the most used first.
    pub async fn favourites(
        &self,
        caller: &Caller,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Capability>, Error> {
        let rows = sqlx::query(
            "SELECT server, name, count(*) AS calls FROM audit
             WHERE tenant = ? AND key_id IS ? AND at >= ? AND kind = ? AND outcome = ? AND purpose = ?
             GROUP BY server, name ORDER BY calls DESC, server, name LIMIT ?",
        )
        .bind(caller.tenant.as_str())
        .bind(caller.key.as_ref().map(|key| key.0.as_str()))
        .bind(since.0)
        .bind(Kind::Tool.as_str())
        .bind(Outcome::Ok.as_str())
        .bind(Purpose::Use.as_str())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("read what was used most"))?;
        rows.iter()
            .map(|row| {
                let server: String = row
                    .try_get("server")
                    .map_err(failed("read what was used most"))?;
                let name: String = row
                    .try_get("name")
                    .map_err(failed("read what was used most"))?;
                let server = server
                    .parse()
                    .map_err(|_| unreadable("server name", server))?;
                Ok(Capability::tool(server, name))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::Observation;

    use super::*;
    use crate::audit::tests::{records, seen};
    use crate::tests::store;

    #[tokio::test]
    async fn the_most_used_come_first_and_only_ones_own_count() {
        let (_directory, store) = store().await;
        let mut rows = vec![
            seen(1, "acme", "git/old"),
            seen(10, "acme", "git/log"),
            seen(11, "acme", "git/diff"),
            seen(12, "acme", "git/diff"),
            seen(13, "globex", "mail/send"),
        ];
        let failed = Observation {
            outcome: Outcome::ToolError,
            ..seen(14, "acme", "git/push")
        };
        rows.push(failed);
        let measured = Observation {
            purpose: Purpose::Measurement,
            ..seen(15, "acme", "git/blame")
        };
        rows.extend([measured.clone(), measured]);
        store.record(&records(rows)).await.unwrap();
        let acme = Caller {
            tenant: "acme".parse().unwrap(),
            ..Caller::local()
        };
        let found = store.favourites(&acme, Timestamp(5), 20).await.unwrap();
        let names: Vec<_> = found.into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["diff", "log"]);
    }
}
