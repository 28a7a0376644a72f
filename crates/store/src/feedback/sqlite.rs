//! The statements of the table `agent_feedback`, for SQLite.

use kitbag_domain::Tenant;
use sqlx::{AssertSqlSafe, QueryBuilder};

use super::{COLUMNS, FeedbackQuery, FeedbackResolution, FeedbackRow, NewFeedback};
use crate::engine::sqlite::{Sqlite, SqliteTransaction};
use crate::{Error, failed};

const READ: &str = "read feedback";
const WRITE: &str = "keep feedback";

pub(super) async fn count_open(
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
) -> Result<i64, Error> {
    sqlx::query_scalar(
        "SELECT count(*) FROM agent_feedback WHERE tenant = ? AND resolved_at IS NULL",
    )
    .bind(tenant.as_str())
    .fetch_one(&mut **transaction)
    .await
    .map_err(failed(READ))
}

pub(super) async fn insert(
    transaction: &mut SqliteTransaction,
    feedback: &NewFeedback,
) -> Result<i64, Error> {
    sqlx::query_scalar(
        "INSERT INTO agent_feedback (tenant, key_id, client, at, kind, severity, tool, summary, details)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
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
    transaction: &mut SqliteTransaction,
    tenant: &Tenant,
    most: i64,
) -> Result<(), Error> {
    sqlx::query(
        "DELETE FROM agent_feedback WHERE id IN (
             SELECT id FROM agent_feedback WHERE tenant = ? AND resolved_at IS NOT NULL
             ORDER BY id DESC LIMIT -1 OFFSET ?)",
    )
    .bind(tenant.as_str())
    .bind(most)
    .execute(&mut **transaction)
    .await
    .map(drop)
    .map_err(failed(WRITE))
}

pub(super) async fn select(
    sqlite: &Sqlite,
    query: &FeedbackQuery,
) -> Result<Vec<FeedbackRow>, Error> {
    fitting(query)
        .build_query_as()
        .fetch_all(&sqlite.reader)
        .await
        .map_err(failed(READ))
}

fn fitting(query: &FeedbackQuery) -> QueryBuilder<sqlx::Sqlite> {
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

pub(super) async fn select_one(sqlite: &Sqlite, id: i64) -> Result<Option<FeedbackRow>, Error> {
    let select = format!("SELECT {COLUMNS} FROM agent_feedback WHERE id = ?");
    sqlx::query_as(AssertSqlSafe(select))
        .bind(id)
        .fetch_optional(&sqlite.reader)
        .await
        .map_err(failed(READ))
}

pub(super) async fn resolve(
    sqlite: &Sqlite,
    id: i64,
    resolution: &FeedbackResolution,
) -> Result<bool, Error> {
    let done = sqlx::query(
        "UPDATE agent_feedback SET resolved_at = ?, resolution = ? WHERE id = ? AND resolved_at IS NULL",
    )
    .bind(resolution.at.0)
    .bind(resolution.note.as_deref())
    .bind(id)
    .execute(&sqlite.writer)
    .await
    .map_err(failed("resolve feedback"))?;
    Ok(done.rows_affected() == 1)
}
