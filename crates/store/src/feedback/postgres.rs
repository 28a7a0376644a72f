//! The statements of the table `agent_feedback`, for PostgreSQL.

use kitbag_domain::Tenant;
use sqlx::{AssertSqlSafe, QueryBuilder};

use super::{COLUMNS, FeedbackQuery, FeedbackResolution, FeedbackRow, NewFeedback};
use crate::engine::postgres::{Postgres, PostgresTransaction};
use crate::{Error, failed};

const READ: &str = "read feedback";
const WRITE: &str = "keep feedback";

pub(super) async fn count_open(
    transaction: &mut PostgresTransaction,
    tenant: &Tenant,
) -> Result<i64, Error> {
    sqlx::query_scalar(
        "SELECT count(*) FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NULL",
    )
    .bind(tenant.as_str())
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed(READ))
}

pub(super) async fn insert(
    transaction: &mut PostgresTransaction,
    feedback: &NewFeedback,
) -> Result<i64, Error> {
    sqlx::query_scalar(
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
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed(WRITE))
}

pub(super) async fn delete_oldest_resolved(
    transaction: &mut PostgresTransaction,
    tenant: &Tenant,
    most: i64,
) -> Result<(), Error> {
    sqlx::query(
        "DELETE FROM agent_feedback WHERE id IN (
             SELECT id FROM agent_feedback WHERE tenant = $1 AND resolved_at IS NOT NULL
             ORDER BY id DESC OFFSET $2)",
    )
    .bind(tenant.as_str())
    .bind(most)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}

pub(super) async fn select(
    postgres: &Postgres,
    query: &FeedbackQuery,
) -> Result<Vec<FeedbackRow>, Error> {
    fitting(query)
        .build_query_as()
        .fetch_all(&postgres.pool)
        .await
        .map_err(failed(READ))
}

fn fitting(query: &FeedbackQuery) -> QueryBuilder<sqlx::Postgres> {
    let mut select = QueryBuilder::new(format!("SELECT {COLUMNS} FROM agent_feedback WHERE TRUE"));
    if let Some(tenant) = &query.tenant {
        select.push(" AND tenant = ").push_bind(tenant.to_string());
    }
    if let Some(kind) = &query.kind {
        select.push(" AND kind = ").push_bind(kind.clone());
    }
    if let Some(open) = query.open {
        select.push(" AND (resolved_at IS NULL) = ").push_bind(open);
    }
    if let Some(before) = query.before_id {
        select.push(" AND id < ").push_bind(before);
    }
    let limit = i64::from(query.limit);
    select.push(" ORDER BY id DESC LIMIT ").push_bind(limit);
    select
}

pub(super) async fn select_one(postgres: &Postgres, id: i64) -> Result<Option<FeedbackRow>, Error> {
    let select = format!("SELECT {COLUMNS} FROM agent_feedback WHERE id = $1");
    sqlx::query_as(AssertSqlSafe(select))
        .bind(id)
        .fetch_optional(&postgres.pool)
        .await
        .map_err(failed(READ))
}

pub(super) async fn resolve(
    postgres: &Postgres,
    id: i64,
    resolution: &FeedbackResolution,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "UPDATE agent_feedback SET resolved_at = $1, resolution = $2 WHERE id = $3 AND resolved_at IS NULL",
    )
    .bind(resolution.at.0)
    .bind(resolution.note.as_deref())
    .bind(id)
    .execute(&postgres.pool)
    .await
    .map_err(failed("resolve feedback"))?;
    Ok(done.rows_affected() == 1)
}
