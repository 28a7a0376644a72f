//! The cost of the gateway: the same calls to the same upstream, directly and through it.
//!
//! The ways alternate within one run, round by round, so that a temporarily busy machine affects
//! all of them; the median of the rounds is reported.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::json;
use xtask::cargo;
use xtask::processes::Memory;
use xtask::repository::Repository;

use crate::load::{self, Sample};
use crate::ways::{ComparedPrograms, Upstream, Ways, installed_mcp_proxy};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let plan = Plan::parse(arguments)?;
    cargo::run(
        repository,
        &[
            "build",
            "--release",
            "-p",
            "kitbag",
            "-p",
            "kitbag-testbed",
            "-p",
            "kitbag-bench-load",
        ],
    )?;
    let mut rows = Vec::new();
    for upstream in Upstream::available(repository) {
        let ways = Ways::open(repository, upstream, &plan.compared)?;
        for &clients in upstream.clients() {
            let (
                era,
                Plan {
                    rounds, seconds, ..
                },
            ) = (upstream.era(), &plan);
            eprintln!(
                "{upstream}, {era}, {clients} clients: {rounds} rounds of {seconds} s each way"
            );
            rows.extend(compare(repository, &ways, upstream, clients, &plan)?);
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

#[derive(Debug)]
struct Plan {
    json: bool,
    rounds: usize,
    seconds: f64,
    compared: ComparedPrograms,
}

impl Plan {
    fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut plan = Self {
            json: false,
            rounds: 5,
            seconds: 3.0,
            compared: ComparedPrograms {
                mcp_proxy: installed_mcp_proxy(),
                ..ComparedPrograms::default()
            },
        };
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
                    plan.compared.mcp_proxy = Some(canonical_path(path)?);
                    rest
                }
                ["--with-kitbag", path, rest @ ..] => {
                    plan.compared.kitbag = Some(canonical_path(path)?);
                    rest
                }
                [unknown, ..] => bail!("`cargo xtask bench proxy` does not take {unknown}"),
            };
        }
    }
}

fn canonical_path(path: &str) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("finding {path}"))
}

fn compare(
    repository: &Repository,
    ways: &Ways,
    upstream: Upstream,
    clients: usize,
    plan: &Plan,
) -> anyhow::Result<Vec<Row>> {
    let mut samples: Vec<Vec<Sample>> = ways.0.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.rounds.max(1) {
        for (way, samples) in ways.0.iter().zip(&mut samples) {
            samples.push(load::measure(
                repository,
                &way.endpoint,
                clients,
                plan.seconds,
            )?);
        }
    }
    let direct = load::median(&samples[0]);
    let rows = ways.0.iter().zip(&samples).map(|(way, samples)| {
        let (sample, memory) = (load::median(samples), way.process.memory()?);
        Ok(Row {
            upstream,
            clients,
            way: way.name,
            sample,
            direct,
            memory,
        })
    });
    rows.collect()
}

#[derive(Debug)]
struct Row {
    upstream: Upstream,
    clients: usize,
    way: &'static str,
    sample: Sample,
    direct: Sample,
    memory: Memory,
}

impl Row {
    fn json(&self) -> serde_json::Value {
        json!({
            "upstream": self.upstream.to_string(),
            "era": self.upstream.era().to_string(),
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

/// In the row `direct`, the memory is the upstream's own.
fn table(rows: &[Row]) {
    println!(
        "{:<10} {:<7} {:>7} {:<10} {:>9} {:>9} {:>9} {:>10} {:>10} {:>7} {:>8}",
        "upstream",
        "era",
        "clients",
        "way",
        "calls/s",
        "p50 µs",
        "p99 µs",
        "added p50",
        "added p99",
        "share",
        "MiB"
    );
    for row in rows {
        let (sample, direct) = (row.sample, row.direct);
        println!(
            "{:<10} {:<7} {:>7} {:<10} {:>9.0} {:>9.0} {:>9.0} {:>10.0} {:>10.0} {:>6.0}% {:>8.1}",
            row.upstream.to_string(),
            row.upstream.era().to_string(),
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
