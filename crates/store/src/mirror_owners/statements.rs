//! The statements of the table `mirror_owners`.

use kitbag_domain::Timestamp;

use super::{FIND, OwnerRow};
use crate::Error;
use crate::engine::{Engine, Transaction};

const SELECT_OWNER: &str = "SELECT namespace, used_at FROM mirror_owners WHERE configuration = $1";
const CLAIM: &str = "claim a mirror";

pub(super) async fn select_owner(
    engine: &Engine,
    configuration: &str,
) -> Result<Option<OwnerRow>, Error> {
    engine
        .query(SELECT_OWNER)
        .bind(configuration)
        .fetch_optional(FIND)
        .await
}

/// Lets one transaction at a time claim a mirror, so that two configurations do not get the same.
pub(super) async fn lock_and_select_owner(
    transaction: &mut Transaction,
    configuration: &str,
) -> Result<Option<OwnerRow>, Error> {
    transaction.lock("mirror owners", FIND).await?;
    transaction
        .query(SELECT_OWNER)
        .bind(configuration)
        .fetch_optional(FIND)
        .await
}

pub(super) async fn select_other_mirrors(
    engine: &Engine,
    namespace: &str,
) -> Result<Vec<String>, Error> {
    engine
        .query(
            "SELECT value FROM mirror JOIN mirror_owners USING (namespace) WHERE namespace <> $1
             ORDER BY namespace, name",
        )
        .bind(namespace)
        .fetch_scalars("read the mirrors of other configurations")
        .await
}

/// Records that the configuration uses this mirror now.
pub(super) async fn put_owner(
    transaction: &mut Transaction,
    namespace: &str,
    configuration: &str,
    at: Timestamp,
) -> Result<(), Error> {
    transaction
        .query(
            "INSERT INTO mirror_owners (namespace, configuration, used_at) VALUES ($1, $2, $3)
             ON CONFLICT (namespace) DO UPDATE SET used_at = excluded.used_at",
        )
        .bind(namespace)
        .bind(configuration)
        .bind(at.0)
        .execute(CLAIM)
        .await
        .map(drop)
}

pub(super) async fn is_claimed(
    transaction: &mut Transaction,
    namespace: &str,
) -> Result<bool, Error> {
    transaction
        .query("SELECT EXISTS (SELECT 1 FROM mirror_owners WHERE namespace = $1)")
        .bind(namespace)
        .fetch_scalar(CLAIM)
        .await
}

/// Deletes the mirrors that no gateway has used since then, and their priors.
pub(super) async fn delete_unused_mirrors(
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
