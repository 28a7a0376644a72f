//! The tools of a set, behind servers like their original ones; one testbed acts as all of them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};
use xtask::processes::Server;
use xtask::repository::{Profile, Repository};

/// A tool of a set, and its server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tool {
    pub(crate) id: String,
    pub(crate) server: String,
    pub(crate) name: String,
    definition: Value,
    /// The answer of every call; without it, a call is repeated.
    answer: Option<Value>,
    /// The duration of every call in milliseconds.
    takes_ms: u64,
}

/// The tools of these directories, without duplicates.
pub(crate) fn read(folders: &[PathBuf]) -> anyhow::Result<Vec<Tool>> {
    let (mut tools, mut seen) = (Vec::new(), HashSet::new());
    for folder in folders {
        for line in lines(&folder.join("tools.jsonl"))? {
            let tool = Tool::from_line(&line);
            if seen.insert((tool.server.clone(), tool.name.clone())) {
                tools.push(tool);
            }
        }
    }
    Ok(tools)
}

/// The lines of a file of JSON values.
pub(crate) fn lines(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|it| serde_json::from_str(it).with_context(|| format!("reading {}", path.display())))
        .collect()
}

impl Tool {
    pub(crate) fn definition(&self) -> &Value {
        &self.definition
    }

    /// Parses a line of a set.
    pub(crate) fn from_line(line: &Value) -> Self {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let schema = Some(&line["schema"]).filter(|it| it["type"] == "object");
        let mut definition = json!({
            "name": line["name"],
            "description": text("description"),
            "inputSchema": schema.unwrap_or(&json!({ "type": "object" })),
        });
        for key in ["title", "annotations"] {
            if let Some(value) = line.get(key).filter(|it| !it.is_null()) {
                definition[key] = value.clone();
            }
        }
        Self {
            id: text("id"),
            server: server_name(&text("server")),
            name: text("name"),
            definition,
            answer: line.get("answer").filter(|it| !it.is_null()).cloned(),
            takes_ms: line["takes_ms"].as_u64().unwrap_or(0),
        }
    }

    /// Formats a line of the testbed's catalog file.
    pub(crate) fn to_testbed_line(&self) -> String {
        let line = json!({
            "server": self.server,
            "tool": self.definition,
            "answer": self.answer,
            "takes_ms": self.takes_ms,
        });
        format!("{line}\n")
    }

    /// Formats `name | description` on one line.
    pub(crate) fn in_a_line(&self) -> String {
        let description = self.definition["description"].as_str().unwrap_or_default();
        let words: Vec<&str> = description.split_whitespace().collect();
        format!("{} | {}", self.name, words.join(" "))
    }
}

/// The running servers of a catalog.
#[derive(Debug)]
pub(crate) struct Upstreams {
    /// The URL of each server.
    pub(crate) urls: BTreeMap<String, String>,
    _process: Server,
}

impl Upstreams {
    pub(crate) fn start(
        repository: &Repository,
        folder: &Path,
        tools: &[Tool],
    ) -> anyhow::Result<Self> {
        let file = folder.join("catalog.jsonl");
        fs::write(
            &file,
            tools.iter().map(Tool::to_testbed_line).collect::<String>(),
        )
        .with_context(|| format!("writing {}", file.display()))?;
        let mut command = Command::new(repository.program_path(Profile::Release, "kitbag-testbed"));
        command
            .args(["--era", "legacy", "--catalog"])
            .arg(&file)
            .args(["http", "--port", "0"]);
        let process = Server::start(&mut command, &folder.join("upstreams.log"))?;
        let origin = process.origin()?;
        let url = |tool: &Tool| (tool.server.clone(), format!("{origin}/{}/mcp", tool.server));
        Ok(Self {
            urls: tools.iter().map(url).collect(),
            _process: process,
        })
    }

    /// The servers in the form of `kitbag.toml`.
    pub(crate) fn sections(&self) -> String {
        self.urls
            .iter()
            .map(|(name, url)| format!("[servers.{name}]\nurl = '{url}'\n\n"))
            .collect()
    }
}

/// A name that every compared gateway accepts.
fn server_name(name: &str) -> String {
    const MAX_LENGTH: usize = 32;
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(allowed).take(MAX_LENGTH).collect();
    if name.is_empty() {
        "tools".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_set_becomes_a_definition_a_server_could_list() {
        let tool = Tool::from_line(&json!({
            "id": "x/y", "server": "My server", "name": "y", "description": "Does y",
            "schema": { "type": "object", "properties": { "a": {} } }, "annotations": { "readOnlyHint": true },
        }));
        assert_eq!(
            (tool.id.as_str(), tool.server.as_str()),
            ("x/y", "My-server")
        );
        assert_eq!(
            tool.definition["inputSchema"]["properties"],
            json!({ "a": {} })
        );
        assert_eq!(tool.definition["annotations"]["readOnlyHint"], true);
        let bare = Tool::from_line(&json!({ "id": "z", "name": "z", "schema": ["a", "b"] }));
        assert_eq!(
            (
                bare.server.as_str(),
                &bare.definition["inputSchema"]["type"]
            ),
            ("tools", &json!("object"))
        );
    }
}
