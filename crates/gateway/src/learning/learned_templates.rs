//! Learned templates in the store: reads and updates them without losing concurrent updates of
//! other gateways.

use kitbag_domain::{Tenant, Timestamp};
use kitbag_intents::LearnedTemplate;
use kitbag_store::{Store, StoredTemplate};

/// A learned template and its tenant.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedRow {
    pub tenant: Tenant,
    pub learned: LearnedTemplate,
}

#[derive(Debug, thiserror::Error)]
pub enum LearnedError {
    #[error(transparent)]
    Store(#[from] kitbag_store::Error),
    #[error("failed to read the learned template `{id}` of `{tenant}`")]
    Unreadable {
        tenant: Tenant,
        id: String,
        source: serde_json::Error,
    },
    #[error("failed to write the learned template `{id}`")]
    Unwritable {
        id: String,
        source: serde_json::Error,
    },
}

/// Returns the learned templates of one tenant or of all, and an error for each unreadable one.
pub async fn read_all(
    store: &Store,
    tenant: Option<&Tenant>,
) -> Result<(Vec<LearnedRow>, Vec<LearnedError>), LearnedError> {
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for stored in store.learned_templates(tenant).await? {
        match parse_template(&stored) {
            Ok(learned) => rows.push(LearnedRow {
                tenant: stored.tenant,
                learned,
            }),
            Err(error) => errors.push(error),
        }
    }
    Ok((rows, errors))
}

/// Changes one learned template: `change` gets the stored template, if any, and returns the new
/// one, if any. It is called again if another gateway was faster. Returns the template that was
/// stored.
pub async fn change_template(
    store: &Store,
    tenant: &Tenant,
    id: &str,
    now: Timestamp,
    mut change: impl FnMut(Option<LearnedTemplate>) -> Option<LearnedTemplate>,
) -> Result<Option<LearnedTemplate>, LearnedError> {
    loop {
        let stored = store.learned_template(tenant, id).await?;
        let revision = stored.as_ref().map_or(0, |it| it.revision);
        let known = stored.as_ref().map(parse_template).transpose()?;
        let Some(changed) = change(known) else {
            return Ok(None);
        };
        let row = StoredTemplate {
            tenant: tenant.clone(),
            id: id.to_owned(),
            revision,
            body: to_body(&changed)?,
            updated_at: now,
        };
        if store.put_learned_template(&row).await? {
            return Ok(Some(changed));
        }
    }
}

fn parse_template(stored: &StoredTemplate) -> Result<LearnedTemplate, LearnedError> {
    serde_json::from_str(&stored.body).map_err(|source| LearnedError::Unreadable {
        tenant: stored.tenant.clone(),
        id: stored.id.clone(),
        source,
    })
}

fn to_body(learned: &LearnedTemplate) -> Result<String, LearnedError> {
    serde_json::to_string(learned).map_err(|source| LearnedError::Unwritable {
        id: learned.id().to_owned(),
        source,
    })
}
