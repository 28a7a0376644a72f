//! The statements of the table `learned_templates`, for PostgreSQL.

use kitbag_domain::Tenant;

use super::{StoredTemplate, TemplateRow};
use crate::engine::postgres::Postgres;
use crate::{Error, failed};

const WRITE: &str = "remember a learned template";
const READ: &str = "recall learned templates";

pub(super) async fn insert(postgres: &Postgres, template: &StoredTemplate) -> Result<bool, Error> {
    let done = sqlx::query(
        "INSERT INTO learned_templates (tenant, id, revision, body, updated_at) VALUES ($1, $2, 1, $3, $4)
         ON CONFLICT (tenant, id) DO NOTHING",
    )
    .bind(template.tenant.as_str())
    .bind(&template.id)
    .bind(&template.body)
    .bind(template.updated_at.0)
    .execute(&postgres.pool)
    .await
    .map_err(failed(WRITE))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn update(postgres: &Postgres, template: &StoredTemplate) -> Result<bool, Error> {
    let done = sqlx::query(
        "UPDATE learned_templates SET revision = revision + 1, body = $1, updated_at = $2
         WHERE tenant = $3 AND id = $4 AND revision = $5",
    )
    .bind(&template.body)
    .bind(template.updated_at.0)
    .bind(template.tenant.as_str())
    .bind(&template.id)
    .bind(template.revision)
    .execute(&postgres.pool)
    .await
    .map_err(failed(WRITE))?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn select(
    postgres: &Postgres,
    tenant: &Tenant,
    id: &str,
) -> Result<Option<TemplateRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, id, revision, body, updated_at FROM learned_templates
         WHERE tenant = $1 AND id = $2",
    )
    .bind(tenant.as_str())
    .bind(id)
    .fetch_optional(&postgres.pool)
    .await
    .map_err(failed(READ))
}

pub(super) async fn select_all(
    postgres: &Postgres,
    tenant: Option<&Tenant>,
) -> Result<Vec<TemplateRow>, Error> {
    sqlx::query_as(
        "SELECT tenant, id, revision, body, updated_at FROM learned_templates
         WHERE $1::text IS NULL OR tenant = $1 ORDER BY tenant, id",
    )
    .bind(tenant.map(Tenant::as_str))
    .fetch_all(&postgres.pool)
    .await
    .map_err(failed(READ))
}

pub(super) async fn delete(postgres: &Postgres, tenant: &Tenant, id: &str) -> Result<bool, Error> {
    let done = sqlx::query("DELETE FROM learned_templates WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(id)
        .execute(&postgres.pool)
        .await
        .map_err(failed("remove a learned template"))?;
    Ok(done.rows_affected() > 0)
}
