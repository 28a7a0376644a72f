//! `search_available_tools`: the tools for a task, one line each.

use kitbag_domain::Remedy as _;

use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{Caller, WriteClass};
use kitbag_relevance::{Candidate, Confidence, MAX_TOP_K};
use kitbag_schema::{LineDetail, signature};
use kitbag_upstream::{CallError, StartError};
use kitbag_wire::RawObject;
use serde::Deserialize;

use super::{adaptive_list, skills};
use crate::call::failure::start_error_for;
use crate::call::observe;
use crate::catalog::{Catalog, CatalogEntry};
use crate::state::gateway::Gateway;
use crate::surface::find::{DEFAULT_LIMIT, best_options, find_when_indexed};
use crate::surface::signature::api_signature;
use crate::turn::Turn;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    query: String,
    limit: Option<usize>,
}

pub(super) async fn search_tools(turn: &Turn, arguments: SearchArguments) -> String {
    let caller = &turn.client.caller;
    let limit = arguments.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_TOP_K);
    let options = best_options(caller, limit);
    let found = find_when_indexed(&turn.gateway, caller, &arguments.query, &options).await;
    let catalog = &found.catalog;
    let lines: Vec<String> = found
        .candidates
        .iter()
        .enumerate()
        .filter_map(|(rank, candidate)| found_line(&turn.gateway, caller, catalog, candidate, rank))
        .collect();
    let language = found.language_note();
    let withheld = found.withheld.counts().lines();
    let skills = skills::find_skills(turn, catalog, &arguments.query);
    if lines.is_empty() {
        let unfinished = found.unfinished.note();
        let answer = language
            .into_iter()
            .chain([unfinished.unwrap_or_else(|| NOTHING.to_owned())]);
        return answer
            .chain(withheld)
            .chain(skills)
            .collect::<Vec<_>>()
            .join("\n");
    }
    let tools = found
        .candidates
        .iter()
        .filter_map(|candidate| catalog.tool(&candidate.entry.tool_name));
    let tools: Vec<&str> = tools.map(|entry| entry.exposed.as_str()).collect();
    observe::report_search(turn, &arguments.query, tools.iter().copied());
    adaptive_list::add_found_tools(turn, tools.into_iter());
    let likelihood = found.confidence.map(format_likelihood).unwrap_or_default();
    let how =
        format!("{likelihood}Run one: call_api(tool, arguments). Its schema: discover_apis(tool).");
    language
        .into_iter()
        .chain(found.correction_note())
        .chain(found.doubt_note())
        .chain(lines)
        .chain(withheld)
        .chain(skills)
        .chain([how])
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats the probability that the tools are right, in a few tokens.
fn format_likelihood(confidence: Confidence) -> String {
    let [first, any] = [confidence.first, confidence.any].map(|it| (100.0 * it).round());
    format!("Likely right: the first {first} %, any of the first five {any} %. ")
}

/// Formats the finding of this rank in one line, as a model reads it: a tool with its copies on
/// other servers, or an HTTP API.
pub(crate) fn found_line(
    gateway: &Gateway,
    caller: &Caller,
    catalog: &Catalog,
    found: &Candidate,
    rank: usize,
) -> Option<String> {
    // A model usually calls the first.
    let detail = match rank {
        0 => LineDetail::Guided,
        _ => LineDetail::Brief,
    };
    let name = &found.entry.tool_name;
    if let Some(entry) = catalog.tool(name) {
        let line = tool_line_for(gateway, caller, entry, detail);
        return Some(format!("{line}{}", copies_note(found)));
    }
    let provider = gateway.providers.get(&name.parse().ok()?)?;
    Some(api_signature(provider.spec()))
}

/// Returns a note with the other servers that have the same tool.
pub(crate) fn copies_note(found: &Candidate) -> String {
    /// Further copies are only counted.
    const MOST: usize = 3;
    let names: Vec<&str> = found
        .copies
        .iter()
        .take(MOST)
        .map(|it| it.tool_name.as_str())
        .collect();
    match (names.as_slice(), found.copies.len().saturating_sub(MOST)) {
        ([], _) => String::new(),
        (names, 0) => format!(" [also: {}]", names.join(", ")),
        (names, more) => format!(" [also: {} and {more} more]", names.join(", ")),
    }
}

const NOTHING: &str = "No tool fits. Try other words, or browse with discover_apis.";

/// Formats a tool in one line, with warnings.
pub(super) fn tool_line(turn: &Turn, entry: &CatalogEntry, detail: LineDetail) -> String {
    tool_line_for(&turn.gateway, turn.caller(), entry, detail)
}

/// Like [`tool_line`], without a request of the caller.
pub(crate) fn tool_line_for(
    gateway: &Gateway,
    caller: &Caller,
    entry: &CatalogEntry,
    detail: LineDetail,
) -> String {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let mut line = strip_to_one_line(&signature(&entry.exposed, &definition, detail));
    match gateway.write_class(entry) {
        WriteClass::Write => line.push_str(" [writes]"),
        WriteClass::Destructive => line.push_str(" [destructive]"),
        WriteClass::Read | WriteClass::Unknown => {}
    }
    if let Some(obstacle) = tool_obstacle(gateway, caller, entry) {
        line.push_str(&format!(" [{}]", strip_to_one_line(&obstacle)));
    }
    line
}

/// Returns the reason why a tool cannot be used, and a remedy.
fn tool_obstacle(gateway: &Gateway, caller: &Caller, entry: &CatalogEntry) -> Option<String> {
    let server = gateway.upstreams.get(&entry.capability.server)?;
    let trouble = server.start_problem()?;
    Some(describe_obstacle(caller, &trouble))
}

/// Describes briefly why a server cannot be used, and what the caller can do about it.
pub(super) fn describe_obstacle(caller: &Caller, trouble: &StartError) -> String {
    let shown = start_error_for(caller, trouble);
    let advice = shown.remedy().unwrap_or_else(|| shown.to_string());
    match shown {
        CallError::Start(start) => format!("{}: {advice}", start.label()),
        _ => format!("does not work: {advice}"),
    }
}
