//! The configurations that share a database, and the mirror of each.

mod statements;

use std::time::Duration;

use kitbag_domain::Timestamp;

use crate::{Error, Store};

/// The mirror of a configuration that no gateway has used for this long is removed.
const UNUSED_LIMIT: Duration = Duration::from_secs(90 * 86_400);
/// The use of a mirror is recorded this often.
const RECORD_INTERVAL: Duration = Duration::from_secs(86_400);

const FIND: &str = "find the mirror of a configuration";

impl Store {
    /// Returns the namespace of a configuration's mirror. The first configuration of a database has
    /// `base` itself, others have a derived one.
    pub async fn mirror_namespace(
        &self,
        base: &str,
        configuration: &str,
        at: Timestamp,
    ) -> Result<String, Error> {
        if let Some((namespace, used_at)) =
            statements::select_owner(&self.engine, configuration).await?
            && at.0.saturating_sub(used_at) < to_millis(RECORD_INTERVAL)
        {
            return Ok(namespace);
        }
        let mut transaction = self.engine.begin(FIND).await?;
        let own = statements::lock_and_select_owner(&mut transaction, configuration).await?;
        statements::delete_unused_mirrors(&mut transaction, subtract(at, UNUSED_LIMIT)).await?;
        let namespace = match own {
            Some((own, _)) => own,
            None if statements::is_claimed(&mut transaction, base).await? => {
                derive_namespace(base, configuration)
            }
            None => base.to_owned(),
        };
        statements::put_owner(&mut transaction, &namespace, configuration, at).await?;
        transaction.commit(FIND).await?;
        Ok(namespace)
    }

    /// Returns the entries in the mirrors of all other configurations.
    pub async fn other_mirror_entries(&self, namespace: &str) -> Result<Vec<String>, Error> {
        statements::select_other_mirrors(&self.engine, namespace).await
    }
}

/// The namespace of a configuration, and when it was last used.
type OwnerRow = (String, i64);

/// Derives a namespace for the configuration. Sixteen digits of the hash suffice for more
/// configurations than any database has.
fn derive_namespace(base: &str, configuration: &str) -> String {
    let hash = blake3::hash(configuration.as_bytes()).to_hex();
    format!("{base}@{}", &hash[..16])
}

fn subtract(at: Timestamp, duration: Duration) -> Timestamp {
    Timestamp(at.0.saturating_sub(to_millis(duration)))
}

fn to_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
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
