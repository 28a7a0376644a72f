//! The statements of the tables `priors` and `priors_runs`.

use super::{PriorRow, PriorsRun, StoredPrior, WRITE};
use crate::Error;
use crate::engine::{Engine, Transaction};

/// Keeps the number of values in a statement well below the limits of both engines.
const ROWS_PER_STATEMENT: usize = 512;

pub(super) async fn select_priors(
    engine: &Engine,
    namespace: &str,
) -> Result<Vec<PriorRow>, Error> {
    engine
        .query("SELECT server, name, body, updated_at FROM priors WHERE namespace = $1")
        .bind(namespace)
        .fetch_all("read the priors of tools")
        .await
}

pub(super) async fn select_run(
    engine: &Engine,
    namespace: &str,
) -> Result<Option<(i64, i64)>, Error> {
    engine
        .query("SELECT counted_to, counted_at FROM priors_runs WHERE namespace = $1")
        .bind(namespace)
        .fetch_optional("read the last run over the audit")
        .await
}

pub(super) async fn replace_priors(
    transaction: &mut Transaction,
    namespace: &str,
    priors: &[StoredPrior],
) -> Result<(), Error> {
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
    Ok(())
}

pub(super) async fn put_run(
    transaction: &mut Transaction,
    namespace: &str,
    run: PriorsRun,
) -> Result<(), Error> {
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
        .await
        .map(drop)
}
