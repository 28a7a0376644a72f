//! Writes a peer's tasks as a suite of `kitbag eval agents`, with the catalog for a testbed that
//! plays all their servers, and a configuration with these servers.
//!
//! The services give the same answers whatever they are asked, so there is no end state to judge. A
//! task is done if its expected tools were called.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::answers::ServiceAnswers;
use super::published::{PublishedTask, TaskFiles};
use super::task_scene::line;
use crate::catalog::Tool;

/// The port of the testbed, which the configuration needs before it runs.
const PORT: u16 = 8931;

pub(super) fn write(evals: &Path, files: &TaskFiles, folder: &Path) -> anyhow::Result<()> {
    let answers = ServiceAnswers::read(&evals.join("code/answers"))?;
    let tools = files.tools()?;
    let tools: Vec<Tool> = tools
        .iter()
        .map(|it| Tool::from_line(&line(it, &answers)))
        .collect();
    let tasks: Vec<Value> = files.tasks()?.iter().map(|it| task(it, &tools)).collect();
    let suite = json!({ "version": 1, "name": "Published tasks", "tasks": tasks });
    fs::create_dir_all(folder)?;
    for (name, text) in [
        ("suite.json", serde_json::to_string_pretty(&suite)?),
        (
            "catalog.jsonl",
            tools.iter().map(Tool::to_testbed_line).collect(),
        ),
        ("kitbag.toml", configuration(&tools)),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let folder = folder.display();
    eprintln!(
        "{} tasks are in {folder}. Their servers: kitbag-testbed --era legacy --catalog {folder}/catalog.jsonl http --port {PORT}",
        tasks.len()
    );
    Ok(())
}

fn task(published: &PublishedTask, tools: &[Tool]) -> Value {
    let calls = published.expected.iter();
    let calls: Vec<Value> = calls
        .map(|tool| json!({ "tool": tool, "intent": intent(tool, tools) }))
        .collect();
    json!({
        "id": published.id,
        "input": published.request,
        "called": published.expected,
        "solution": { "calls": calls, "answer": "Done." },
    })
}

/// Returns the tool's own description.
fn intent<'a>(exposed: &str, tools: &'a [Tool]) -> &'a str {
    let mut tools = tools.iter();
    let tool = tools.find(|it| format!("{}__{}", it.server, it.name) == exposed);
    tool.and_then(|it| it.definition()["description"].as_str())
        .unwrap_or_default()
}

fn configuration(tools: &[Tool]) -> String {
    let servers: BTreeSet<&str> = tools.iter().map(|it| it.server.as_str()).collect();
    let mut text = "[policy]\ncode_writes = \"allow\"\n\n[agents]\nenabled = false\n".to_owned();
    for server in servers {
        text += &format!("\n[servers.{server}]\nurl = \"http://127.0.0.1:{PORT}/{server}/mcp\"\n");
    }
    text
}
