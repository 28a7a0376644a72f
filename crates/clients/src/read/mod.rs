//! Reads the servers from clients' files.

mod file;
mod launch;
mod rejected_servers;
mod section;
mod server;
mod settings;
mod translator;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::client::{Client, ClientFile, Scope};
use crate::config::{ClientConfig, FileFault, FileProblem, FoundServer};
use crate::dialect::{ClientDialect, ClientPrompt};
use crate::directories::ClientDirectories;
use crate::tree::{self, FileFormat, Node};
use file::{read_mentioned, read_text};
pub(crate) use section::{ServerSection, named_servers, sections};

/// Reads the files of all clients, or of one. Files that do not exist are skipped.
pub fn find(directories: &ClientDirectories, only: Option<Client>) -> Vec<ClientConfig> {
    let clients = Client::ALL.into_iter();
    let clients = clients.filter(|client| only.is_none_or(|only| only == *client));
    let mut seen = BTreeSet::new();
    let mut configs = Vec::new();
    for file in clients.flat_map(|client| client.files(directories)) {
        // In the home itself, the user's file and the project's file are the same.
        if seen.insert(file.path.clone()) {
            configs.extend(open(&file, directories));
        }
    }
    rejected_servers::disable_rejected(&mut configs, directories);
    configs
}

/// Reads one file, which can hold the servers of several projects.
pub fn open(file: &ClientFile, directories: &ClientDirectories) -> Vec<ClientConfig> {
    match read_text(&file.path) {
        Ok(text) => read(file, &text, directories),
        Err(error) if is_absent(&error) => Vec::new(),
        Err(source) => vec![unreadable_file(
            file,
            None,
            FileFault::Unreadable { source },
        )],
    }
}

/// Reads a file with this text.
pub fn read(file: &ClientFile, text: &str, directories: &ClientDirectories) -> Vec<ClientConfig> {
    let text = text.trim_start_matches('\u{feff}');
    let root = match tree::parse(FileFormat::from_path(&file.path), text) {
        Ok(root) => root,
        Err(error) => {
            let line = tree::line(text, error.at);
            let message = error.message;
            return vec![unreadable_file(
                file,
                Some(line),
                FileFault::Syntax { message },
            )];
        }
    };
    let reader = FileReader {
        file,
        text,
        directories,
        inputs: inputs(&root),
        off: switched_off(&root),
    };
    let sections = sections(file.client, &root).into_iter();
    sections.map(|section| reader.read(&section)).collect()
}

/// The facts about a file that its sections share.
struct FileReader<'a> {
    file: &'a ClientFile,
    text: &'a str,
    directories: &'a ClientDirectories,
    inputs: BTreeMap<String, ClientPrompt>,
    off: BTreeSet<String>,
}

impl FileReader<'_> {
    fn read(&self, section: &ServerSection<'_>) -> ClientConfig {
        let project = section.project.clone();
        let mut config = empty(self.file);
        config.project = project.or_else(|| self.project());
        if !section.node.holds_servers() {
            let fault = FileFault::Type {
                key: section.keys.join("."),
                expected: "a table of servers",
                found: section.node.kind(),
            };
            config.problems.push(self.problem(section.node, fault));
        }
        self.read_servers(section, &mut config);
        config
    }

    fn read_servers(&self, section: &ServerSection<'_>, config: &mut ClientConfig) {
        let project = config.project.clone();
        let dialect = self.dialect(project.as_deref());
        for (name, _, node) in named_servers(section) {
            match self.read_server(name, node, &dialect) {
                Ok(server) if server::is_kitbag(&server) => config.kitbag = Some(server.launch),
                Ok(server) => config.servers.push(server),
                Err(fault) => config.problems.push(self.problem(node, fault)),
            }
        }
    }

    fn dialect<'d>(&'d self, project: Option<&'d Path>) -> ClientDialect<'d> {
        let home = &self.directories.home;
        ClientDialect {
            client: self.file.client,
            home,
            project,
            folder: self.file.path.parent().unwrap_or(home),
            inputs: &self.inputs,
            read_file: Box::new(|path| read_mentioned(path, self.file, self.directories)),
            folder_used: Cell::default(),
        }
    }

    fn read_server(
        &self,
        name: Option<String>,
        node: &Node,
        dialect: &ClientDialect<'_>,
    ) -> Result<FoundServer, FileFault> {
        let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
            return Err(missing_name(node));
        };
        let mut server = server::read(&name, node, dialect)?;
        server.disabled |= self.off.contains(&name);
        Ok(server)
    }

    fn project(&self) -> Option<PathBuf> {
        (self.file.scope == Scope::Project).then(|| self.directories.cwd.clone())
    }

    fn problem(&self, node: &Node, fault: FileFault) -> FileProblem {
        FileProblem {
            path: self.file.path.clone(),
            line: Some(tree::line(self.text, node.span.start)),
            fault,
        }
    }
}

/// Continue writes `uses` for a block from its own hub.
fn missing_name(node: &Node) -> FileFault {
    match node.get("uses").and_then(Node::text) {
        Some(block) => FileFault::PartOfClient {
            server: block.to_owned(),
        },
        None => FileFault::Nameless,
    }
}

/// Gemini lists the names of disabled servers.
fn switched_off(root: &Node) -> BTreeSet<String> {
    let lists = [root.at(&["mcp", "excluded"]), root.get("excludeMCPServers")];
    let names = lists.into_iter().flatten().filter_map(Node::list).flatten();
    names.filter_map(Node::text).map(str::to_owned).collect()
}

/// The questions that VS Code asks the user.
fn inputs(root: &Node) -> BTreeMap<String, ClientPrompt> {
    let nested = root.at(&["mcp", "inputs"]);
    let items = root.get("inputs").or(nested).and_then(Node::list);
    items.unwrap_or_default().iter().filter_map(input).collect()
}

fn input(item: &Node) -> Option<(String, ClientPrompt)> {
    let prompt = ClientPrompt {
        description: text_of(item, "description").unwrap_or_default(),
        password: item.get("password").and_then(Node::bool).unwrap_or(false),
        default: text_of(item, "default"),
    };
    Some((text_of(item, "id")?, prompt))
}

fn text_of(item: &Node, key: &str) -> Option<String> {
    item.get(key).and_then(Node::text).map(str::to_owned)
}

fn unreadable_file(file: &ClientFile, line: Option<usize>, fault: FileFault) -> ClientConfig {
    let problem = FileProblem {
        path: file.path.clone(),
        line,
        fault,
    };
    ClientConfig {
        problems: vec![problem],
        ..empty(file)
    }
}

fn empty(file: &ClientFile) -> ClientConfig {
    ClientConfig {
        client: file.client,
        path: file.path.clone(),
        project: None,
        scope: file.scope,
        servers: Vec::new(),
        kitbag: None,
        problems: Vec::new(),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
