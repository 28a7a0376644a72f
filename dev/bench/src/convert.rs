//! Converts sets published by other gateways to the format of `kitbag eval retrieval`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

/// Converts the sets found in `peers` and returns their new directories, below `scratch`.
pub(crate) fn peers_sets(peers: &Path, scratch: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for (name, tools, queries, convert) in SETS {
        let (tools, queries) = (peers.join(tools), peers.join(queries));
        if tools.is_file() && queries.is_file() {
            let set = convert(&read(&tools)?, &read(&queries)?);
            folders.push(set.write(&scratch.join(name))?);
        }
    }
    Ok(folders)
}

type Convert = fn(&Value, &Value) -> Set;

const SETS: [(&str, &str, &str, Convert); 4] = [
    (
        "mcpproxy-go_golden",
        "corpus_v1.tools.json",
        "retrieval_golden_v1.json",
        golden,
    ),
    (
        "bifrost_round1",
        "bifrost/round1.json",
        "bifrost/eval_tasks.json",
        bifrost,
    ),
    (
        "bifrost_round2",
        "bifrost/round2.json",
        "bifrost/eval_tasks_r2.json",
        bifrost,
    ),
    (
        "bifrost_round3",
        "bifrost/round3.json",
        "bifrost/eval_tasks_r3.json",
        bifrost,
    ),
];

#[derive(Debug, PartialEq)]
struct Set {
    tools: Vec<Value>,
    queries: Vec<Value>,
}

impl Set {
    fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        for (name, lines) in [
            ("tools.jsonl", &self.tools),
            ("queries.jsonl", &self.queries),
        ] {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let path = folder.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(folder.to_owned())
    }
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// mcpproxy-go's golden set. Its labels have grades; every graded tool counts as right.
fn golden(corpus: &Value, golden: &Value) -> Set {
    let tools = items(&corpus["tools"]).map(|tool| {
        json!({
            "id": tool["tool_id"],
            "server": tool["server"],
            "name": tool["tool"],
            "description": tool["description"],
        })
    });
    let queries = items(&golden["queries"]).map(|query| {
        let relevant: Vec<_> = items(&query["labels"])
            .map(|label| &label["tool_id"])
            .collect();
        json!({ "id": query["id"], "query": query["query"], "relevant": relevant })
    });
    Set {
        tools: tools.collect(),
        queries: queries.collect(),
    }
}

/// Bifrost's tasks. They spell some servers differently than the list, and name some missing tools:
/// such a name is skipped, and so is a task without other names.
fn bifrost(round: &Value, tasks: &Value) -> Set {
    let id = |tool: &Value| format!("{}/{}", text(&tool["server"]), text(&tool["tool_name"]));
    let tools: Vec<Value> = items(round)
        .map(|tool| {
            json!({
                "id": id(tool),
                "server": tool["server"],
                "name": tool["tool_name"],
                "description": tool["description"],
            })
        })
        .collect();
    let queries = items(tasks).filter_map(|task| {
        let servers: Vec<&str> = items(&task["expected_servers"]).map(text).collect();
        let names: BTreeSet<&str> = items(&task["expected_tools"]).map(text).collect();
        let expected = |tool: &&Value| {
            servers
                .iter()
                .any(|it| it.eq_ignore_ascii_case(text(&tool["server"])))
                && names.contains(text(&tool["tool_name"]))
        };
        let relevant: BTreeSet<String> = items(round).filter(expected).map(id).collect();
        let query = json!({ "id": task["id"], "query": task["query"], "relevant": relevant });
        (!relevant.is_empty()).then_some(query)
    });
    Set {
        queries: queries.collect(),
        tools,
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graded_label_of_the_golden_set_counts_as_right_with_any_grade() {
        let corpus = json!({ "tools": [
            { "tool_id": "fs:read", "server": "fs", "tool": "read", "description": "Read a file" },
        ] });
        let asked = json!({ "queries": [
            { "id": "q", "query": "open it", "labels": [{ "tool_id": "fs:read", "relevance": 1 }] },
        ] });
        let set = golden(&corpus, &asked);
        let tool = json!({ "id": "fs:read", "server": "fs", "name": "read", "description": "Read a file" });
        assert_eq!(set.tools, [tool]);
        assert_eq!(
            set.queries,
            [json!({ "id": "q", "query": "open it", "relevant": ["fs:read"] })]
        );
    }

    #[test]
    fn a_task_finds_its_tools_on_the_servers_it_names() {
        let tool = |server: &str, name: &str| json!({ "tool_name": name, "description": "", "server": server });
        let round = json!([
            tool("Disk", "read"),
            tool("Mail", "read"),
            tool("Mail", "send")
        ]);
        let task = |tools: Value| {
            let tasks = json!([
                { "id": "t", "query": "?", "expected_servers": ["MAIL"], "expected_tools": tools },
            ]);
            let set = bifrost(&round, &tasks);
            set.queries.first().map(|query| query["relevant"].clone())
        };
        assert_eq!(
            task(json!(["send", "read"])),
            Some(json!(["Mail/read", "Mail/send"]))
        );
        assert_eq!(
            task(json!(["send", "forgotten"])),
            Some(json!(["Mail/send"]))
        );
        assert_eq!(task(json!(["forgotten"])), None);
    }
}
