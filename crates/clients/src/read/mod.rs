//! From the files of clients to the servers in them.

mod entry;
mod refused;
mod server;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::client::{Client, Scope, Spot};
use crate::found::{Found, Problem, Wrong};
use crate::places::Places;
use crate::tree::{self, Data, Format, Key, Node};
use crate::variables::{Input, Speech};

/// What all clients have written down, or one of them. Files that are not there say nothing.
pub fn find(places: &Places, only: Option<Client>) -> Vec<Found> {
    let clients = Client::ALL
        .into_iter()
        .filter(|client| only.is_none_or(|only| only == *client));
    let mut seen = BTreeSet::new();
    // In the home itself, the person's file and the project's are the same.
    let spots = clients
        .flat_map(|client| client.spots(places))
        .filter(|spot| seen.insert(spot.path.clone()));
    let mut found: Vec<Found> = spots.flat_map(|spot| open(&spot, places)).collect();
    refused::mark(&mut found, places);
    found
}

/// What stands in one file. A file can speak of several projects.
pub fn open(spot: &Spot, places: &Places) -> Vec<Found> {
    match read_text(&spot.path) {
        Ok(text) => read(spot, &text, places),
        Err(error) if is_absent(&error) => Vec::new(),
        Err(source) => vec![hopeless(spot, None, Wrong::Unreadable { source })],
    }
}

/// What stands in a file with this text.
pub fn read(spot: &Spot, text: &str, places: &Places) -> Vec<Found> {
    let text = text.trim_start_matches('\u{feff}');
    let root = match tree::parse(Format::of(&spot.path), text) {
        Ok(root) => root,
        Err(misspelt) => {
            let line = tree::line(text, misspelt.at);
            return vec![hopeless(
                spot,
                Some(line),
                Wrong::Misspelt {
                    message: misspelt.message,
                },
            )];
        }
    };
    let off = switched_off(&root);
    sections(spot.client, &root)
        .into_iter()
        .map(|section| {
            let project = section.project.clone().or_else(|| project_of(spot, places));
            let speech = Speech {
                client: spot.client,
                home: &places.home,
                project: project.as_deref(),
                folder: spot.path.parent().unwrap_or(&places.home),
                inputs: inputs(&root),
                files: &|path| readable(path, spot, places),
                fixed: Cell::default(),
            };
            Reader {
                spot,
                text,
                speech: &speech,
                off: &off,
            }
            .section(&section)
        })
        .collect()
}

/// A place in a file where servers stand.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    /// The keys that lead there.
    pub(crate) keys: Vec<String>,
    pub(crate) node: &'a Node,
    /// Where alone they count, if the file says so.
    pub(crate) project: Option<PathBuf>,
}

/// Where servers stand in a file of this client.
pub(crate) fn sections(client: Client, root: &Node) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut look = |keys: &[&str]| {
        if let Some(node) = root.at(keys) {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            sections.push(Section {
                keys,
                node,
                project: None,
            });
        }
    };
    match client {
        Client::VsCode => {
            look(&["servers"]);
            look(&["mcp", "servers"]);
            look(&["mcpServers"]);
        }
        Client::Zed => look(&["context_servers"]),
        Client::Codex => look(&["mcp_servers"]),
        Client::Goose => look(&["extensions"]),
        Client::Opencode if nests(root) => look(&["mcp", "servers"]),
        Client::Opencode => look(&["mcp"]),
        Client::Gemini | Client::Continue | Client::ClaudeCode => look(&["mcpServers"]),
        _ => {
            look(&["mcpServers"]);
            look(&["servers"]);
        }
    }
    if client == Client::ClaudeCode {
        let projects = root.get("projects").map(Node::entries).unwrap_or_default();
        sections.extend(projects.iter().filter_map(|(folder, settings)| {
            let keys = ["projects", &folder.text, "mcpServers"]
                .map(str::to_owned)
                .into();
            let node = settings.get("mcpServers")?;
            let project = Some(PathBuf::from(&folder.text));
            (!node.entries().is_empty()).then_some(Section {
                keys,
                node,
                project,
            })
        }));
    }
    sections
}

/// Whether opencode's servers stand one level deeper, as they do since its second layout. A
/// server that happens to be called `servers` says what type it is.
fn nests(root: &Node) -> bool {
    root.at(&["mcp", "servers"])
        .is_some_and(|node| node.is_map() && node.get("type").is_none())
}

/// The servers of a section by name; lists name theirs inside.
pub(crate) fn named<'a>(section: &Section<'a>) -> Vec<(Option<String>, &'a Key, &'a Node)> {
    const NO_KEY: &Key = &Key {
        text: String::new(),
        span: 0..0,
    };
    match &section.node.data {
        Data::List(items) => {
            let name = |node: &Node| node.get("name").and_then(Node::text).map(str::to_owned);
            items
                .iter()
                .map(|node| (name(node), NO_KEY, node))
                .collect()
        }
        _ => section
            .node
            .entries()
            .iter()
            .map(|(key, node)| (Some(key.text.clone()), key, node))
            .collect(),
    }
}

/// What the servers of one section are read with.
struct Reader<'a> {
    spot: &'a Spot,
    text: &'a str,
    speech: &'a Speech<'a>,
    off: &'a BTreeSet<String>,
}

impl Reader<'_> {
    fn section(&self, section: &Section<'_>) -> Found {
        let project = self.speech.project.map(Path::to_owned);
        let path = self.spot.path.clone();
        let (servers, problems) = (Vec::new(), Vec::new());
        let (client, scope) = (self.spot.client, self.spot.scope);
        let mut found = Found {
            client,
            path,
            project,
            scope,
            servers,
            kitbag: false,
            door: None,
            problems,
        };
        if !section.node.holds_servers() {
            let (key, expected) = (section.keys.join("."), "a table of servers");
            let wrong = Wrong::Type {
                key,
                expected,
                found: section.node.kind(),
            };
            found.problems.push(self.problem(section.node, wrong));
        }
        for (name, _, node) in named(section) {
            match self.server(name, node) {
                Ok(server) if server::is_kitbag(&server) => {
                    found.kitbag = true;
                    found.door = Some(server.launch);
                }
                Ok(server) => found.servers.push(server),
                Err(wrong) => found.problems.push(self.problem(node, wrong)),
            }
        }
        found
    }

    fn problem(&self, node: &Node, what: Wrong) -> Problem {
        let line = Some(tree::line(self.text, node.span.start));
        Problem {
            path: self.spot.path.clone(),
            line,
            what,
        }
    }

    fn server(&self, name: Option<String>, node: &Node) -> Result<crate::FoundServer, Wrong> {
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            return Err(match node.get("uses").and_then(Node::text) {
                Some(block) => Wrong::PartOfClient {
                    server: block.to_owned(),
                },
                None => Wrong::Nameless,
            });
        };
        let mut server = server::read(&name, node, self.speech)?;
        server.disabled |= self.off.contains(&name);
        Ok(server)
    }
}

/// Names that Gemini keeps on a list of its own.
fn switched_off(root: &Node) -> BTreeSet<String> {
    let lists = [root.at(&["mcp", "excluded"]), root.get("excludeMCPServers")];
    let names = lists.into_iter().flatten().filter_map(Node::list).flatten();
    names.filter_map(Node::text).map(str::to_owned).collect()
}

/// What VS Code asks the person for.
fn inputs(root: &Node) -> BTreeMap<String, Input> {
    let nested = root.at(&["mcp", "inputs"]);
    let items = root
        .get("inputs")
        .or(nested)
        .and_then(Node::list)
        .unwrap_or_default();
    let input = |item: &Node| {
        let text = |key| item.get(key).and_then(Node::text).map(str::to_owned);
        let password = item.get("password").and_then(Node::bool).unwrap_or(false);
        let description = text("description").unwrap_or_default();
        Some((
            text("id")?,
            Input {
                description,
                password,
                default: text("default"),
            },
        ))
    };
    items.iter().filter_map(input).collect()
}

/// A file that another one names. What a project brings along may name its own files, and none of
/// the person's.
fn readable(path: &Path, spot: &Spot, places: &Places) -> Option<String> {
    if spot.scope == Scope::Project {
        let project = fs::canonicalize(&places.cwd).ok()?;
        fs::canonicalize(path)
            .ok()
            .filter(|path| path.starts_with(project))?;
    }
    read_text(path).ok()
}

/// The text of a file. Reading a pipe or a device would never end, and what is larger than any
/// settings would only fill the memory.
fn read_text(path: &Path) -> io::Result<String> {
    /// Claude Code keeps much beside its servers, and even that is a tenth of this.
    const LARGEST: u64 = 256 * 1024 * 1024;
    let found = fs::metadata(path)?;
    if !found.is_file() && !found.is_dir() {
        return Err(io::Error::other("it is not a file"));
    }
    if found.len() > LARGEST {
        return Err(io::Error::other("it is larger than settings can be"));
    }
    fs::read_to_string(path)
}

fn project_of(spot: &Spot, places: &Places) -> Option<PathBuf> {
    (spot.scope == Scope::Project).then(|| places.cwd.clone())
}

fn hopeless(spot: &Spot, line: Option<usize>, what: Wrong) -> Found {
    Found {
        client: spot.client,
        path: spot.path.clone(),
        project: None,
        scope: spot.scope,
        servers: Vec::new(),
        kitbag: false,
        door: None,
        problems: vec![Problem {
            path: spot.path.clone(),
            line,
            what,
        }],
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
