//! The statements of the table `learned_templates`, for SQLite.

use kitbag_domain::Tenant;

use super::{StoredTemplate, TemplateRow};
use crate::engine::sqlite::Sqlite;
use crate::{Error, failed};

const WRITE: &str = "remember a learned template";
const READ: &str = "recall learned templates";

pub(super) async fn insert(sqlite: &Sqlite, template: &StoredTemplate) -> Result<bool, Error> {
    let done = sqlx::query(
        "INSERT INTO learned_templates (tenant, id, revision, body, updated_at) VALUES (?, ?, 1, ?, ?)
         ON CONFLICT (tenant, id) DO NOTHING",
    )
    .bind(template.tenant.as_str())
    .bind(&template.id)
    .bind(&template.body)
    .bind(template.updated_at.0)
    .execute(&sqlite.writer)
    .await
    .map_err(failed(WRITE))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn update(sqlite: &Sqlite, template: &StoredTemplate) -> Result<bool, Error> {
    let done = sqlx::query(
        "UPDATE learned_templates SET revision = revision + 1, body = ?, updated_at = ?
         WHERE tenant = ? AND id = ? AND revision = ?",
    )
    .bind(&template.body)
    .bind(template.updated_at.0)
    .bind(template.tenant.as_str())
    .bind(&template.id)
    .bind(template.revision)
    .execute(&sqlite.writer)
    .await
    .map_err(failed(WRITE))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn select(
    sqlite: &Sqlite,
    tenant: &Tenant,
    id: &str,
) -> Result<Option<TemplateRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, id, revision, body, updated_at FROM learned_templates
         WHERE tenant = ? AND id = ?",
    )
    .bind(tenant.as_str())
    .bind(id)
    .fetch_optional(&sqlite.reader)
    .await
    .map_err(failed(READ))
}

pub(super) async fn select_all(
    sqlite: &Sqlite,
    tenant: Option<&Tenant>,
) -> Result<Vec<TemplateRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, id, revision, body, updated_at FROM learned_templates
         WHERE ?1 IS NULL OR tenant = ?1 ORDER BY tenant, id",
    )
    .bind(tenant.map(Tenant::as_str))
    .fetch_all(&sqlite.reader)
    .await
    .map_err(failed(READ))
}

pub(super) async fn delete(sqlite: &Sqlite, tenant: &Tenant, id: &str) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM learned_templates WHERE tenant = ? AND id = ?")
        .bind(tenant.as_str())
        .bind(id)
        .execute(&sqlite.writer)
        .await
        .map_err(failed("remove a learned template"))?;
    Ok(done.rows_affected() > 0)
}
