//! One upstream for a measurement, and every way to reach it.

use std::fmt;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use xtask::processes::Server;
use xtask::repository::{Profile, Repository};
use xtask::scene::{self, Era, Gateway};

use crate::load::Endpoint;

/// The called server. All of them have a tool `echo` that repeats its `message`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upstream {
    /// The testbed, which is so fast that the gateway's own time is most visible.
    Testbed(Era),
    /// A typical server from npm.
    Everything,
}

impl Upstream {
    /// The upstreams available here; the last one needs `cargo xtask setup`.
    pub(crate) fn available(repository: &Repository) -> Vec<Self> {
        let mut all = vec![Self::Testbed(Era::Legacy), Self::Testbed(Era::Modern)];
        all.extend(
            everything_script(repository)
                .is_file()
                .then_some(Self::Everything),
        );
        all
    }

    pub(crate) fn era(self) -> Era {
        match self {
            Self::Testbed(era) => era,
            Self::Everything => Era::Legacy,
        }
    }

    /// The numbers of concurrent clients. A server on Node closes connections that wait for more
    /// than five seconds, as the first of 256 would until the last has its session.
    pub(crate) fn clients(self) -> &'static [usize] {
        match self {
            Self::Testbed(_) => &[1, 32, 256],
            Self::Everything => &[1, 32],
        }
    }

    fn start(self, repository: &Repository, folder: &Path) -> anyhow::Result<(Server, String)> {
        match self {
            Self::Testbed(era) => scene::start_testbed(repository, Profile::Release, folder, era),
            Self::Everything => start_everything(repository, folder),
        }
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Testbed(_) => "testbed",
            Self::Everything => "everything",
        })
    }
}

/// Programs to compare with this build of Kitbag.
#[derive(Debug, Default)]
pub(crate) struct ComparedPrograms {
    /// Another build of Kitbag.
    pub(crate) kitbag: Option<PathBuf>,
    pub(crate) mcp_proxy: Option<PathBuf>,
}

/// The first one is the direct way.
#[derive(Debug)]
pub(crate) struct Ways(pub(crate) Vec<Way>);

#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) name: &'static str,
    pub(crate) endpoint: Endpoint,
    pub(crate) process: Server,
}

impl Ways {
    pub(crate) fn open(
        repository: &Repository,
        upstream: Upstream,
        compared: &ComparedPrograms,
    ) -> anyhow::Result<Self> {
        let era = upstream.era();
        let folder = repository.scratch(&format!("bench-{upstream}-{era}"))?;
        let (process, url) = upstream.start(repository, &folder)?;
        let gateway = Gateway::start(
            repository,
            Profile::Release,
            &folder,
            &scene::http_section(&url),
        )?;
        let (bare, bare_url) = start_bare(repository, &folder, &url)?;
        let mut ways = vec![
            Way::new("direct", era, url.clone(), TOOL.to_owned(), process),
            Way::new("bare", era, bare_url, TOOL.to_owned(), bare),
            Way::through("kitbag", era, gateway),
            Way::through(
                "unlearning",
                era,
                start_without_learning(repository, upstream, &url)?,
            ),
        ];
        if let Some(program) = &compared.kitbag {
            let folder = repository.scratch(&format!("bench-beside-{upstream}-{era}"))?;
            let section = format!("[servers.{}]\n{}", scene::NAME, scene::http_section(&url));
            let other = Gateway::start_program(program, &folder, &section)?;
            ways.push(Way::through("beside", era, other));
        }
        if let (Some(program), Era::Legacy) = (&compared.mcp_proxy, era) {
            let (process, url) = start_mcp_proxy(program, &folder, &url)?;
            let tool = format!("{}/{TOOL}", scene::NAME);
            ways.push(Way::new("mcp-proxy", era, url, tool, process));
        }
        Ok(Self(ways))
    }
}

impl Way {
    fn new(name: &'static str, era: Era, url: String, tool: String, process: Server) -> Self {
        Self {
            name,
            endpoint: Endpoint {
                url,
                tool: Some(tool),
                era,
            },
            process,
        }
    }

    fn through(name: &'static str, era: Era, gateway: Gateway) -> Self {
        let url = format!("{}/mcp/all", gateway.origin);
        let tool = format!("{}__{TOOL}", scene::NAME);
        Self::new(name, era, url, tool, gateway.process)
    }
}

/// Starts the same gateway with learning disabled, which shows the cost of learning.
fn start_without_learning(
    repository: &Repository,
    upstream: Upstream,
    url: &str,
) -> anyhow::Result<Gateway> {
    let folder = repository.scratch(&format!("bench-unlearning-{upstream}-{}", upstream.era()))?;
    let section = scene::http_section(url);
    let sections = format!(
        "[servers.{}]\n{section}\n[learning]\nenabled = false\n",
        scene::NAME
    );
    let program = repository.program_path(Profile::Release, "kitbag");
    Gateway::start_program(&program, &folder, &sections)
}

/// Starts a proxy that forwards requests unread. It shows the unavoidable part of the cost.
fn start_bare(
    repository: &Repository,
    folder: &Path,
    upstream: &str,
) -> anyhow::Result<(Server, String)> {
    let address = upstream
        .trim_start_matches("http://")
        .trim_end_matches("/mcp");
    let mut command = Command::new(repository.program_path(Profile::Release, "kitbag-bench-bare"));
    let server = Server::start(command.arg(address), &folder.join("bare.log"))?;
    let url = format!("{}/mcp", server.origin()?);
    Ok((server, url))
}

/// The path of `cargo install mcp-proxy`; another program of that name would be something else.
pub(crate) fn installed_mcp_proxy() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    Some(cargo.join("bin/mcp-proxy")).filter(|program| program.is_file())
}

fn start_mcp_proxy(
    program: &Path,
    folder: &Path,
    upstream: &str,
) -> anyhow::Result<(Server, String)> {
    let port = free_port()?;
    let config = folder.join("mcp-proxy.toml");
    let name = scene::NAME;
    let text = format!(
        "[proxy]\nname = \"bench\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\n\
         [[backends]]\nname = \"{name}\"\ntransport = \"http\"\nurl = \"{upstream}\"\n"
    );
    fs::write(&config, text).with_context(|| format!("writing {}", config.display()))?;
    let mut command = Command::new(program);
    command.arg("--config").arg(&config);
    let server = Server::start(&mut command, &folder.join("mcp-proxy.log"))?;
    wait_for(port, START_LIMIT)?;
    Ok((server, format!("http://127.0.0.1:{port}/")))
}

fn start_everything(repository: &Repository, folder: &Path) -> anyhow::Result<(Server, String)> {
    let port = free_port()?;
    let mut command = Command::new(repository.node());
    command
        .arg(everything_script(repository))
        .arg("streamableHttp")
        .env("PORT", port.to_string());
    let server = Server::start(&mut command, &folder.join("everything.log"))?;
    wait_for(port, START_LIMIT)?;
    Ok((server, format!("http://127.0.0.1:{port}/mcp")))
}

fn everything_script(repository: &Repository) -> PathBuf {
    repository
        .tools()
        .join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

/// Returns a free port, for programs that cannot let the system choose one.
pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub(super) fn wait_for(port: u16, limit: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline {
            bail!("port {port} was not opened in time");
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

const TOOL: &str = "echo";
const START_LIMIT: Duration = Duration::from_secs(30);
