//! The servers that the files of clients had when they were last looked at: only servers that are
//! new there are followed, and a server that the person took out or changed here stays so.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kitbag_clients::{ClientConfig, FileFault, FoundServer, ServerOrigin};
use kitbag_config::create_private_dir;
use kitbag_domain::ServerName;
use serde::{Deserialize, Serialize};

/// The servers by the configuration that follows, and by the place in a client's file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Memory(BTreeMap<PathBuf, BTreeMap<String, Servers>>);

/// The servers by the name that the client has for each.
type Servers = BTreeMap<String, SeenServer>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenServer {
    /// The name of the server here.
    ours: ServerName,
    /// A hash that tells if the server was changed there since; secrets play no part in it.
    launch: String,
}

/// The servers that one place in a client's file has now.
#[derive(Debug)]
pub(super) struct PlaceLook {
    place: String,
    /// The name and the launch of each server.
    servers: BTreeMap<String, String>,
    /// True if Kitbag is there: a server behind Kitbag is not among the servers, and yet not gone.
    has_kitbag: bool,
}

impl Memory {
    /// A memory that cannot be read is none: then everything is new, as at the beginning.
    pub(super) fn open(data_dir: &Path) -> Self {
        match fs::read_to_string(path(data_dir)) {
            Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, "what was imported before is not known any more");
                Self::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                tracing::warn!(%error, "what was imported before is not known any more");
                Self::default()
            }
        }
    }

    pub(super) fn save(&self, data_dir: &Path) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        if fs::read_to_string(path(data_dir)).is_ok_and(|before| before == text) {
            return Ok(());
        }
        create_private_dir(data_dir)?;
        kitbag_clients::write(&path(data_dir), &text)
    }

    /// Takes out the servers whose name the place had when it was last looked at.
    pub(super) fn retain_new(&self, config: &Path, found: &mut ClientConfig) {
        let place = place(&found.path, found.project.as_deref());
        let places = self.0.get(config);
        if let Some(known) = places.and_then(|places| places.get(&place)) {
            found
                .servers
                .retain(|server| !known.contains_key(&server.name));
        }
    }

    /// Returns the name that a server has here if it is unchanged since it was taken over.
    pub(super) fn taken_over(&self, config: &Path, server: &FoundServer) -> Option<&ServerName> {
        let places = self.0.get(config)?;
        let launch = launch(server);
        let mut seen = places
            .values()
            .filter_map(|servers| servers.get(&server.name));
        seen.find(|seen| seen.launch == launch)
            .map(|seen| &seen.ours)
    }

    /// Remembers the servers that are there now, and their names here; `ours` is silent about those
    /// that were refused.
    pub(super) fn note(
        &mut self,
        config: &Path,
        looks: &[PlaceLook],
        ours: impl Fn(&str, &str) -> Option<ServerName>,
    ) {
        let places = self.0.entry(config.to_owned()).or_default();
        for look in looks {
            let before = places.remove(&look.place).unwrap_or_default();
            let mut now: Servers = match look.has_kitbag {
                true => before.clone(),
                false => Servers::new(),
            };
            for (name, launch) in &look.servers {
                match (ours(&look.place, name), before.get(name)) {
                    (Some(ours), _) => {
                        now.insert(
                            name.clone(),
                            SeenServer {
                                ours,
                                launch: launch.clone(),
                            },
                        );
                    }
                    (None, Some(seen)) => {
                        now.insert(name.clone(), seen.clone());
                    }
                    (None, None) => {}
                }
            }
            places.insert(look.place.clone(), now);
        }
    }
}

impl PlaceLook {
    pub(super) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Returns nothing if the file could not be read: its servers are not known then.
    pub(super) fn at(found: &ClientConfig) -> Option<Self> {
        let mut faults = found.problems.iter().map(|problem| &problem.fault);
        if faults.any(is_unread) {
            return None;
        }
        let servers = found
            .servers
            .iter()
            .map(|server| (server.name.clone(), launch(server)))
            .collect();
        let place = place(&found.path, found.project.as_deref());
        Some(Self {
            place,
            servers,
            has_kitbag: found.kitbag.is_some(),
        })
    }
}

fn is_unread(fault: &FileFault) -> bool {
    matches!(
        fault,
        FileFault::Unreadable { .. } | FileFault::Syntax { .. }
    )
}

/// Returns the place in a file that an origin speaks of.
pub(super) fn place_of(origin: &ServerOrigin) -> String {
    place(&origin.path, origin.project.as_deref())
}

fn place(path: &Path, project: Option<&Path>) -> String {
    match project {
        Some(project) => format!("{} for {}", path.display(), project.display()),
        None => path.display().to_string(),
    }
}

/// The shown form of values has no secrets in it.
fn launch(server: &FoundServer) -> String {
    blake3::hash(format!("{:?}", server.launch).as_bytes()).to_hex()[..32].to_owned()
}

fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("imported.json")
}

#[cfg(test)]
mod tests {
    use kitbag_clients::{Client, ClientDirectories, ClientFile, OperatingSystem, Scope, read};

    use super::*;

    fn found(text: &str) -> ClientConfig {
        let places = ClientDirectories::new(
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
        read(&spot, text, &places).remove(0)
    }

    fn servers(names: &[&str]) -> String {
        let servers: Vec<_> = names
            .iter()
            .map(|name| format!("\"{name}\": {{\"command\": \"x\"}}"))
            .collect();
        format!("{{\"mcpServers\": {{{}}}}}", servers.join(", "))
    }

    fn new_in(memory: &Memory, text: &str) -> Vec<String> {
        let mut found = found(text);
        memory.retain_new(Path::new("/c"), &mut found);
        found.servers.into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn only_what_a_file_did_not_have_before_is_new_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut memory = Memory::open(folder.path());
        let mut see = |text: &str| {
            let new = new_in(&memory, text);
            let look: Vec<_> = PlaceLook::at(&found(text)).into_iter().collect();
            memory.note(Path::new("/c"), &look, |_, name| name.parse().ok());
            memory.save(folder.path()).unwrap();
            memory = Memory::open(folder.path());
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
            memory
                .taken_over(Path::new("/c"), &found(&servers(&["a"])).servers[0])
                .is_some()
        );
        assert!(
            memory
                .taken_over(Path::new("/other"), &found(&servers(&["a"])).servers[0])
                .is_none()
        );
    }
}
