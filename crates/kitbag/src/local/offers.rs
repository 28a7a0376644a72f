//! Asks for a prompt or a resource by its name, and advises near names if no server knows it.

use std::collections::{BTreeMap, BTreeSet};

use kitbag_gateway::admin::app::{App, Meanwhile};
use kitbag_gateway::admin::offers::{PromptRow, ResourceRow};
use kitbag_gateway::call::failure::Failure;
use kitbag_gateway::catalog::resources::unmark;
use kitbag_schema::near;
use kitbag_upstream::CallError;
use kitbag_wire::meta::code;
use serde_json::Value;

use crate::cli::failure::Advise as _;

pub(super) async fn prompt(
    app: &App,
    name: &str,
    arguments: &BTreeMap<String, String>,
    meanwhile: Meanwhile<'_>,
) -> anyhow::Result<Value> {
    let answer = app.prompt(name, arguments, meanwhile).await;
    advised(answer, name, "kitbag prompts", || {
        app.prompts().into_iter().map(KnownName::from).collect()
    })
}

pub(super) async fn read(app: &App, uri: &str, meanwhile: Meanwhile<'_>) -> anyhow::Result<Value> {
    let answer = app.read(uri, meanwhile).await;
    advised(answer, uri, "kitbag resources", || {
        app.resources().into_iter().map(KnownName::from).collect()
    })
}

/// A name that a person may have meant, and the way in which it is typed if several servers have
/// it.
struct KnownName {
    name: String,
    typed: String,
}

impl From<PromptRow> for KnownName {
    fn from(row: PromptRow) -> Self {
        Self {
            name: row.name.clone(),
            typed: row.name,
        }
    }
}

impl From<ResourceRow> for KnownName {
    fn from(row: ResourceRow) -> Self {
        Self {
            name: unmark(&row.uri).map_or_else(|| row.uri.clone(), |(_, own)| own.to_owned()),
            typed: row.uri,
        }
    }
}

/// Adds the names that the person probably meant to the error of a name that no server knows.
fn advised(
    answer: anyhow::Result<Value>,
    name: &str,
    list: &str,
    known: impl FnOnce() -> Vec<KnownName>,
) -> anyhow::Result<Value> {
    match answer {
        Err(error) if is_unknown(&error) => {
            Err(error).advise(|| match likely(name, &known()).as_slice() {
                [] => format!("see which there are with `{list}`"),
                likely => format!("did you mean {}?", likely.join(" or ")),
            })
        }
        answer => answer,
    }
}

fn likely<'a>(name: &str, known: &'a [KnownName]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = known
        .iter()
        .map(|it| it.name.as_str())
        .filter(|it| *it != name)
        .collect();
    let near = near(name, names.into_iter());
    near.into_iter()
        .flat_map(|name| {
            known
                .iter()
                .filter(move |it| it.name == name)
                .map(|it| it.typed.as_str())
        })
        .collect()
}

/// True if the error says that the name is unknown. If one server alone has resources, it is asked
/// for every URI, and says itself that it has no such resource.
fn is_unknown(error: &anyhow::Error) -> bool {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(Failure::UnknownPrompt { .. } | Failure::UnknownResource { .. }), _) => true,
        (_, Some(CallError::Refused { error, .. })) => {
            [code::LEGACY_RESOURCE_NOT_FOUND, code::INVALID_PARAMS].contains(&error.code)
        }
        _ => false,
    }
}
