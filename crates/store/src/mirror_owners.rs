//! Whose mirror is whose, where several configurations share a database.

use std::time::Duration;

use kitbag_domain::Timestamp;
use sqlx::sqlite::SqliteConnection;

use crate::{Error, Store, failed};

/// The mirror of a configuration that nobody has used for this long goes.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(90 * 86_400);
/// That a mirror is in use is written down this often.
const USED_WITHIN: Duration = Duration::from_secs(86_400);

impl Store {
    /// The namespace in which a configuration keeps its mirror. The first configuration of a
    /// database has `base` itself, others have one of their own beside it.
    pub async fn mirror_namespace(
        &self,
        base: &str,
        configuration: &str,
        at: Timestamp,
    ) -> Result<String, Error> {
        const ACTION: &str = "find the mirror of a configuration";
        let known: Option<(String, i64)> =
            sqlx::query_as("SELECT namespace, used_at FROM mirror_owners WHERE configuration = ?")
                .bind(configuration)
                .fetch_optional(&self.sqlite.reader)
                .await
                .map_err(failed(ACTION))?;
        if let Some((namespace, used_at)) = known
            && at.0.saturating_sub(used_at) < millis(USED_WITHIN)
        {
            return Ok(namespace);
        }
        let mut transaction = self.sqlite.begin(ACTION).await?;
        forget(
            &mut transaction,
            Timestamp(at.0.saturating_sub(millis(FORGOTTEN_AFTER))),
        )
        .await?;
        let namespace = claim(&mut transaction, base, configuration, at).await?;
        transaction.commit(ACTION).await?;
        Ok(namespace)
    }

    /// What the mirrors of all other configurations hold.
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

async fn claim(
    database: &mut SqliteConnection,
    base: &str,
    configuration: &str,
    at: Timestamp,
) -> Result<String, Error> {
    const ACTION: &str = "claim a mirror";
    let own: Option<String> =
        sqlx::query_scalar("SELECT namespace FROM mirror_owners WHERE configuration = ?")
            .bind(configuration)
            .fetch_optional(&mut *database)
            .await
            .map_err(failed(ACTION))?;
    let taken: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM mirror_owners WHERE namespace = ?)")
            .bind(base)
            .fetch_one(&mut *database)
            .await
            .map_err(failed(ACTION))?;
    let namespace = match own {
        Some(own) => own,
        None if !taken => base.to_owned(),
        None => format!(
            "{base}@{}",
            &blake3::hash(configuration.as_bytes()).to_hex()[..16]
        ),
    };
    sqlx::query(
        "INSERT INTO mirror_owners (namespace, configuration, used_at) VALUES (?, ?, ?)
         ON CONFLICT (namespace) DO UPDATE SET used_at = excluded.used_at",
    )
    .bind(&namespace)
    .bind(configuration)
    .bind(at.0)
    .execute(&mut *database)
    .await
    .map_err(failed(ACTION))?;
    Ok(namespace)
}

/// Removes the mirrors that were not used since then.
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
