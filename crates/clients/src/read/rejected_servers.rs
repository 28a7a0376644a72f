//! A project's servers that a user rejected when Claude Code asked. Claude Code records the
//! rejection in other files than the servers.

use std::collections::BTreeSet;
use std::path::Path;

use super::file::read_text;
use crate::client::Client;
use crate::config::ClientConfig;
use crate::directories::ClientDirectories;
use crate::tree::{self, FileFormat, Node};

const LIST: &str = "disabledMcpjsonServers";

/// Marks the rejected servers as disabled.
pub(super) fn disable_rejected(configs: &mut [ClientConfig], directories: &ClientDirectories) {
    let of_projects = configs.iter_mut().filter(|config| is_of_project(config));
    let mut of_projects = of_projects.peekable();
    if of_projects.peek().is_none() {
        return;
    }
    let refused = rejected_servers(directories);
    for server in of_projects.flat_map(|config| &mut config.servers) {
        server.disabled |= refused.contains(&server.name);
    }
}

fn is_of_project(config: &ClientConfig) -> bool {
    let name = config.path.file_name();
    config.client == Client::ClaudeCode && name.is_some_and(|name| name == ".mcp.json")
}

fn rejected_servers(directories: &ClientDirectories) -> BTreeSet<String> {
    let folder = directories.cwd.join(".claude");
    let here = directories.cwd.to_string_lossy();
    let user = directories.home.join(".claude.json");
    let mut names = BTreeSet::new();
    names.extend(read_list(&folder.join("settings.json"), &[LIST]));
    names.extend(read_list(&folder.join("settings.local.json"), &[LIST]));
    names.extend(read_list(&user, &["projects", &here, LIST]));
    names
}

/// Returns the names in a list of a file.
fn read_list(path: &Path, keys: &[&str]) -> Vec<String> {
    let root = parse_file(path);
    let list = root.as_ref().and_then(|root| root.at(keys)?.list());
    let names = list.unwrap_or_default().iter().filter_map(Node::text);
    names.map(str::to_owned).collect()
}

/// Returns nothing if the file cannot be read: reading its servers reports why.
fn parse_file(path: &Path) -> Option<Node> {
    tree::parse(FileFormat::from_path(path), &read_text(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Client, ClientDirectories, OperatingSystem, find};

    #[test]
    fn a_rejected_server_is_disabled() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        let write = |path: std::path::PathBuf, value: serde_json::Value| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value.to_string()).unwrap();
        };
        let server = json!({ "command": "x" });
        write(
            project.join(".mcp.json"),
            json!({ "mcpServers": { "a": server, "b": server, "c": server } }),
        );
        write(
            project.join(".claude/settings.local.json"),
            json!({ "disabledMcpjsonServers": ["a"] }),
        );
        let noted = json!({ "disabledMcpjsonServers": ["b"], "mcpServers": { "c": server } });
        write(
            home.join(".claude.json"),
            json!({ "projects": { project.to_str().unwrap(): noted } }),
        );

        let directories = ClientDirectories::new(OperatingSystem::Linux, home, project, |_| None);
        let found = find(&directories, Some(Client::ClaudeCode));
        let off: Vec<_> = found
            .iter()
            .flat_map(|config| &config.servers)
            .filter(|server| server.disabled)
            .collect();
        assert_eq!(
            off.iter()
                .map(|server| server.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn a_pipe_instead_of_a_projects_file_is_reported_and_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        std::fs::create_dir_all(project.join(".claude")).unwrap();
        std::fs::write(
            project.join(".mcp.json"),
            r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        )
        .unwrap();
        for path in [".claude/settings.json", "opencode.json"] {
            let made = std::process::Command::new("mkfifo")
                .arg(project.join(path))
                .status()
                .unwrap();
            assert!(made.success());
        }
        let found = find(
            &ClientDirectories::new(OperatingSystem::Linux, home, project, |_| None),
            None,
        );
        assert!(
            found
                .iter()
                .any(|config| config.client == Client::ClaudeCode && config.servers.len() == 1)
        );
        let problem = found
            .iter()
            .flat_map(|config| &config.problems)
            .next()
            .unwrap()
            .to_string();
        assert!(
            problem.contains("opencode.json") && problem.contains("it is not a file"),
            "{problem}"
        );
    }
}
