//! The statements of the tables `priors` and `priors_runs`, for PostgreSQL.

use super::{PriorRow, PriorsRun, StoredPrior, WRITE};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

pub(super) async fn select(postgres: &Postgres, namespace: &str) -> Result<Vec<PriorRow>, Error> {
    sqlx::query_as("SELECT server, name, body, updated_at FROM priors WHERE namespace = $1")
        .bind(namespace)
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed("read the priors of tools"))
}

pub(super) async fn select_run(
    postgres: &Postgres,
    namespace: &str,
) -> Result<Option<(i64, i64)>, Error> {
    sqlx::query_as("SELECT counted_to, counted_at FROM priors_runs WHERE namespace = $1")
        .bind(namespace)
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed("read how far the priors of tools are counted"))
}

pub(super) async fn replace(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    priors: &[StoredPrior],
) -> Result<(), Error> {
    sqlx::query("DELETE FROM priors WHERE namespace = $1")
        .bind(namespace)
        .execute(&mut **transaction)
        .await
        .map_err(failed(WRITE))?;
    sqlx::query(
        "INSERT INTO priors (namespace, server, name, body, updated_at)
         SELECT $1, server, name, body, updated_at
         FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[])
             AS new (server, name, body, updated_at)",
    )
    .bind(namespace)
    .bind(column(priors, |it| it.server.to_string()))
    .bind(column(priors, |it| it.name.clone()))
    .bind(column(priors, |it| it.body.clone()))
    .bind(column(priors, |it| it.updated_at.0))
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}

fn column<T>(priors: &[StoredPrior], value: impl Fn(&StoredPrior) -> T) -> Vec<T> {
    priors.iter().map(value).collect()
}

pub(super) async fn put_run(
    transaction: &mut PostgresTransaction,
    namespace: &str,
    run: PriorsRun,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO priors_runs (namespace, counted_to, counted_at) VALUES ($1, $2, $3)
         ON CONFLICT (namespace) DO UPDATE
         SET counted_to = excluded.counted_to, counted_at = excluded.counted_at",
    )
    .bind(namespace)
    .bind(run.counted_to)
    .bind(run.counted_at.0)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}
