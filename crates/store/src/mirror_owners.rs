//! The configurations that share a database, and the mirror that each of them owns.

use std::time::Duration;

use kitbag_domain::Timestamp;
use sqlx::{Sqlite, SqliteConnection};

use crate::{Error, Store, failed};

/// The mirror of a configuration that no gateway has used for this long is removed.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(90 * 86_400);
/// The use of a mirror is noted this often.
const USED_WITHIN: Duration = Duration::from_secs(86_400);

const FIND: &str = "find the mirror of a configuration";
const CLAIM: &str = "claim a mirror";

impl Store {
    /// Returns the namespace in which a configuration keeps its mirror. The first configuration of
    /// a database has `base` itself, others have one of their own beside it.
    pub async fn mirror_namespace(
        &self,
        base: &str,
        configuration: &str,
        at: Timestamp,
    ) -> Result<String, Error> {
        if let Some((namespace, used_at)) = owned(&self.sqlite.reader, configuration).await?
            && at.0.saturating_sub(used_at) < millis(USED_WITHIN)
        {
            return Ok(namespace);
        }
        let mut transaction = self.sqlite.begin(FIND).await?;
        forget(&mut transaction, before(at, FORGOTTEN_AFTER)).await?;
        let namespace = claim(&mut transaction, base, configuration, at).await?;
        transaction.commit(FIND).await?;
        Ok(namespace)
    }

    /// Returns the entries in the mirrors of all other configurations.
    pub async fn mirrored_elsewhere(&self, namespace: &str) -> Result<Vec<String>, Error> {
        sqlx::query_scalar(
            "SELECT value FROM mirror JOIN mirror_owners USING (namespace) WHERE namespace <> ?",
        )
        .bind(namespace)
        .fetch_all(&self.sqlite.reader)
        .await
        .map_err(failed("read the mirrors of other configurations"))
    }
}

/// Returns the namespace of a configuration, and when it was last used.
async fn owned(
    database: impl sqlx::Executor<'_, Database = Sqlite>,
    configuration: &str,
) -> Result<Option<(String, i64)>, Error> {
    sqlx::query_as("SELECT namespace, used_at FROM mirror_owners WHERE configuration = ?")
        .bind(configuration)
        .fetch_optional(database)
        .await
        .map_err(failed(FIND))
}

/// Notes that the configuration uses its mirror, and returns the namespace.
async fn claim(
    database: &mut SqliteConnection,
    base: &str,
    configuration: &str,
    at: Timestamp,
) -> Result<String, Error> {
    let namespace = match owned(&mut *database, configuration).await? {
        Some((own, _)) => own,
        None if is_taken(database, base).await? => beside(base, configuration),
        None => base.to_owned(),
    };
    sqlx::query(
        "INSERT INTO mirror_owners (namespace, configuration, used_at) VALUES (?, ?, ?)
         ON CONFLICT (namespace) DO UPDATE SET used_at = excluded.used_at",
    )
    .bind(&namespace)
    .bind(configuration)
    .bind(at.0)
    .execute(database)
    .await
    .map_err(failed(CLAIM))?;
    Ok(namespace)
}

async fn is_taken(database: &mut SqliteConnection, namespace: &str) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM mirror_owners WHERE namespace = ?)")
        .bind(namespace)
        .fetch_one(database)
        .await
        .map_err(failed(CLAIM))
}

/// A namespace of its own for the configuration. Sixteen digits of the hash tell apart more
/// configurations than any database has.
fn beside(base: &str, configuration: &str) -> String {
    let hash = blake3::hash(configuration.as_bytes()).to_hex();
    format!("{base}@{}", &hash[..16])
}

/// Removes the mirrors that were not used since that moment.
async fn forget(database: &mut SqliteConnection, since: Timestamp) -> Result<(), Error> {
    for statement in [
        "DELETE FROM mirror WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < ?)",
        "DELETE FROM mirror_owners WHERE used_at < ?",
    ] {
        sqlx::query(statement)
            .bind(since.0)
            .execute(&mut *database)
            .await
            .map_err(failed("forget the mirrors of configurations that are gone"))?;
    }
    Ok(())
}

fn before(at: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(at.0.saturating_sub(millis(duration)))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::store;

    const BASE: &str = "capability_index";
    const DAY: i64 = 86_400_000;

    fn entries(names: &[&str]) -> Vec<(String, String)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), format!("\"{name}\"")))
            .collect()
    }

    #[tokio::test]
    async fn two_configurations_over_one_store_do_not_erase_each_others_mirror() {
        let (_directory, store) = store().await;
        let one = store
            .mirror_namespace(BASE, "/home/ann/kitbag.toml", Timestamp(1))
            .await
            .unwrap();
        let two = store
            .mirror_namespace(BASE, "/srv/kitbag.toml", Timestamp(1))
            .await
            .unwrap();
        assert_eq!(
            one, BASE,
            "the only configuration of most people has the plain name"
        );
        assert_ne!(one, two);
        store.put_mirror(&one, &entries(&["a", "b"])).await.unwrap();
        store.put_mirror(&two, &entries(&["c"])).await.unwrap();
        assert_eq!(store.mirrored(&one).await.unwrap().len(), 2);
        assert_eq!(
            store.mirrored_elsewhere(&two).await.unwrap(),
            ["\"a\"", "\"b\""]
        );
        let again = store
            .mirror_namespace(BASE, "/srv/kitbag.toml", Timestamp(2))
            .await
            .unwrap();
        assert_eq!(again, two);
    }

    #[tokio::test]
    async fn the_mirror_of_a_configuration_that_is_long_gone_is_removed() {
        let (_directory, store) = store().await;
        let old = store
            .mirror_namespace(BASE, "/old.toml", Timestamp(0))
            .await
            .unwrap();
        let used = store
            .mirror_namespace(BASE, "/used.toml", Timestamp(0))
            .await
            .unwrap();
        store.put_mirror(&old, &entries(&["a"])).await.unwrap();
        store.put_mirror(&used, &entries(&["b"])).await.unwrap();
        store
            .mirror_namespace(BASE, "/used.toml", Timestamp(60 * DAY))
            .await
            .unwrap();
        assert_eq!(store.mirrored(&old).await.unwrap().len(), 1);
        let third = store
            .mirror_namespace(BASE, "/third.toml", Timestamp(100 * DAY))
            .await
            .unwrap();
        assert_eq!(store.mirrored(&used).await.unwrap().len(), 1);
        assert_eq!(
            (third.as_str(), store.mirrored(BASE).await.unwrap().len()),
            (BASE, 0)
        );
    }
}
