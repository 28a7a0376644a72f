//! The statements of the tables `priors` and `priors_runs`, for SQLite.

use sqlx::QueryBuilder;

use super::{PriorRow, PriorsRun, StoredPrior, WRITE};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

/// Well below the number of values SQLite accepts in one statement.
const ROWS_PER_STATEMENT: usize = 512;

pub(super) async fn select(sqlite: &Sqlite, namespace: &str) -> Result<Vec<PriorRow>, Error> {
    sqlx::query_as("SELECT server, name, body, updated_at FROM priors WHERE namespace = ?")
        .bind(namespace)
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed("read the priors of tools"))
}

pub(super) async fn select_run(
    sqlite: &Sqlite,
    namespace: &str,
) -> Result<Option<(i64, i64)>, Error> {
    sqlx::query_as("SELECT counted_to, counted_at FROM priors_runs WHERE namespace = ?")
        .bind(namespace)
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed("read how far the priors of tools are counted"))
}

pub(super) async fn replace(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    priors: &[StoredPrior],
) -> Result<(), Error> {
    sqlx::query("DELETE FROM priors WHERE namespace = ?")
        .bind(namespace)
        .execute(&mut **transaction)
        .await
        .map_err(failed(WRITE))?;
    for some in priors.chunks(ROWS_PER_STATEMENT) {
        insertion(namespace, some)
            .build()
            .persistent(false)
            .execute(&mut **transaction)
            .await
            .map_err(failed(WRITE))?;
    }
    Ok(())
}

fn insertion(namespace: &str, priors: &[StoredPrior]) -> QueryBuilder<sqlx::Sqlite> {
    let mut insert =
        QueryBuilder::new("INSERT INTO priors (namespace, server, name, body, updated_at) ");
    insert.push_values(priors, |mut values, prior| {
        values
            .push_bind(namespace.to_owned())
            .push_bind(prior.server.to_string())
            .push_bind(prior.name.clone())
            .push_bind(prior.body.clone())
            .push_bind(prior.updated_at.0);
    });
    insert
}

pub(super) async fn put_run(
    transaction: &mut SqliteTransaction,
    namespace: &str,
    run: PriorsRun,
) -> Result<(), Error> {
    sqlx::query(
        "INSERT INTO priors_runs (namespace, counted_to, counted_at) VALUES (?, ?, ?)
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
