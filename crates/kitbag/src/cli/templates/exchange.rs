//! Exports and imports templates.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use kitbag_domain::{Action, Event, Tenant};
use kitbag_gateway::learning::learned_templates;
use kitbag_gateway::state::clock::now;
use kitbag_intents::{IntentTemplate, LearnedTemplate};
use kitbag_store::Store;
use serde_json::json;

use super::lookup::KnownTemplates;
use crate::cli::Invocation;
use crate::cli::failure::{Advise as _, with_own_remedy};
use crate::cli::new_file::write_new;
use crate::trail;

pub(super) fn export(
    template: &IntentTemplate,
    output: Option<&Path>,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let text = template.to_toml()?;
    let Some(path) = output else {
        return invocation.output.print(&text);
    };
    write_new(path, &text)?;
    let report = json!({ "name": template.name(), "file": path });
    invocation.show(&report, |_| {
        format!("Wrote {} to {}", template.name(), path.display())
    })
}

/// Imports a template as a candidate: a file by another author must not run before the operator has
/// reviewed it.
pub(super) async fn import(
    path: &Path,
    tenant: &Tenant,
    lookup: &KnownTemplates,
    store: &Store,
    invocation: &Invocation,
) -> anyhow::Result<()> {
    let template = read(path)?;
    let name = template.name().clone();
    if lookup.is_taken(&name, tenant) {
        return Err(anyhow!("template `{name}` already exists"))
            .advise(|| "change the name in the file".to_owned());
    }
    let imported = LearnedTemplate::from_import(template, now());
    let added = learned_templates::change_template(store, tenant, imported.id(), now(), |before| {
        before.is_none().then(|| imported.clone())
    });
    if added.await?.is_none() {
        return Err(anyhow!("a template with the same program already exists"))
            .advise(|| format!("to show it: kitbag templates show {}", imported.id()));
    }
    let event = trail::change_event(
        "kitbag templates import",
        Action::TemplateImported,
        name.as_str(),
    );
    let owner = Some(tenant.clone());
    let event = Event {
        tenant: owner,
        ..event
    };
    trail::record_event(store, event).await?;
    let report = json!({ "name": name, "tenant": tenant, "state": "candidate" });
    invocation.show(&report, |_| {
        format!(
            "Imported {name} for tenant `{tenant}`. It is inactive until approved: review it with `kitbag templates show \
             {name}`, then run `kitbag templates approve {name}`"
        )
    })
}

fn read(path: &Path) -> anyhow::Result<IntentTemplate> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .advise(|| "pass a file written by `kitbag templates export`".to_owned())?;
    IntentTemplate::from_toml(path, &text).map_err(with_own_remedy)
}
