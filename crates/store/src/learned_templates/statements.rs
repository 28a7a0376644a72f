//! The statements of the table `learned_templates`.

use kitbag_domain::Tenant;

use super::{StoredTemplate, TemplateRow};
use crate::Error;
use crate::engine::Engine;

const WRITE: &str = "store a learned template";
const READ: &str = "read learned templates";

/// Returns true if the row was new and was inserted.
pub(super) async fn insert_template(
    engine: &Engine,
    template: &StoredTemplate,
) -> Result<bool, Error> {
    let inserted = engine
        .query(
            "INSERT INTO learned_templates (tenant, id, revision, body, updated_at) VALUES ($1, $2, 1, $3, $4)
             ON CONFLICT (tenant, id) DO NOTHING",
        )
        .bind(template.tenant.as_str())
        .bind(&template.id)
        .bind(&template.body)
        .bind(template.updated_at.0)
        .execute(WRITE)
        .await?;
    Ok(inserted == 1)
}

/// Returns true if the row still had the expected revision and was updated.
pub(super) async fn update_template(
    engine: &Engine,
    template: &StoredTemplate,
) -> Result<bool, Error> {
    let updated = engine
        .query(
            "UPDATE learned_templates SET revision = revision + 1, body = $1, updated_at = $2
             WHERE tenant = $3 AND id = $4 AND revision = $5",
        )
        .bind(&template.body)
        .bind(template.updated_at.0)
        .bind(template.tenant.as_str())
        .bind(&template.id)
        .bind(template.revision)
        .execute(WRITE)
        .await?;
    Ok(updated == 1)
}

pub(super) async fn select_template(
    engine: &Engine,
    tenant: &Tenant,
    id: &str,
) -> Result<Option<TemplateRow>, Error> {
    engine
        .query(
            "SELECT tenant, id, revision, body, updated_at FROM learned_templates
             WHERE tenant = $1 AND id = $2",
        )
        .bind(tenant.as_str())
        .bind(id)
        .fetch_optional(READ)
        .await
}

pub(super) async fn select_templates(
    engine: &Engine,
    tenant: Option<&Tenant>,
) -> Result<Vec<TemplateRow>, Error> {
    engine
        .query("SELECT tenant, id, revision, body, updated_at FROM learned_templates")
        .push_filter(" WHERE tenant = ", tenant.map(Tenant::as_str))
        .push(" ORDER BY tenant, id")
        .fetch_all(READ)
        .await
}
