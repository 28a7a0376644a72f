//! Servers of a project that a person refused when Claude Code asked: it notes that outside the
//! file in which they stand.

use std::collections::BTreeSet;
use std::path::Path;

use super::read_text;
use crate::client::Client;
use crate::found::Found;
use crate::places::Places;
use crate::tree::{self, Format, Node};

const LIST: &str = "disabledMcpjsonServers";

/// Switches off what was refused.
pub(super) fn mark(found: &mut [Found], places: &Places) {
    let of_project = |it: &&mut Found| {
        it.client == Client::ClaudeCode
            && it.path.file_name().is_some_and(|name| name == ".mcp.json")
    };
    let mut files: Vec<_> = found.iter_mut().filter(of_project).collect();
    if files.is_empty() {
        return;
    }
    let refused = refused(places);
    for server in files.iter_mut().flat_map(|found| &mut found.servers) {
        server.disabled |= refused.contains(&server.name);
    }
}

fn refused(places: &Places) -> BTreeSet<String> {
    let folder = places.cwd.join(".claude");
    let settings = ["settings.json", "settings.local.json"].map(|name| parsed(&folder.join(name)));
    let user = parsed(&places.home.join(".claude.json"));
    let here = places.cwd.to_string_lossy();
    let lists = settings.iter().map(|root| root.as_ref()?.get(LIST));
    let lists = lists.chain([user
        .as_ref()
        .and_then(|root| root.at(&["projects", &here, LIST]))]);
    let names = lists.flatten().filter_map(Node::list).flatten();
    names.filter_map(Node::text).map(str::to_owned).collect()
}

/// Nothing, where it cannot be read: whoever reads it for its servers says why.
fn parsed(path: &Path) -> Option<Node> {
    tree::parse(Format::of(path), &read_text(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Client, Places, Platform, find};

    #[test]
    fn a_server_that_was_refused_is_switched_off() {
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

        let places = Places::new(Platform::Linux, home, project, |_| None);
        let found = find(&places, Some(Client::ClaudeCode));
        let off: Vec<_> = found
            .iter()
            .flat_map(|it| &it.servers)
            .filter(|it| it.disabled)
            .collect();
        assert_eq!(
            off.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn a_pipe_in_the_place_of_a_projects_file_holds_up_nothing() {
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
        let found = find(&Places::new(Platform::Linux, home, project, |_| None), None);
        assert!(
            found
                .iter()
                .any(|it| it.client == Client::ClaudeCode && it.servers.len() == 1)
        );
        let problem = found
            .iter()
            .flat_map(|it| &it.problems)
            .next()
            .unwrap()
            .to_string();
        assert!(
            problem.contains("opencode.json") && problem.contains("it is not a file"),
            "{problem}"
        );
    }
}
