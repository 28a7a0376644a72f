//! The configurations that share a database, and the mirror of each.

use std::time::Duration;

use kitbag_domain::Timestamp;

use crate::engine::Transaction;
use crate::{Error, Store};

/// The mirror of a configuration that no gateway has used for this long is removed.
const UNUSED_LIMIT: Duration = Duration::from_secs(90 * 86_400);
/// The use of a mirror is recorded this often.
const RECORD_INTERVAL: Duration = Duration::from_secs(86_400);

const FIND: &str = "find the mirror of a configuration";

const SELECT_OWNER: &str = "SELECT namespace, used_at FROM mirror_owners WHERE configuration = $1";
const CLAIM: &str = "claim a mirror";

impl Store {
    /// Returns the namespace of a configuration's mirror. The first configuration of a database has
    /// `base` itself, others have a derived one.
    pub async fn mirror_namespace(
        &self,
        base: &str,
        configuration: &str,
        at: Timestamp,
    ) -> Result<String, Error> {
        let select = self.engine.query(SELECT_OWNER).bind(configuration);
        if let Some((namespace, used_at)) = select.fetch_optional(FIND).await?
            && at.0.saturating_sub(used_at) < to_millis(RECORD_INTERVAL)
        {
            return Ok(namespace);
        }
        let mut transaction = self.engine.begin(FIND).await?;
        // Two configurations that claim a mirror at once must not get the same.
        transaction.lock("mirror owners", FIND).await?;
        let select = transaction.query(SELECT_OWNER).bind(configuration);
        let own: Option<(String, i64)> = select.fetch_optional(FIND).await?;
        let unused_since = Timestamp(at.0.saturating_sub(to_millis(UNUSED_LIMIT)));
        delete_unused_mirrors(&mut transaction, unused_since).await?;
        let is_base_claimed = transaction
            .query("SELECT EXISTS (SELECT 1 FROM mirror_owners WHERE namespace = $1)")
            .bind(base)
            .fetch_scalar(CLAIM)
            .await?;
        let namespace = match own {
            Some((own, _)) => own,
            None if is_base_claimed => derive_namespace(base, configuration),
            None => base.to_owned(),
        };
        transaction
            .query(
                "INSERT INTO mirror_owners (namespace, configuration, used_at) VALUES ($1, $2, $3)
                 ON CONFLICT (namespace) DO UPDATE SET used_at = excluded.used_at",
            )
            .bind(&namespace)
            .bind(configuration)
            .bind(at.0)
            .execute(CLAIM)
            .await?;
        transaction.commit(FIND).await?;
        Ok(namespace)
    }

    /// Returns the entries in the mirrors of all other configurations.
    pub async fn other_mirror_entries(&self, namespace: &str) -> Result<Vec<String>, Error> {
        self.engine
            .query(
                "SELECT value FROM mirror JOIN mirror_owners USING (namespace) WHERE namespace <> $1
                 ORDER BY namespace, name",
            )
            .bind(namespace)
            .fetch_scalars("read the mirrors of other configurations")
            .await
    }
}

/// Derives a namespace for the configuration. Sixteen digits of the hash suffice for more
/// configurations than any database has.
fn derive_namespace(base: &str, configuration: &str) -> String {
    let hash = blake3::hash(configuration.as_bytes()).to_hex();
    format!("{base}@{}", &hash[..16])
}

fn to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Deletes the mirrors that no gateway has used since then, and their priors.
async fn delete_unused_mirrors(
    transaction: &mut Transaction,
    since: Timestamp,
) -> Result<(), Error> {
    for delete in [
        "DELETE FROM mirror WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM priors WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM priors_runs WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM properties WHERE name IN
         (SELECT namespace || ':priors_updated_at' FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM mirror_owners WHERE used_at < $1",
    ] {
        transaction
            .query(delete)
            .bind(since.0)
            .execute("delete the mirrors of unused configurations")
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_store::{TestPlace, each_engine};

    each_engine!(
        two_configurations_over_one_store_do_not_erase_each_others_mirror,
        the_mirror_of_a_configuration_that_is_long_gone_is_removed,
    );

    const BASE: &str = "capability_index";
    const DAY: i64 = 86_400_000;

    fn entries(names: &[&str]) -> Vec<(String, String)> {
        names
            .iter()
            .map(|name| ((*name).to_owned(), format!("\"{name}\"")))
            .collect()
    }

    async fn two_configurations_over_one_store_do_not_erase_each_others_mirror(place: TestPlace) {
        let store = place.open().await;
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
        store
            .replace_mirror(&one, &entries(&["a", "b"]))
            .await
            .unwrap();
        store.replace_mirror(&two, &entries(&["c"])).await.unwrap();
        assert_eq!(store.mirror_entries(&one).await.unwrap().len(), 2);
        assert_eq!(
            store.other_mirror_entries(&two).await.unwrap(),
            ["\"a\"", "\"b\""]
        );
        let again = store
            .mirror_namespace(BASE, "/srv/kitbag.toml", Timestamp(2))
            .await
            .unwrap();
        assert_eq!(again, two);
    }

    async fn the_mirror_of_a_configuration_that_is_long_gone_is_removed(place: TestPlace) {
        let store = place.open().await;
        let old = store
            .mirror_namespace(BASE, "/old.toml", Timestamp(0))
            .await
            .unwrap();
        let used = store
            .mirror_namespace(BASE, "/used.toml", Timestamp(0))
            .await
            .unwrap();
        store.replace_mirror(&old, &entries(&["a"])).await.unwrap();
        store.replace_mirror(&used, &entries(&["b"])).await.unwrap();
        store
            .mirror_namespace(BASE, "/used.toml", Timestamp(60 * DAY))
            .await
            .unwrap();
        assert_eq!(store.mirror_entries(&old).await.unwrap().len(), 1);
        let third = store
            .mirror_namespace(BASE, "/third.toml", Timestamp(100 * DAY))
            .await
            .unwrap();
        assert_eq!(store.mirror_entries(&used).await.unwrap().len(), 1);
        assert_eq!(
            (
                third.as_str(),
                store.mirror_entries(BASE).await.unwrap().len()
            ),
            (BASE, 0)
        );
    }
}
