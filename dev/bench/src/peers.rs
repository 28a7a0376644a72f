//! Kitbag compared with other gateways that search: the same servers behind them and the same
//! requests, one after the other in one run.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use xtask::cargo;
use xtask::processes::Memory;
use xtask::repository::Repository;

use crate::catalog::{self, Tool, Upstreams};
use crate::extras::Extra;
use crate::judge::RankingScores;
use crate::options::Options;
use crate::peer::{Found, Peer};
use crate::sets;
use crate::table::{self, share};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("peers", arguments)?;
    let fastmcp = Extra::FastMcp
        .find(repository, options.install)?
        .map(Peer::FastMcp);
    let mcp_proxy = Extra::McpProxy
        .find(repository, options.install)?
        .map(Peer::McpProxy);
    cargo::run(
        repository,
        &["build", "--release", "-p", "kitbag", "-p", "kitbag-testbed"],
    )?;
    let folder = repository.scratch("bench-peers")?;
    let case = sets::most_real(repository, options.data.as_deref());
    let folders = [vec![case.dataset.clone()], case.catalogs.clone()].concat();
    let tools = catalog::read(&folders)?;
    let requests: Vec<Request> = catalog::lines(&case.dataset.join("queries.jsonl"))?
        .iter()
        .map(Request::from_line)
        .collect();
    let scene = Scene {
        repository,
        folder: &folder,
        tools: &tools,
        requests: &requests,
    };
    let mut rows = Vec::new();
    for peer in fastmcp.into_iter().chain(mcp_proxy).chain([Peer::Kitbag]) {
        eprintln!(
            "{}: {} tools, {} requests",
            peer.name(),
            tools.len(),
            requests.len()
        );
        rows.push(scene.measure(&peer)?);
    }
    if options.json {
        let rows: Vec<Value> = rows.iter().map(|row| row.json(&scene)).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        println!(
            "{} tools of {}, {} requests\n",
            tools.len(),
            case.name,
            requests.len()
        );
        print(&rows);
    }
    Ok(())
}

#[derive(Debug)]
struct Request {
    text: String,
    relevant: Vec<String>,
}

impl Request {
    fn from_line(line: &Value) -> Self {
        let relevant = line["relevant"].as_array().into_iter().flatten();
        Self {
            text: line["query"].as_str().unwrap_or_default().to_owned(),
            relevant: relevant
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }
}

#[derive(Debug)]
struct Scene<'a> {
    repository: &'a Repository,
    folder: &'a Path,
    tools: &'a [Tool],
    requests: &'a [Request],
}

impl Scene<'_> {
    /// With upstreams of its own, so that no gateway finds them warmed up.
    fn measure(&self, peer: &Peer) -> anyhow::Result<Row> {
        let upstreams = Upstreams::start(self.repository, self.folder, self.tools)?;
        let mut running = peer.start(self.repository, self.folder, &upstreams, self.tools.len())?;
        let ids: HashMap<(&str, &str), &str> = self
            .tools
            .iter()
            .map(|it| ((it.server.as_str(), it.name.as_str()), it.id.as_str()))
            .collect();
        let (mut scores, mut latencies) = (Vec::new(), Vec::new());
        for request in self.requests {
            let asked = Instant::now();
            let found = running.search(&request.text)?;
            latencies.push(asked.elapsed());
            let id = |(server, name): &Found| ids.get(&(server.as_str(), name.as_str())).copied();
            let ranked: Vec<&str> = found.iter().filter_map(id).collect();
            let relevant: HashSet<&str> = request.relevant.iter().map(String::as_str).collect();
            scores.push(RankingScores::from_ranking(&ranked, &relevant));
        }
        latencies.sort_unstable();
        Ok(Row {
            peer: peer.name(),
            scores: RankingScores::mean(&scores),
            p50: latencies
                .get(latencies.len() / 2)
                .copied()
                .unwrap_or_default(),
            searchable: running.searchable,
            embedded: running.embedded,
            memory: running.process.memory()?,
        })
    }
}

#[derive(Debug)]
struct Row {
    peer: &'static str,
    scores: RankingScores,
    p50: Duration,
    searchable: Duration,
    embedded: Option<Duration>,
    memory: Memory,
}

impl Row {
    fn json(&self, scene: &Scene<'_>) -> Value {
        json!({
            "peer": self.peer,
            "tools": scene.tools.len(),
            "queries": scene.requests.len(),
            "recall": { "1": self.scores.recall_1, "5": self.scores.recall_5, "20": self.scores.recall_20 },
            "ndcg": { "10": self.scores.ndcg_10 },
            "latency_ms": { "p50": self.p50.as_secs_f64() * 1e3 },
            "searchable_s": self.searchable.as_secs_f64(),
            "embedded_s": self.embedded.map(|it| it.as_secs_f64()),
            "memory_kib": self.memory.now_kib,
            "memory_peak_kib": self.memory.peak_kib,
        })
    }

    fn cells(&self) -> Vec<String> {
        let seconds = |it: Duration| format!("{:.1} s", it.as_secs_f64());
        vec![
            self.peer.to_owned(),
            share(self.scores.recall_1),
            share(self.scores.recall_5),
            share(self.scores.recall_20),
            share(self.scores.ndcg_10),
            format!("{:.1} ms", self.p50.as_secs_f64() * 1e3),
            seconds(self.searchable),
            self.embedded.map_or_else(|| "-".to_owned(), seconds),
            format!("{:.0} MiB", self.memory.now_kib as f64 / 1024.0),
        ]
    }
}

fn print(rows: &[Row]) {
    let header = [
        "gateway",
        "R@1",
        "R@5",
        "R@20",
        "nDCG@10",
        "search p50",
        "searchable after",
        "by meaning after",
        "memory",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    lines.extend(rows.iter().map(Row::cells));
    table::print(&lines);
}
