//! What the gateway costs: the same calls to the same upstream, directly and through it.
//!
//! The ways take turns within one run, round by round, so that a machine that is busy for
//! a moment is busy for all of them; the median of the rounds is reported.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;

use crate::cargo;
use crate::load::{self, Endpoint, Sample};
use crate::processes::{Memory, Server};
use crate::repository::{Profile, Repository};
use crate::scene::{self, Era, Gateway};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let plan = Plan::parse(arguments)?;
    cargo::run(
        repository,
        &["build", "--release", "-p", "kitbag-gateway", "-p", "kitbag-testbed", "-p", "xtask-load"],
    )?;
    let mut rows = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let folder = repository.scratch(&format!("bench-{era}"))?;
        let ways = Ways::open(repository, &folder, era, &plan)?;
        for clients in CLIENTS {
            eprintln!("{era}, {clients} clients: {} rounds of {} s each way", plan.rounds, plan.seconds);
            rows.extend(compare(repository, &ways, era, clients, &plan)?);
        }
    }
    if plan.json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        table(&rows);
    }
    Ok(())
}

const CLIENTS: [usize; 3] = [1, 32, 256];

#[derive(Debug)]
struct Plan {
    json: bool,
    rounds: usize,
    seconds: f64,
    mcp_proxy: Option<PathBuf>,
}

impl Plan {
    fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut plan = Self { json: false, rounds: 5, seconds: 3.0, mcp_proxy: installed_mcp_proxy() };
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] => return Ok(plan),
                ["--json", rest @ ..] => {
                    plan.json = true;
                    rest
                }
                ["--rounds", number, rest @ ..] => {
                    plan.rounds = number.parse().context("--rounds takes a whole number")?;
                    rest
                }
                ["--seconds", number, rest @ ..] => {
                    plan.seconds = number.parse().context("--seconds takes a number")?;
                    rest
                }
                ["--with-mcp-proxy", path, rest @ ..] => {
                    plan.mcp_proxy = Some(fs::canonicalize(path).with_context(|| format!("finding {path}"))?);
                    rest
                }
                [unknown, ..] => bail!("`cargo xtask bench proxy` does not take {unknown}"),
            };
        }
    }
}

/// Where `cargo install mcp-proxy` puts it; another program of that name would be something else.
fn installed_mcp_proxy() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))?;
    Some(cargo.join("bin/mcp-proxy")).filter(|program| program.is_file())
}

/// One upstream and every way to it; the first way is the direct one.
#[derive(Debug)]
struct Ways {
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    name: &'static str,
    endpoint: Endpoint,
    process: Server,
}

impl Ways {
    fn open(repository: &Repository, folder: &Path, era: Era, plan: &Plan) -> anyhow::Result<Self> {
        let (testbed, url) = scene::start_testbed(repository, Profile::Release, folder, era)?;
        let gateway = Gateway::start(repository, Profile::Release, folder, &scene::http_section(&url))?;
        let mut ways = Vec::new();
        if let (Some(program), Era::Legacy) = (&plan.mcp_proxy, era) {
            let (process, endpoint) = start_mcp_proxy(program, folder, &url)?;
            let tool = format!("{}/{TOOL}", scene::NAME);
            ways.push(Way { name: "mcp-proxy", endpoint: Endpoint { url: endpoint, tool, era }, process });
        }
        let endpoint = |url, tool: &str| Endpoint { url, tool: tool.to_owned(), era };
        let merged = format!("{}/mcp", gateway.origin);
        let name = format!("{}__{TOOL}", scene::NAME);
        ways.insert(0, Way { name: "kitbag", endpoint: endpoint(merged, &name), process: gateway.process });
        ways.insert(0, Way { name: "direct", endpoint: endpoint(url, TOOL), process: testbed });
        Ok(Self { ways })
    }
}

fn compare(
    repository: &Repository,
    ways: &Ways,
    era: Era,
    clients: usize,
    plan: &Plan,
) -> anyhow::Result<Vec<Row>> {
    let mut samples: Vec<Vec<Sample>> = ways.ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.rounds.max(1) {
        for (way, samples) in ways.ways.iter().zip(&mut samples) {
            samples.push(load::measure(repository, &way.endpoint, clients, plan.seconds)?);
        }
    }
    let direct = load::median(&samples[0]);
    let rows = ways.ways.iter().zip(&samples).map(|(way, samples)| {
        let (sample, memory) = (load::median(samples), way.process.memory()?);
        Ok(Row { era, clients, way: way.name, sample, direct, memory })
    });
    rows.collect()
}

/// Its port cannot be chosen by the system, so a free one is looked for first.
fn start_mcp_proxy(program: &Path, folder: &Path, upstream: &str) -> anyhow::Result<(Server, String)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
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
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline {
            bail!("{} did not open port {port} in time", program.display());
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok((server, format!("http://127.0.0.1:{port}/")))
}

#[derive(Debug)]
struct Row {
    era: Era,
    clients: usize,
    way: &'static str,
    sample: Sample,
    direct: Sample,
    memory: Memory,
}

impl Row {
    fn json(&self) -> serde_json::Value {
        json!({
            "era": self.era.to_string(),
            "clients": self.clients,
            "way": self.way,
            "per_second": self.sample.per_second,
            "p50_us": self.sample.p50_us,
            "p99_us": self.sample.p99_us,
            "added_p50_us": self.sample.p50_us - self.direct.p50_us,
            "added_p99_us": self.sample.p99_us - self.direct.p99_us,
            "share_of_direct": self.sample.per_second / self.direct.per_second,
            "memory_kib": self.memory.now_kib,
            "memory_peak_kib": self.memory.peak_kib,
        })
    }
}

/// The memory in the row of the direct way is that of the upstream itself.
fn table(rows: &[Row]) {
    println!(
        "{:<7} {:>7} {:<10} {:>9} {:>9} {:>9} {:>10} {:>10} {:>7} {:>8}",
        "era", "clients", "way", "calls/s", "p50 µs", "p99 µs", "added p50", "added p99", "share", "MiB"
    );
    for row in rows {
        let (sample, direct) = (row.sample, row.direct);
        println!(
            "{:<7} {:>7} {:<10} {:>9.0} {:>9.0} {:>9.0} {:>10.0} {:>10.0} {:>6.0}% {:>8.1}",
            row.era.to_string(),
            row.clients,
            row.way,
            sample.per_second,
            sample.p50_us,
            sample.p99_us,
            sample.p50_us - direct.p50_us,
            sample.p99_us - direct.p99_us,
            100.0 * sample.per_second / direct.per_second,
            row.memory.now_kib as f64 / 1024.0,
        );
    }
}

/// What the testbed offers for this: it repeats `message`.
const TOOL: &str = "echo";
