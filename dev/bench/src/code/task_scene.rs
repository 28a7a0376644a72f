//! The servers of the published tasks behind a gateway: two real ones, the others with fixed
//! answers.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use super::answers::ServiceAnswers;
use super::dialogue::{Dialogue, ToolTurn, format_call};
use super::published::{PublishedTask, TaskFiles, TaskProgram, search_program};
use crate::catalog::{Tool, Upstreams};
use crate::http::{Session, text};
use crate::peer::wait_until_embedded;

#[derive(Debug)]
pub(super) struct TaskScene {
    code: Session,
    all: Session,
    /// The tools on each surface.
    pub(super) code_tools: Vec<Value>,
    pub(super) all_tools: Vec<Value>,
    _gateway: Gateway,
    _upstreams: Upstreams,
}

/// One task, done in both ways.
#[derive(Debug)]
pub(super) struct PlayedTask {
    pub(super) plain: Dialogue,
    pub(super) code: Dialogue,
    /// The reason why the task is not done.
    pub(super) failure: Option<String>,
    /// The tools that the program calls but its first search does not return. A model then searches
    /// again, here with the request as the query.
    pub(super) not_found: Vec<String>,
}

impl TaskScene {
    pub(super) fn open(repository: &Repository, files: &TaskFiles) -> anyhow::Result<Self> {
        let folder = repository.scratch("bench-code-tasks")?;
        let tools = files.tools()?;
        let answers = ServiceAnswers::read(&repository.evals().join("code/answers"))?;
        let foreign: Vec<Tool> = tools
            .iter()
            .filter(|tool| !REAL.contains(&tool["server"].as_str().unwrap_or_default()))
            .map(|tool| Tool::from_line(&line(tool, &answers)))
            .collect();
        let upstreams = Upstreams::start(repository, &folder, &foreign)?;
        let sections = [
            SETTINGS,
            &real_servers(repository, &folder, files)?,
            &upstreams.sections(),
        ]
        .concat();
        let gateway =
            Gateway::start_with_sections(repository, Profile::Release, &folder, &sections)?;
        wait_until_embedded(&gateway.origin, tools.len())?;
        let mut code = Session::open(&gateway.origin, "/mcp/code")?;
        let mut all = Session::open(&gateway.origin, "/mcp/all")?;
        Ok(Self {
            code_tools: code.tools()?,
            all_tools: all.tools()?,
            code,
            all,
            _gateway: gateway,
            _upstreams: upstreams,
        })
    }

    pub(super) fn play(
        &mut self,
        task: &PublishedTask,
        program: &TaskProgram,
    ) -> anyhow::Result<PlayedTask> {
        let calls = self.calls(program)?;
        let mut turns = vec![self.run(&program.search())?.turn];
        let not_found = not_found(&calls, &turns[0].answer);
        if !not_found.is_empty() {
            let again = search_program(std::slice::from_ref(&task.request));
            turns.push(self.run(&again)?.turn);
        }
        let run = self.run(&program.code)?;
        let end = first_line(&run.turn.answer).to_owned();
        let mut expected = task.expected.iter();
        let not_called = expected.find(|tool| !is_called(&calls, tool));
        let failure = match (run.failed, not_called) {
            (true, _) => Some(run.turn.answer.clone()),
            (false, Some(tool)) => Some(format!("{tool} was not called")),
            (false, None) => None,
        };
        turns.push(run.turn);
        Ok(PlayedTask {
            not_found,
            plain: self.plain(task, &calls, &end)?,
            code: Dialogue {
                request: task.request.clone(),
                turns,
                end,
            },
            failure,
        })
    }

    fn run(&mut self, code: &str) -> anyhow::Result<CodeRun> {
        let arguments = json!({ "code": code });
        let result = self.code.call("run_code", &arguments)?;
        Ok(CodeRun {
            failed: result["isError"] == true,
            turn: ToolTurn {
                call: format_call("run_code", &arguments),
                answer: text(&result)?,
            },
        })
    }

    /// Returns the calls of a program, in order, with their arguments.
    fn calls(&mut self, program: &TaskProgram) -> anyhow::Result<Vec<Value>> {
        let run = self.run(&program.recording_program())?;
        serde_json::from_str(first_line(&run.turn.answer))
            .with_context(|| format!("the calls could not be recorded: {}", run.turn.answer))
    }

    /// Makes the same calls as a client with every tool.
    fn plain(
        &mut self,
        task: &PublishedTask,
        calls: &[Value],
        end: &str,
    ) -> anyhow::Result<Dialogue> {
        let mut turns = Vec::new();
        for call in calls {
            let tool = call["tool"].as_str().unwrap_or_default();
            let result = self.all.call(tool, &call["arguments"])?;
            if result["isError"] == true {
                bail!("{tool} answered {result}");
            }
            turns.push(ToolTurn {
                call: format_call(tool, &call["arguments"]),
                answer: text(&result)?,
            });
        }
        Ok(Dialogue {
            request: task.request.clone(),
            turns,
            end: end.to_owned(),
        })
    }
}

struct CodeRun {
    turn: ToolTurn,
    failed: bool,
}

/// Programs may write, as the tasks require.
const SETTINGS: &str = "[policy]\ncode_writes = \"allow\"\n\n[agents]\nenabled = false\n\n";
/// The servers that run here. The accounts for the others are not available.
const REAL: [&str; 2] = [FILES, SQLITE];
const FILES: &str = "FileSystem";
const SQLITE: &str = "SQLite";

fn real_servers(
    repository: &Repository,
    folder: &Path,
    files: &TaskFiles,
) -> anyhow::Result<String> {
    if !repository.node().is_file() {
        bail!("the servers are not installed; get them with `cargo xtask setup`");
    }
    let own = folder.join("files");
    fs::create_dir_all(&own).with_context(|| format!("creating {}", own.display()))?;
    let node = repository.node();
    let filesystem = repository
        .tools()
        .join("node_modules/@modelcontextprotocol/server-filesystem/dist/index.js");
    let sqlite = repository.evals().join("code/sqlite.mjs");
    Ok(format!(
        "[servers.{FILES}]\ncommand = '{}'\nargs = ['{}', '{}']\ncwd = '{}'\n\n\
         [servers.{SQLITE}]\ncommand = '{}'\nargs = ['{}', '{}', '{}']\n\n",
        node.display(),
        filesystem.display(),
        own.display(),
        own.display(),
        node.display(),
        sqlite.display(),
        folder.join("tasks.db").display(),
        files.tools.display(),
    ))
}

/// A tool of the peer's list, in the form of our sets.
pub(super) fn line(tool: &Value, answers: &ServiceAnswers) -> Value {
    let [server, name] = ["server", "tool_name"].map(|key| tool[key].as_str().unwrap_or_default());
    let mut line = json!({
        "id": format!("{server}/{name}"),
        "server": server,
        "name": name,
        "description": tool["description"],
        "answer": answers.get(server, name),
    });
    if is_reading_tool(name) {
        line["annotations"] = json!({ "readOnlyHint": true });
    }
    line
}

/// True if the first verb in the name of a tool means reading.
fn is_reading_tool(name: &str) -> bool {
    const READING: [&str; 9] = [
        "get", "list", "search", "find", "read", "fetch", "view", "check", "look",
    ];
    const WRITING: [&str; 7] = [
        "create", "update", "delete", "insert", "add", "write", "remove",
    ];
    let name = name.to_ascii_lowercase();
    let mut verbs = name
        .split('_')
        .filter(|word| READING.contains(word) || WRITING.contains(word));
    verbs.next().is_some_and(|verb| READING.contains(&verb))
}

fn is_called(calls: &[Value], tool: &str) -> bool {
    calls.iter().any(|call| call["tool"] == tool)
}

fn not_found(calls: &[Value], search: &str) -> Vec<String> {
    let tools = calls.iter().filter_map(|call| call["tool"].as_str());
    let mut missing: Vec<String> = tools
        .filter(|tool| !search.contains(&format!("\"{tool}\"")))
        .map(str::to_owned)
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns the value that a program returned; the lines after it are about its calls.
fn first_line(answer: &str) -> &str {
    answer.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::is_reading_tool;

    #[test]
    fn the_first_verb_in_a_name_says_if_a_tool_reads() {
        assert!(is_reading_tool("GOOGLEDRIVE_FIND_FILE") && is_reading_tool("get_updates"));
        assert!(!is_reading_tool("create_list") && !is_reading_tool("CALENDLY_CANCEL_EVENT"));
    }
}
