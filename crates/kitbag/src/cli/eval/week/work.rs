//! The work of the week: tasks in several wordings with their calls, and unrelated searches. All texts
//! are embedded before the week begins.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use kitbag_gateway::index::CapabilityIndex;
use kitbag_gateway::index::embedded_query::EmbeddedQuery;
use kitbag_gateway::learning::arguments;
use kitbag_relevance::learning::event::CallArguments;
use kitbag_relevance::{Experience, Index, Options, Query, retrieve};
use serde::Deserialize;
use serde_json::Value;

use super::super::sets::{QueryLine, embed_request, index_tools, read_lines, read_tools};
use super::observed::NOW;
use crate::cli::progress::ProgressDisplay;

pub(super) struct Work {
    pub(super) index: Index,
    pub(super) servers: usize,
    pub(super) tasks: Vec<Task>,
    /// Searches unrelated to the tasks.
    pub(super) unrelated: Vec<String>,
    /// Searches for other tools of the servers, with the right tool.
    pub(super) neighbours: Vec<QueryLine>,
    intents: HashMap<String, EmbeddedQuery>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Task {
    /// Wordings that clients use.
    pub(super) words: Vec<String>,
    /// A wording that no client uses.
    pub(super) asked: String,
    pub(super) calls: Vec<TaskCall>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

#[derive(Debug, Deserialize)]
struct UnrelatedLine {
    query: String,
}

impl Work {
    pub(super) async fn read(
        work: &Path,
        dataset: &Path,
        index: &CapabilityIndex,
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Self> {
        let tasks: Vec<Task> = read_lines(&work.join("tasks.jsonl"))?;
        let unrelated: Vec<UnrelatedLine> = read_lines(&work.join("unrelated.jsonl"))?;
        let unrelated: Vec<String> = unrelated.into_iter().map(|line| line.query).collect();
        let neighbours: Vec<QueryLine> = read_lines(&work.join("neighbours.jsonl"))?;
        let calls = || tasks.iter().flat_map(|task| &task.calls);
        let servers: HashSet<&str> = calls().filter_map(|call| server_of(&call.tool)).collect();
        let mut tools = read_tools(dataset, &[])?;
        tools.retain(|tool| servers.contains(tool.server.as_str()));
        let known: HashSet<&str> = tools.iter().map(|tool| tool.exposed.as_str()).collect();
        if let Some(call) = calls().find(|call| !known.contains(call.tool.as_str())) {
            bail!("{} has no tool `{}`", dataset.display(), call.tool);
        }
        let servers = servers.len();
        let others = neighbours.iter().map(|it| &it.query);
        let mut texts: Vec<String> = unrelated.iter().chain(others).cloned().collect();
        for task in &tasks {
            texts.extend(task.words.iter().chain([&task.asked]).cloned());
            texts.extend(task.calls.iter().filter_map(|call| call.read().text));
        }
        let tools = index_tools(tools, index, true, progress).await?;
        let mut intents = HashMap::new();
        for text in texts {
            let intent = embed_request(index, &text).await?;
            intents.insert(text, intent);
        }
        Ok(Self {
            index: tools,
            servers,
            tasks,
            unrelated,
            neighbours,
            intents,
        })
    }

    pub(super) fn vector(&self, text: &str) -> Option<Arc<[f32]>> {
        self.intents.get(text)?.vector()
    }

    /// Returns the top five tools for a request with these lessons.
    pub(super) fn first_five(&self, request: &str, learned: &Experience) -> Vec<String> {
        let intent = self.intents[request].as_query();
        let votes = learned.votes_for_query(&intent, NOW);
        let intent = Query {
            votes: Some(&votes),
            ..intent
        };
        let options = Options {
            top_k: 5,
            ..Options::default()
        };
        let found = retrieve(&self.index, intent, &options, |_| true);
        let candidates = found.candidates.into_iter();
        candidates.map(|it| it.entry.tool_name.clone()).collect()
    }
}

impl Task {
    /// Returns all wordings of the task, including the one that no client uses.
    pub(super) fn wordings(&self) -> impl Iterator<Item = &String> {
        self.words.iter().chain([&self.asked])
    }
}

impl TaskCall {
    /// Returns the arguments in the form that the gateway learns from.
    pub(super) fn read(&self) -> CallArguments {
        arguments::to_call_arguments(&self.arguments.to_string())
    }
}

fn server_of(tool: &str) -> Option<&str> {
    tool.split_once('/').map(|(server, _)| server)
}
