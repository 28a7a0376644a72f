//! Servers behind a gateway, and a conversation with it, of which every text is recorded.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;
use xtask::setup;

use crate::catalog::{self, Upstreams};
use crate::cli::kitbag;
use crate::http::{Connection, Session, text};
use crate::peer::wait_until_all;
use crate::sets;

#[derive(Debug)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    /// The goal for the share of tokens saved at the start.
    pub(super) saving: f64,
    folder: PathBuf,
    sections: String,
    queries: Vec<String>,
    /// The server with files, for the tool call of the conversation.
    files: &'static str,
    _upstreams: Option<Upstreams>,
}

/// The texts that a model would read.
#[derive(Debug)]
pub(super) struct RecordedTexts {
    pub(super) tools: usize,
    pub(super) catalog: usize,
    pub(super) shown: usize,
    /// The answers to searches.
    pub(super) searches: Vec<String>,
    /// The descriptions of the found tools, and their own definitions.
    pub(super) definitions: Vec<(String, String)>,
    /// Requests and answers of a conversation on the search surface, after its start.
    pub(super) conversation: Vec<String>,
    /// The same conversation with every tool listed.
    pub(super) direct: Vec<String>,
}

impl Scene {
    pub(super) fn all(repository: &Repository, data: Option<&Path>) -> anyhow::Result<Vec<Self>> {
        let mut scenes = vec![Self::everyday(repository)?, Self::small(repository)?];
        if let Some(data) = data {
            scenes.push(Self::real(repository, data)?);
        }
        Ok(scenes)
    }

    fn everyday(repository: &Repository) -> anyhow::Result<Self> {
        let folder = repository.scratch("bench-tokens-everyday")?;
        Ok(Self {
            name: "five everyday servers: filesystem, git, github, notion, playwright",
            saving: 0.95,
            sections: everyday_servers(repository, &folder)?,
            queries: EVERYDAY_QUERIES.map(str::to_owned).to_vec(),
            files: "filesystem",
            folder,
            _upstreams: None,
        })
    }

    fn small(repository: &Repository) -> anyhow::Result<Self> {
        let set = repository.evals().join("small");
        let folder = repository.scratch("bench-tokens-small")?;
        Self::from_set(
            "the tools of evals/small",
            0.95,
            repository,
            folder,
            &set,
            &set,
        )
    }

    fn real(repository: &Repository, data: &Path) -> anyhow::Result<Self> {
        let case = sets::most_real(repository, Some(data));
        let folder = repository.scratch("bench-tokens-real")?;
        let tools = &case.catalogs[0];
        Self::from_set(
            "the catalog of 192 servers",
            0.999,
            repository,
            folder,
            tools,
            &case.dataset,
        )
    }

    fn from_set(
        name: &'static str,
        saving: f64,
        repository: &Repository,
        folder: PathBuf,
        tools: &Path,
        queries: &Path,
    ) -> anyhow::Result<Self> {
        let upstreams =
            Upstreams::start(repository, &folder, &catalog::read(&[tools.to_owned()])?)?;
        let lines = catalog::lines(&queries.join("queries.jsonl"))?;
        let queries = lines
            .iter()
            .filter_map(|line| line["query"].as_str())
            .map(str::to_owned)
            .collect();
        Ok(Self {
            name,
            saving,
            sections: format!(
                "{}{}",
                upstreams.sections(),
                files_server(repository, &folder, NOTES)?
            ),
            queries,
            files: NOTES,
            folder,
            _upstreams: Some(upstreams),
        })
    }

    pub(super) fn play(&self, repository: &Repository) -> anyhow::Result<RecordedTexts> {
        let config = self.folder.join("kitbag.toml");
        fs::write(&config, &self.sections)
            .with_context(|| format!("writing {}", config.display()))?;
        let tokens: Value = serde_json::from_str(&kitbag(
            repository,
            &self.folder,
            &["--json", "stats", "tokens"],
        )?)?;
        kitbag(repository, &self.folder, &["index", "build"])?;
        let number = |key: &str| {
            tokens[key]
                .as_u64()
                .map(|it| it as usize)
                .with_context(|| format!("no {key}"))
        };
        let tools = number("tools")?;
        let gateway = Gateway::start_with_sections(
            repository,
            Profile::Release,
            &self.folder,
            &self.sections,
        )?;
        wait_until_all(
            &mut Connection::open(&gateway.origin)?,
            "embedded",
            tools,
            Instant::now(),
        )?;
        let definitions = definitions(&gateway)?;
        let mut session = Session::open(&gateway.origin, "/mcp")?;
        let mut searches = Vec::new();
        for query in &self.queries {
            searches.push(text(&session.call(SEARCH, &json!({ "query": query }))?)?);
        }
        let mut described = Vec::new();
        for (name, own) in collect_found_tools(&searches, &definitions) {
            let answer = text(&session.call("discover_apis", &json!({ "tool": name }))?)?;
            described.push((answer, own.to_string()));
        }
        let (conversation, direct) = self.converse(&mut session)?;
        Ok(RecordedTexts {
            tools,
            catalog: number("catalog")?,
            shown: number("shown")?,
            searches,
            definitions: described,
            conversation,
            direct,
        })
    }

    /// Finds a tool, calls it and reads the answer; then the call without the search.
    fn converse(&self, session: &mut Session) -> anyhow::Result<(Vec<String>, Vec<String>)> {
        let query = json!({ "query": "read a text file" });
        let found = text(&session.call(SEARCH, &query)?)?;
        let tool = format!("{}__read_text_file", self.files);
        let arguments = json!({ "path": note(&self.folder) });
        let call = json!({ "tool": tool, "arguments": arguments });
        let answer = session.call("call_api", &call)?;
        let read = text(&answer)?;
        if answer["isError"] == true || !read.contains(NOTE[0]) {
            bail!("{tool} answered {answer}");
        }
        let direct = vec![
            json!({ "name": tool, "arguments": arguments }).to_string(),
            read.clone(),
        ];
        Ok((
            vec![query.to_string(), found, call.to_string(), read],
            direct,
        ))
    }
}

const SEARCH: &str = "search_available_tools";
/// More would add nothing new.
const MAX_DESCRIBED: usize = 300;
const NOTES: &str = "my-notes";
const NOTE: [&str; 4] = [
    "The release goes out on Thursday if the migration has run everywhere by Wednesday noon.",
    "Ann watches the queue, Ben the disks; both are on call until Friday evening.",
    "Roll back with the previous image: the new tables are only added to, never changed.",
    "What is still open: the text of the announcement, and whether the old endpoint stays until June.",
];
const EVERYDAY_QUERIES: [&str; 20] = [
    "read the readme file",
    "list what is in the downloads folder",
    "find all files that end in .toml",
    "replace a line in a config file",
    "create a new folder for the reports",
    "move the draft into the archive",
    "how large are these files",
    "what did I change since the last commit",
    "show the latest commits",
    "commit what is staged with a message",
    "switch to another branch",
    "which files are modified but not committed",
    "open an issue about the crash on start",
    "which pull requests wait for my review",
    "search the repositories of our organisation",
    "add a comment to the release page in Notion",
    "create a page under the meeting notes",
    "look up entries of a Notion database",
    "open a web page and take a screenshot",
    "fill in the login form and press the button",
];

/// Every tool as listed on the `all` route, by name.
fn definitions(gateway: &Gateway) -> anyhow::Result<HashMap<String, Value>> {
    let tools = Session::open(&gateway.origin, "/mcp/all")?.tools()?;
    let named = tools
        .into_iter()
        .map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool));
    Ok(named.collect())
}

/// The found tools, without duplicates, with their definitions.
fn collect_found_tools<'a>(
    searches: &[String],
    definitions: &'a HashMap<String, Value>,
) -> Vec<(&'a String, &'a Value)> {
    let mut found: Vec<(&String, &Value)> = Vec::new();
    for line in searches.iter().flat_map(|answer| answer.lines()) {
        let name = line.split('(').next().unwrap_or_default();
        if let Some(tool) = definitions.get_key_value(name)
            && !found.contains(&tool)
        {
            found.push(tool);
        }
    }
    found.truncate(MAX_DESCRIBED);
    found
}

fn everyday_servers(repository: &Repository, folder: &Path) -> anyhow::Result<String> {
    let everyday = setup::everyday_servers(repository)?;
    let git = repository.tools().join("python/servers/bin/mcp-server-git");
    let script = |path: &str| node(repository, &everyday.join("node_modules").join(path), "");
    Ok([
        files_server(repository, folder, "filesystem")?,
        format!("[servers.git]\ncommand = '{}'\n\n", git.display()),
        format!(
            "[servers.github]\n{}",
            script("@modelcontextprotocol/server-github/dist/index.js")
        ),
        format!(
            "[servers.notion]\n{}",
            script("@notionhq/notion-mcp-server/bin/cli.mjs")
        ),
        format!("[servers.playwright]\n{}", script("@playwright/mcp/cli.js")),
    ]
    .concat())
}

/// A server for the files of a directory with a note in it.
fn files_server(repository: &Repository, folder: &Path, name: &str) -> anyhow::Result<String> {
    if !repository.node().is_file() {
        bail!("the servers are not installed; get them with `cargo xtask setup`");
    }
    let note = note(folder);
    fs::write(&note, NOTE.join("\n")).with_context(|| format!("writing {}", note.display()))?;
    let folder = format!(", '{}'", folder.display());
    let package = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
    Ok(format!(
        "[servers.{name}]\n{}",
        node(repository, &repository.tools().join(package), &folder)
    ))
}

fn node(repository: &Repository, script: &Path, more: &str) -> String {
    format!(
        "command = '{}'\nargs = ['{}'{more}]\n\n",
        repository.node().display(),
        script.display()
    )
}

fn note(folder: &Path) -> PathBuf {
    folder.join("release.txt")
}
