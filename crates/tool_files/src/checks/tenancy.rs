//! Check 03: the tenant comes from the caller's credential, never from an argument.

use super::walk::visit_parts;
use super::{CheckFinding, CheckId, tool_finding};
use crate::file::schema::properties;
use crate::file::{ToolAction, ToolFile};

pub(super) fn check(tool: &ToolFile) -> Vec<CheckFinding> {
    let actions = tool.actions.iter();
    actions
        .flat_map(|action| check_action(tool, action))
        .collect()
}

fn check_action(tool: &ToolFile, action: &ToolAction) -> Vec<CheckFinding> {
    let parts = visit_parts(&action.input);
    let names = parts.iter().flat_map(|part| properties(part.schema));
    names
        .map(|(name, _)| name)
        .filter(|name| names_a_tenant(name) && !tool.not_tenancy.contains(name))
        .map(|name| {
            tool_finding(
                CheckId::Tenancy,
                tool,
                action.line_in_input(&format!("\"{name}\"")),
                format!("action `{}` takes `{name}` as an argument", action.name),
                format!(
                    "remove it: each tenant has its own credential; if it names something else at the provider, write not_tenancy \
                     = [\"{name}\"]"
                ),
            )
        })
        .collect()
}

/// True for a name like `tenant_id`, `orgId` or `workspace_id`.
pub(crate) fn names_a_tenant(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let whole = ["org", "organization", "organisation"];
    let of_whole = whole.iter().any(|word| {
        plain.strip_prefix(word).is_some_and(|rest| {
            matches!(rest, "" | "id" | "ids" | "uuid" | "name" | "slug" | "key")
        })
    });
    // By themselves, these words often name something else at the provider; with an id, they
    // name the owner of the data.
    let by_id = ["account", "workspace"].iter().any(|word| {
        let rest = plain.strip_prefix(word);
        rest.is_some_and(|rest| matches!(rest, "id" | "ids" | "uuid" | "slug" | "key"))
    });
    plain.starts_with("tenant") || plain.ends_with("tenantid") || of_whole || by_id
}
