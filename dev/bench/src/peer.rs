//! A gateway in the comparison: how it is started in front of the same servers, and how it is
//! searched.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::processes::Server;
use xtask::repository::{Profile, Repository};
use xtask::scene::Gateway;

use crate::catalog::Upstreams;
use crate::cli::kitbag;
use crate::http::{Connection, Session};
use crate::ways::{free_port, wait_for};

#[derive(Debug, Clone)]
pub(crate) enum Peer {
    Kitbag,
    /// With the Python that has it.
    FastMcp(PathBuf),
    McpProxy(PathBuf),
}

impl Peer {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kitbag => "Kitbag",
            Self::FastMcp(_) => "FastMCP",
            Self::McpProxy(_) => "mcp-proxy",
        }
    }

    /// Returns when every one of `tools` tools can be found.
    pub(crate) fn start(
        &self,
        repository: &Repository,
        folder: &Path,
        upstreams: &Upstreams,
        tools: usize,
    ) -> anyhow::Result<Running> {
        match self {
            Self::Kitbag => start_kitbag(repository, folder, upstreams, tools),
            Self::FastMcp(python) => start_fastmcp(python, repository, folder, upstreams),
            Self::McpProxy(program) => start_mcp_proxy(program, folder, upstreams),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Server,
    /// From the start until all tools can be found by words.
    pub(crate) searchable: Duration,
    /// Until they can be found by meaning, for gateways with vectors.
    pub(crate) embedded: Option<Duration>,
    method: SearchMethod,
}

/// A tool by its server and its name there.
pub(crate) type Found = (String, String);

#[derive(Debug)]
enum SearchMethod {
    /// `POST /v1/retrieve`; its names are resolved with `kitbag tools`.
    Retrieve(Connection, HashMap<String, Found>),
    SearchTool(Session, SearchTool),
}

#[derive(Debug, Clone, Copy)]
enum SearchTool {
    FastMcp,
    McpProxy,
}

impl Running {
    pub(crate) fn search(&mut self, query: &str) -> anyhow::Result<Vec<Found>> {
        match &mut self.method {
            SearchMethod::Retrieve(connection, names) => {
                let found = retrieve(connection, query)?;
                let tools = items(&found["candidates"]).filter_map(|it| it["tool_name"].as_str());
                Ok(tools.filter_map(|name| names.get(name).cloned()).collect())
            }
            SearchMethod::SearchTool(session, tool) => tool.search(session, query),
        }
    }
}

impl SearchTool {
    fn search(self, session: &mut Session, query: &str) -> anyhow::Result<Vec<Found>> {
        let (tool, arguments) = match self {
            Self::FastMcp => ("search_tools", json!({ "query": query })),
            Self::McpProxy => (
                "proxy/search_tools",
                json!({ "query": query, "top_k": TOP }),
            ),
        };
        let result = session.call(tool, &arguments)?;
        if result["isError"] == true {
            bail!("{tool} failed: {result}");
        }
        // FastMCP returns nothing at all if it finds nothing.
        let text = result["content"][0]["text"].as_str().unwrap_or("[]");
        let found: Value =
            serde_json::from_str(text).with_context(|| format!("{tool} answered {text}"))?;
        Ok(items(&found).filter_map(|it| self.read(it)).collect())
    }

    fn read(self, found: &Value) -> Option<Found> {
        let name = found["name"].as_str()?;
        let (server, name) = match self {
            Self::FastMcp => name.split_once("__")?,
            Self::McpProxy => (found["server"].as_str()?, name),
        };
        Some((server.to_owned(), name.to_owned()))
    }
}

const TOP: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Any query will do to find out whether there are answers.
const PROBE: &str = "create a file or search for an issue";

fn start_kitbag(
    repository: &Repository,
    folder: &Path,
    upstreams: &Upstreams,
    tools: usize,
) -> anyhow::Result<Running> {
    let start = Instant::now();
    let gateway =
        Gateway::start_with_sections(repository, Profile::Release, folder, &upstreams.sections())?;
    let mut connection = Connection::open(&gateway.origin)?;
    let searchable = wait_until_all(&mut connection, "indexed", tools, start)?;
    let embedded = wait_until_all(&mut connection, "embedded", tools, start)?;
    let names = names(repository, folder)?;
    let method = SearchMethod::Retrieve(connection, names);
    Ok(Running {
        process: gateway.process,
        searchable,
        embedded: Some(embedded),
        method,
    })
}

/// Waits until a gateway at this address has the vectors of all tools.
pub(crate) fn wait_until_embedded(origin: &str, tools: usize) -> anyhow::Result<Duration> {
    let mut connection = Connection::open(origin)?;
    wait_until_all(&mut connection, "embedded", tools, Instant::now())
}

pub(crate) fn wait_until_all(
    connection: &mut Connection,
    count: &str,
    tools: usize,
    start: Instant,
) -> anyhow::Result<Duration> {
    loop {
        let answer = retrieve(connection, PROBE)?;
        if answer[count]
            .as_u64()
            .is_some_and(|so_far| so_far >= tools as u64)
        {
            return Ok(start.elapsed());
        }
        if start.elapsed() > TIMEOUT {
            bail!(
                "{} of {tools} tools are {count}, and no more come",
                answer[count]
            );
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn retrieve(connection: &mut Connection, intent: &str) -> anyhow::Result<Value> {
    connection
        .post(
            "/v1/retrieve",
            &[],
            &json!({ "intent": intent, "top_k": TOP }),
        )?
        .json()
}

/// The tool of each name at the endpoint. Truncated names cannot be split again.
fn names(repository: &Repository, folder: &Path) -> anyhow::Result<HashMap<String, Found>> {
    let printed = kitbag(repository, folder, &["tools", "--json"])?;
    let rows: Vec<Value> = serde_json::from_str(&printed).context("reading `kitbag tools`")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let named = |row: &Value| {
        (
            text(&row["name"]),
            (text(&row["server"]), text(&row["tool"])),
        )
    };
    Ok(rows.iter().map(named).collect())
}

fn start_fastmcp(
    python: &Path,
    repository: &Repository,
    folder: &Path,
    upstreams: &Upstreams,
) -> anyhow::Result<Running> {
    let servers = folder.join("servers.json");
    fs::write(&servers, json!(upstreams.urls).to_string())
        .context("writing the list of servers")?;
    let port = free_port()?;
    let mut command = Command::new(python);
    command
        .arg(repository.pins().join("fastmcp_search.py"))
        .arg(&servers)
        .arg(port.to_string());
    let log = folder.join("fastmcp.log");
    start_and_wait(&mut command, &log, port, "/mcp", SearchTool::FastMcp)
}

fn start_mcp_proxy(
    program: &Path,
    folder: &Path,
    upstreams: &Upstreams,
) -> anyhow::Result<Running> {
    let port = free_port()?;
    let mut text = format!(
        "[proxy]\nname = \"bench\"\ntool_exposure = \"search\"\n\n\
         [proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n"
    );
    for (name, url) in &upstreams.urls {
        text.push_str(&format!(
            "\n[[backends]]\nname = \"{name}\"\ntransport = \"http\"\nurl = \"{url}\"\n"
        ));
    }
    let config = folder.join("mcp-proxy.toml");
    fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
    let mut command = Command::new(program);
    command.arg("--config").arg(&config);
    start_and_wait(
        &mut command,
        &folder.join("mcp-proxy.log"),
        port,
        "/",
        SearchTool::McpProxy,
    )
}

/// Neither gateway listens before it has listed every server, so one answer shows that all are
/// ready.
fn start_and_wait(
    command: &mut Command,
    log: &Path,
    port: u16,
    path: &'static str,
    tool: SearchTool,
) -> anyhow::Result<Running> {
    let start = Instant::now();
    let process = Server::start(command, log)?;
    wait_for(port, TIMEOUT).with_context(|| format!("see {}", log.display()))?;
    let mut session = Session::open(&format!("http://127.0.0.1:{port}"), path)?;
    while tool.search(&mut session, PROBE)?.is_empty() {
        if start.elapsed() > TIMEOUT {
            bail!("nothing is found; see {}", log.display());
        }
        thread::sleep(POLL_INTERVAL);
    }
    let method = SearchMethod::SearchTool(session, tool);
    Ok(Running {
        process,
        searchable: start.elapsed(),
        embedded: None,
        method,
    })
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
