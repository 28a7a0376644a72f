//! The statements of the table `mirror_owners`, for PostgreSQL.

use kitbag_domain::Timestamp;

use super::{FIND, OwnerRow};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

pub(super) async fn select(
    postgres: &Postgres,
    configuration: &str,
) -> Result<Option<OwnerRow>, Error> {
    owned(&postgres.pool, configuration).await
}

/// Lets one transaction at a time claim a mirror, so that two configurations do not get the same.
pub(super) async fn lock_and_select(
    transaction: &mut PostgresTransaction,
    configuration: &str,
) -> Result<Option<OwnerRow>, Error> {
    transaction.lock("mirror owners", FIND).await?;
    owned(&mut **transaction, configuration).await
}

async fn owned(
    database: impl sqlx::Executor<'_, Database = sqlx::Postgres>,
    configuration: &str,
) -> Result<Option<OwnerRow>, Error> {
    sqlx::query_as("SELECT namespace, used_at FROM mirror_owners WHERE configuration = $1")
        .bind(configuration)
        .fetch_optional(database)
        .await
        .map_err(failed(FIND))
}

pub(super) async fn select_elsewhere(
    postgres: &Postgres,
    namespace: &str,
) -> Result<Vec<String>, Error> {
    sqlx::query_scalar(
        "SELECT value FROM mirror JOIN mirror_owners USING (namespace) WHERE namespace <> $1
         ORDER BY namespace, name",
    )
    .bind(namespace)
    .fetch_all(&postgres.pool)
    .await
    .map_err(failed("read the mirrors of other configurations"))
}

/// Notes that the configuration uses its mirror.
pub(super) async fn claim(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    configuration: &str,
    at: Timestamp,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO mirror_owners (namespace, configuration, used_at) VALUES ($1, $2, $3)
         ON CONFLICT (namespace) DO UPDATE SET used_at = excluded.used_at",
    )
    .bind(namespace)
    .bind(configuration)
    .bind(at.0)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed("claim a mirror"))
}

pub(super) async fn is_taken(
    transaction: &mut PostgresTransaction,
    namespace: &str,
) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM mirror_owners WHERE namespace = $1)")
        .bind(namespace)
        .fetch_one(&mut **transaction)
        .await
        .map_err(failed("claim a mirror"))
}

/// Removes the mirrors that were not used since that moment.
pub(super) async fn forget(
    transaction: &mut PostgresTransaction,
    since: Timestamp,
) -> Result<(), Error> {
    for statement in [
        "DELETE FROM mirror WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM priors WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM priors_runs WHERE namespace IN (SELECT namespace FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM properties WHERE name IN
         (SELECT namespace || ':priors_updated_at' FROM mirror_owners WHERE used_at < $1)",
        "DELETE FROM mirror_owners WHERE used_at < $1",
    ] {
        sqlx::query(statement)
            .bind(since.0)
            .execute(&mut **transaction)
            .await
            .map_err(failed("forget the mirrors of configurations that are gone"))?;
    }
    Ok(())
}
