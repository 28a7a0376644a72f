//! The statements of the table `agent_feedback`.

use kitbag_domain::Tenant;

use super::{COLUMNS, FeedbackQuery, FeedbackResolution, FeedbackRow, NewFeedback};
use crate::Error;
use crate::engine::{Engine, Transaction};

const READ: &str = "read feedback";
const WRITE: &str = "store feedback";

pub(super) async fn count_open(
    transaction: &mut Transaction,
    tenant: &Tenant,
) -> Result<i64, Error> {
    transaction
        .query("SELECT count(*) FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NULL")
        .bind(tenant.as_str())
        .fetch_scalar(READ)
        .await
}

/// Returns the id of the new row.
pub(super) async fn insert_feedback(
    transaction: &mut Transaction,
    feedback: &NewFeedback,
) -> Result<i64, Error> {
    transaction
        .query(
            "INSERT INTO agent_feedback (tenant, key_id, client, at, kind, severity, tool, summary, details)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id",
        )
        .bind(feedback.tenant.as_str())
        .bind(feedback.key.as_ref().map(|key| key.0.as_str()))
        .bind(feedback.client.as_deref())
        .bind(feedback.at.0)
        .bind(&feedback.kind)
        .bind(feedback.severity.as_deref())
        .bind(feedback.tool.as_deref())
        .bind(&feedback.summary)
        .bind(feedback.details.as_deref())
        .fetch_scalar(WRITE)
        .await
}

/// Keeps the newest resolved reports of the tenant, at most this many, and deletes the older ones.
pub(super) async fn delete_oldest_resolved(
    transaction: &mut Transaction,
    tenant: &Tenant,
    max_resolved: i64,
) -> Result<(), Error> {
    transaction
        .query(
            "DELETE FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NOT NULL AND id <= (
                 SELECT id FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NOT NULL
                 ORDER BY id DESC LIMIT 1 OFFSET $2)",
        )
        .bind(tenant.as_str())
        .bind(max_resolved)
        .execute(WRITE)
        .await
        .map(drop)
}

pub(super) async fn select_page(
    engine: &Engine,
    query: &FeedbackQuery,
) -> Result<Vec<FeedbackRow>, Error> {
    engine
        .query("SELECT ")
        .push(COLUMNS)
        .push(" FROM agent_feedback WHERE TRUE")
        .push_filter(" AND tenant = ", query.tenant.as_ref().map(Tenant::as_str))
        .push_filter(" AND kind = ", query.kind.as_deref())
        .push_filter(" AND (resolved_at IS NULL) = ", query.open)
        .push_filter(" AND id < ", query.before_id)
        .push_bind(" ORDER BY id DESC LIMIT ", i64::from(query.limit))
        .fetch_all(READ)
        .await
}

pub(super) async fn select_feedback(
    engine: &Engine,
    id: i64,
) -> Result<Option<FeedbackRow>, Error> {
    engine
        .query("SELECT ")
        .push(COLUMNS)
        .push_bind(" FROM agent_feedback WHERE id = ", id)
        .fetch_optional(READ)
        .await
}

/// Returns true if there is such a report and it was open.
pub(super) async fn resolve_feedback(
    engine: &Engine,
    id: i64,
    resolution: &FeedbackResolution,
) -> Result<bool, Error> {
    let updated = engine
        .query(
            "UPDATE agent_feedback SET resolved_at = $1, resolution = $2
             WHERE id = $3 AND resolved_at IS NULL",
        )
        .bind(resolution.at.0)
        .bind(resolution.note.as_deref())
        .bind(id)
        .execute("resolve feedback")
        .await?;
    Ok(updated == 1)
}
