//! Tools from tool files by provider, with their endpoints, for `discover_apis`.

use std::collections::BTreeMap;

use kitbag_tool_files::ToolAction;

use super::groups;
use super::search::tool_line;
use crate::catalog::CatalogEntry;
use crate::catalog::tool_files::FileTool;
use crate::turn::Turn;
use kitbag_schema::LineDetail;

/// Returns a line for each provider with tools that the caller may see.
pub(super) fn provider_lines(turn: &Turn) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, tool) in visible_file_tools(turn) {
        *counts.entry(&tool.file.provider).or_default() += 1;
    }
    let lines = counts.into_iter();
    lines
        .map(|(provider, count)| format!("{provider} · {}", groups::format_tool_count(count)))
        .collect()
}

/// Returns the tools of one provider with their endpoints; `None` if there are no tools.
pub(super) fn lines_of_provider(turn: &Turn, provider: &str) -> Option<String> {
    let tools = visible_file_tools(turn).filter(|(_, tool)| tool.file.provider == provider);
    let lines: Vec<String> = tools
        .flat_map(|(entry, tool)| tool_lines(turn, entry, tool))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(super) fn provider_names(turn: &Turn) -> impl Iterator<Item = &str> {
    visible_file_tools(turn).map(|(_, tool)| tool.file.provider.as_str())
}

fn visible_file_tools(turn: &Turn) -> impl Iterator<Item = (&CatalogEntry, &FileTool)> {
    groups::visible_tools(turn).filter_map(|entry| Some((entry, entry.tool_file.as_deref()?)))
}

fn tool_lines(turn: &Turn, entry: &CatalogEntry, tool: &FileTool) -> Vec<String> {
    let endpoints = tool.file.actions.iter().map(endpoint_line);
    std::iter::once(tool_line(turn, entry, LineDetail::Brief))
        .chain(endpoints)
        .collect()
}

fn endpoint_line(action: &ToolAction) -> String {
    let ToolAction {
        name, description, ..
    } = action;
    match &action.request {
        Some(request) => format!(
            "  {name} · {} {} · {description}",
            request.method, request.path
        ),
        None => format!("  {name} · {description}"),
    }
}
