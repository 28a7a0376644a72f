//! The servers that the clients' files had at the last import. Only new servers are imported, so a
//! server that the user removed or changed in the configuration stays that way.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kitbag_clients::{ClientConfig, FileFault, FoundServer, ServerOrigin};
use kitbag_config::create_private_dir;
use kitbag_domain::ServerName;
use serde::{Deserialize, Serialize};

/// The imported servers by configuration file and by section of a client's file. A section is a
/// file, or the part of a file for one project.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ImportHistory(BTreeMap<PathBuf, BTreeMap<String, SectionServers>>);

/// The servers of a section by the name in the client's file.
type SectionServers = BTreeMap<String, ImportedServer>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ImportedServer {
    /// The name in the configuration.
    ours: ServerName,
    /// A hash of the client's entry without secrets, to detect later changes.
    launch: String,
}

/// The servers that a section of a client's file has now.
#[derive(Debug)]
pub(super) struct SectionSnapshot {
    section: String,
    /// The hash of each server's launch, by name.
    servers: BTreeMap<String, String>,
    /// True if the section has Kitbag: servers behind Kitbag are not listed but not removed either.
    has_kitbag: bool,
}

impl ImportHistory {
    /// If the history cannot be read, it is empty, so every server counts as new.
    pub(super) fn open(data_dir: &Path) -> Self {
        let text = match fs::read_to_string(history_path(data_dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            read => read,
        };
        let history = text.and_then(|text| Ok(serde_json::from_str(&text)?));
        history.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read the import history");
            Self::default()
        })
    }

    pub(super) fn save(&self, data_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        if fs::read_to_string(history_path(data_dir)).is_ok_and(|before| before == text) {
            return Ok(());
        }
        create_private_dir(data_dir)?;
        kitbag_clients::write(&history_path(data_dir), &text)
    }

    /// Removes the servers that the section had at the last import.
    pub(super) fn retain_new(&self, config: &Path, found: &mut ClientConfig) {
        let section = section_name(&found.path, found.project.as_deref());
        let sections = self.0.get(config);
        if let Some(known) = sections.and_then(|sections| sections.get(&section)) {
            found
                .servers
                .retain(|server| !known.contains_key(&server.name));
        }
    }

    /// Returns the configured name of a server that is unchanged since its import.
    pub(super) fn find_imported(&self, config: &Path, server: &FoundServer) -> Option<&ServerName> {
        let sections = self.0.get(config)?;
        let launch = hash_launch(server);
        let mut seen = sections
            .values()
            .filter_map(|servers| servers.get(&server.name));
        seen.find(|seen| seen.launch == launch)
            .map(|seen| &seen.ours)
    }

    /// Records the current servers with their configured names. `ours` returns `None` for refused
    /// servers.
    pub(super) fn record(
        &mut self,
        config: &Path,
        snapshots: &[SectionSnapshot],
        ours: impl Fn(&str, &str) -> Option<ServerName>,
    ) {
        let sections = self.0.entry(config.to_owned()).or_default();
        for snapshot in snapshots {
            let before = sections.remove(&snapshot.section).unwrap_or_default();
            let mut now: SectionServers = match snapshot.has_kitbag {
                true => before.clone(),
                false => SectionServers::new(),
            };
            for (name, launch) in &snapshot.servers {
                let launch = launch.clone();
                let imported = ours(&snapshot.section, name);
                let imported = imported.map(|ours| ImportedServer { ours, launch });
                if let Some(server) = imported.or_else(|| before.get(name).cloned()) {
                    now.insert(name.clone(), server);
                }
            }
            sections.insert(snapshot.section.clone(), now);
        }
    }
}

impl SectionSnapshot {
    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns `None` if the file could not be read.
    pub(super) fn new(found: &ClientConfig) -> Option<Self> {
        let is_unread = found.problems.iter().any(|problem| {
            matches!(
                problem.fault,
                FileFault::Unreadable { .. } | FileFault::Syntax { .. }
            )
        });
        if is_unread {
            return None;
        }
        let servers = found
            .servers
            .iter()
            .map(|server| (server.name.clone(), hash_launch(server)))
            .collect();
        let section = section_name(&found.path, found.project.as_deref());
        Some(Self {
            section,
            servers,
            has_kitbag: found.kitbag.is_some(),
        })
    }
}

/// Returns the section of the client's file that the origin refers to.
pub(super) fn section_of(origin: &ServerOrigin) -> String {
    section_name(&origin.path, origin.project.as_deref())
}

fn section_name(path: &Path, project: Option<&Path>) -> String {
    match project {
        Some(project) => format!("{} for {}", path.display(), project.display()),
        None => path.display().to_string(),
    }
}

/// The debug format of values contains no secrets.
fn hash_launch(server: &FoundServer) -> String {
    blake3::hash(format!("{:?}", server.launch).as_bytes()).to_hex()[..32].to_owned()
}

fn history_path(data_dir: &Path) -> PathBuf {
    data_dir.join("imported.json")
}

#[cfg(test)]
mod tests {
    use kitbag_clients::{Client, ClientDirectories, ClientFile, OperatingSystem, Scope, read};

    use super::*;

    fn found(text: &str) -> ClientConfig {
        let directories = ClientDirectories::new(
            OperatingSystem::Linux,
            "/home/ann".into(),
            "/shop".into(),
            |_| None,
        );
        let spot = ClientFile {
            client: Client::ClaudeCode,
            path: "/home/ann/.claude.json".into(),
            scope: Scope::User,
        };
        read(&spot, text, &directories).remove(0)
    }

    fn servers(names: &[&str]) -> String {
        let servers: Vec<_> = names
            .iter()
            .map(|name| format!("\"{name}\": {{\"command\": \"x\"}}"))
            .collect();
        format!("{{\"mcpServers\": {{{}}}}}", servers.join(", "))
    }

    fn new_in(history: &ImportHistory, text: &str) -> Vec<String> {
        let mut found = found(text);
        history.retain_new(Path::new("/c"), &mut found);
        found.servers.into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn only_servers_added_since_the_last_import_are_new() {
        let folder = tempfile::tempdir().unwrap();
        let mut history = ImportHistory::open(folder.path());
        let mut see = |text: &str| {
            let new = new_in(&history, text);
            let snapshot: Vec<_> = SectionSnapshot::new(&found(text)).into_iter().collect();
            history.record(Path::new("/c"), &snapshot, |_, name| name.parse().ok());
            history.save(folder.path()).unwrap();
            history = ImportHistory::open(folder.path());
            new
        };
        assert_eq!(see(&servers(&["a", "b"])), ["a", "b"]);
        assert_eq!(see(&servers(&["a", "b", "c"])), ["c"]);
        assert_eq!(see("{ not yet"), [""; 0]);
        assert_eq!(see(&servers(&["a", "c"])), [""; 0]);
        assert_eq!(see(&servers(&["a", "b"])), ["b"]);
        let behind = r#"{"mcpServers": {"kitbag": {"command": "kitbag", "args": ["serve"]}}}"#;
        assert_eq!((see(behind), see(&servers(&["a", "b"]))), (vec![], vec![]));
        assert!(
            history
                .find_imported(Path::new("/c"), &found(&servers(&["a"])).servers[0])
                .is_some()
        );
        assert!(
            history
                .find_imported(Path::new("/other"), &found(&servers(&["a"])).servers[0])
                .is_none()
        );
    }
}
