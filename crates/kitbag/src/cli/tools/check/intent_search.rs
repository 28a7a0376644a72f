//! Checks that every tool is found by its own intents, among all others.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use kitbag_gateway::index::detached::DetachedIndex;
use kitbag_gateway::index::priors::Priors;
use kitbag_gateway::index::source::{IndexSource, ToolSource};
use kitbag_gateway::state::clock::now;
use kitbag_relevance::{Candidate, Options};
use kitbag_tool_files::{CheckFinding, CheckId, ToolFile};

use super::sources::CheckSources;
use crate::cli::Invocation;
use crate::cli::eval::read_tools;
use crate::cli::index::format_progress;
use crate::cli::output::pluralize;

/// The worst rank that passes.
const MAX_RANK: usize = 3;

/// The outcome of all searches.
pub(super) struct IntentSearch {
    pub(super) findings: Vec<CheckFinding>,
    pub(super) intents: usize,
    /// Number of searched tools.
    pub(super) among: usize,
}

pub(super) async fn search(
    sources: &CheckSources,
    distractors: &[PathBuf],
    invocation: &Invocation,
) -> anyhow::Result<IntentSearch> {
    let tools: Vec<&Arc<ToolFile>> = sources.sources.iter().flat_map(|it| &it.tools).collect();
    let searched = index_sources(sources, distractors)?;
    let progress = invocation.output.progress("Checking");
    let mut search = IntentSearch {
        findings: Vec::new(),
        intents: tools.iter().map(|tool| tool.intents.len()).sum(),
        among: searched.len(),
    };
    if search.intents == 0 {
        return Ok(search);
    }
    let index = DetachedIndex::build(searched, |done, total| {
        progress.update(&format_progress(done, total));
    });
    let index = index.await?;
    let options = Options {
        top_k: MAX_RANK,
        ..Options::default()
    };
    let all = pluralize(search.intents, "intent");
    let intents = tools
        .iter()
        .flat_map(|tool| tool.intents.iter().map(move |intent| (tool, intent)));
    for (number, (tool, intent)) in intents.enumerate() {
        progress.update(&format!("Searching: {number} of {all}"));
        let found = index.find(intent, &options).await?;
        if !found.iter().any(|it| matches_tool(it, tool)) {
            search.findings.push(miss_finding(tool, intent, &found));
        }
    }
    Ok(search)
}

/// Returns each tool once, checked tools first.
fn index_sources(
    sources: &CheckSources,
    distractors: &[PathBuf],
) -> anyhow::Result<Vec<IndexSource>> {
    let checked = sources.sources.iter().flat_map(|it| &it.tools);
    let files = checked.chain(&sources.others);
    let mut tools: Vec<ToolSource> = files.map(|it| ToolSource::from_tool_file(it)).collect();
    for folder in distractors {
        tools.extend(read_tools(folder, &[])?);
    }
    let mut seen = HashSet::new();
    tools.retain(|tool| seen.insert(tool.exposed.clone()));
    let now = now();
    let sources = tools.into_iter();
    Ok(sources
        .map(|tool| tool.into_source(Priors::default(), now))
        .collect())
}

/// The same tool on another server counts.
fn matches_tool(candidate: &Candidate, tool: &ToolFile) -> bool {
    let mut entries = std::iter::once(&candidate.entry).chain(&candidate.copies);
    entries.any(|it| it.tool_name == tool.name.as_str())
}

fn miss_finding(tool: &ToolFile, intent: &str, found: &[Candidate]) -> CheckFinding {
    let names: Vec<String> = found
        .iter()
        .map(|it| format!("`{}`", it.entry.tool_name))
        .collect();
    let instead = match names.as_slice() {
        [] => "no results".to_owned(),
        names => format!("found {}", names.join(", ")),
    };
    CheckFinding {
        check: CheckId::Intents,
        file: tool.path.clone(),
        line: Some(find_line(tool, intent)),
        message: format!(
            "`{}` is not among the top three for \"{intent}\"; {instead}",
            tool.name
        ),
        advice: Some("use the users' words in the description, or replace the intent".to_owned()),
    }
}

/// Returns the line of the intent.
fn find_line(tool: &ToolFile, intent: &str) -> usize {
    let mut lines = tool.source().lines();
    match lines.position(|line| line.contains(intent)) {
        Some(line) => line + 1,
        None => tool.line("intents"),
    }
}
