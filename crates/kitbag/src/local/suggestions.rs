//! Suggests similar names when a prompt or a resource is unknown.

use std::collections::BTreeSet;

use kitbag_domain::near_names;
use kitbag_gateway::admin::offers::{PromptRow, ResourceRow};
use kitbag_gateway::call::failure::Failure;
use kitbag_gateway::catalog::resources::parse_marked_uri;
use kitbag_upstream::CallError;
use kitbag_wire::meta::code;
use serde_json::Value;

use crate::cli::failure::Advise as _;

/// A name to suggest, and the form to type it in if several servers have it.
pub(super) struct KnownName {
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
            name: parse_marked_uri(&row.uri)
                .map_or_else(|| row.uri.clone(), |(_, own)| own.to_owned()),
            typed: row.uri,
        }
    }
}

/// If the error is about an unknown name, adds similar names to it.
pub(super) fn suggest_names(
    answer: anyhow::Result<Value>,
    name: &str,
    list: &str,
    known: impl FnOnce() -> Vec<KnownName>,
) -> anyhow::Result<Value> {
    match answer {
        Err(error) if is_unknown(&error) => {
            Err(error).advise(|| match similar_names(name, &known()).as_slice() {
                [] => format!("list them with `{list}`"),
                similar => format!("did you mean {}?", similar.join(" or ")),
            })
        }
        answer => answer,
    }
}

fn similar_names<'a>(name: &str, known: &'a [KnownName]) -> Vec<&'a str> {
    let names: BTreeSet<&str> = known
        .iter()
        .map(|it| it.name.as_str())
        .filter(|it| *it != name)
        .collect();
    let near = near_names(name, names.into_iter());
    near.into_iter()
        .flat_map(|name| {
            known
                .iter()
                .filter(move |it| it.name == name)
                .map(|it| it.typed.as_str())
        })
        .collect()
}

/// True if the gateway or the server does not know the name. If only one server has resources, it
/// gets every URI and rejects the unknown ones itself.
fn is_unknown(error: &anyhow::Error) -> bool {
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(Failure::UnknownPrompt { .. } | Failure::UnknownResource { .. }), _) => true,
        (_, Some(CallError::Refused { error, .. })) => {
            [code::LEGACY_RESOURCE_NOT_FOUND, code::INVALID_PARAMS].contains(&error.code)
        }
        _ => false,
    }
}
