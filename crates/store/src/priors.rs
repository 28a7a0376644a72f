//! The priors of each tool, as of the last run over the audit. Only the gateway interprets the JSON
//! of a row.
//!
//! Each configuration has its own, in the namespace of its mirror.

use kitbag_domain::{ServerName, Timestamp};

use crate::lock::StoreLock;
use crate::properties::Property;
use crate::{Error, Store, skip_unreadable, unreadable_error};

/// The prior of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPrior {
    pub server: ServerName,
    pub name: String,
    pub body: String,
    /// The last run in which calls of the tool were counted.
    pub updated_at: Timestamp,
}

/// The part of the audit that is counted in the priors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriorsRun {
    /// The last counted row of the audit.
    pub counted_to: i64,
    pub counted_at: Timestamp,
}

/// The server, the name, the JSON and the time of a row.
type PriorRow = (String, String, String, i64);

const WRITE: &str = "write the priors of tools";
const MARK: &str = "record the update of the priors";

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 512;
impl Store {
    pub async fn priors(&self, namespace: &str) -> Result<Vec<StoredPrior>, Error> {
        let rows = self
            .engine
            .query("SELECT server, name, body, updated_at FROM priors WHERE namespace = $1")
            .bind(namespace)
            .fetch_all("read the priors of tools")
            .await?;
        Ok(skip_unreadable(rows, StoredPrior::from_row))
    }

    pub async fn priors_run(&self, namespace: &str) -> Result<Option<PriorsRun>, Error> {
        let run = self
            .engine
            .query("SELECT counted_to, counted_at FROM priors_runs WHERE namespace = $1")
            .bind(namespace)
            .fetch_optional("read the last run over the audit")
            .await?;
        Ok(run.map(|(counted_to, counted_at)| PriorsRun {
            counted_to,
            counted_at: Timestamp(counted_at),
        }))
    }

    /// Replaces the priors of the namespace atomically.
    pub async fn replace_priors(
        &self,
        namespace: &str,
        run: PriorsRun,
        priors: &[StoredPrior],
    ) -> Result<(), Error> {
        let mut transaction = self.engine.begin(WRITE).await?;
        transaction
            .query("DELETE FROM priors WHERE namespace = $1")
            .bind(namespace)
            .execute(WRITE)
            .await?;
        for chunk in priors.chunks(ROWS_PER_STATEMENT) {
            transaction
                .query("INSERT INTO priors (namespace, server, name, body, updated_at) VALUES ")
                .push_tuples(chunk, |query, prior| {
                    query
                        .bind(namespace)
                        .bind(prior.server.as_str())
                        .bind(&prior.name)
                        .bind(&prior.body)
                        .bind(prior.updated_at.0)
                })
                .execute(WRITE)
                .await?;
        }
        transaction
            .query(
                "INSERT INTO priors_runs (namespace, counted_to, counted_at) VALUES ($1, $2, $3)
                 ON CONFLICT (namespace) DO UPDATE
                 SET counted_to = excluded.counted_to, counted_at = excluded.counted_at",
            )
            .bind(namespace)
            .bind(run.counted_to)
            .bind(run.counted_at.0)
            .execute(WRITE)
            .await?;
        transaction.commit(WRITE).await
    }

    /// Returns when priors, index and mirror were last up to date with the audit.
    pub async fn priors_updated_at(&self, namespace: &str) -> Result<Option<Timestamp>, Error> {
        let property = Property::PriorsUpdatedAt { namespace };
        let value = self.engine.read_property(property).await?;
        value.map(|value| parse_seconds(&value)).transpose()
    }

    /// Called last, when priors, index and mirror are written.
    pub async fn set_priors_updated_at(&self, namespace: &str, at: Timestamp) -> Result<(), Error> {
        let value = (at.0 / 1_000).to_string();
        let mut transaction = self.engine.begin(MARK).await?;
        let property = Property::PriorsUpdatedAt { namespace };
        transaction.put_property(property, value.as_bytes()).await?;
        transaction.commit(MARK).await
    }

    /// Waits until no other process computes these priors.
    pub async fn lock_priors(&self, namespace: &str) -> Result<StoreLock, Error> {
        let name = format!("priors {namespace}");
        let file = format!("locks/{namespace}.priors.lock");
        StoreLock::acquire(&self.address, &file, &name).await
    }
}

impl StoredPrior {
    fn from_row((server, name, body, updated_at): PriorRow) -> Result<Self, Error> {
        Ok(Self {
            server: server
                .parse()
                .map_err(|_| unreadable_error("server name", &server))?,
            name,
            body,
            updated_at: Timestamp(updated_at),
        })
    }
}

/// Parses the number of seconds since the Unix epoch, stored as readable text.
fn parse_seconds(value: &[u8]) -> Result<Timestamp, Error> {
    let text = String::from_utf8_lossy(value);
    let seconds: Option<i64> = text.parse().ok();
    let seconds = seconds.ok_or_else(|| unreadable_error("time of the priors", text))?;
    Ok(Timestamp(seconds.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        two_configurations_over_one_store_keep_their_own_priors_and_times,
        the_priors_of_a_configuration_that_is_long_gone_are_removed,
    );

    const BASE: &str = "capability_index";

    fn prior(name: &str, body: &str) -> StoredPrior {
        StoredPrior {
            server: "git".parse().unwrap(),
            name: name.to_owned(),
            body: body.to_owned(),
            updated_at: Timestamp(5_000),
        }
    }

    fn run(counted_to: i64) -> PriorsRun {
        PriorsRun {
            counted_to,
            counted_at: Timestamp(7_000),
        }
    }

    async fn two_configurations_over_one_store_keep_their_own_priors_and_times(place: TestPlace) {
        let store = place.open().await;
        let one = [prior("log", "{}"), prior("diff", "{\"a\":1}")];
        store.replace_priors(BASE, run(1), &one).await.unwrap();
        store
            .replace_priors("capability_index@2", run(2), &[prior("push", "{}")])
            .await
            .unwrap();
        let time = Timestamp(9_000);
        store.set_priors_updated_at(BASE, time).await.unwrap();
        let later = [prior("log", "{\"b\":2}")];
        store.replace_priors(BASE, run(3), &later).await.unwrap();
        store.replace_mirror(BASE, &[]).await.unwrap();
        store.close().await;

        let store = place.open().await;
        assert_eq!(store.priors(BASE).await.unwrap(), later);
        assert_eq!(store.priors_run(BASE).await.unwrap(), Some(run(3)));
        assert_eq!(store.priors_updated_at(BASE).await.unwrap(), Some(time));
        let other = "capability_index@2";
        assert_eq!(store.priors(other).await.unwrap().len(), 1);
        assert_eq!(store.priors_updated_at(other).await.unwrap(), None);
    }

    async fn the_priors_of_a_configuration_that_is_long_gone_are_removed(place: TestPlace) {
        const DAY: i64 = 86_400_000;
        let store = place.open().await;
        let gone = store
            .mirror_namespace(BASE, "/gone.toml", Timestamp(0))
            .await
            .unwrap();
        store
            .replace_priors(&gone, run(1), &[prior("log", "{}")])
            .await
            .unwrap();
        store
            .set_priors_updated_at(&gone, Timestamp(1_000))
            .await
            .unwrap();
        store
            .mirror_namespace(BASE, "/new.toml", Timestamp(100 * DAY))
            .await
            .unwrap();
        assert_eq!(store.priors(&gone).await.unwrap(), []);
        assert_eq!(store.priors_run(&gone).await.unwrap(), None);
        assert_eq!(store.priors_updated_at(&gone).await.unwrap(), None);
    }
}
