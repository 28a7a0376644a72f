//! Runs the load generator against one endpoint and reads its report.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;
use xtask::repository::{Profile, Repository};
use xtask::scene::Era;

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    /// A tool that repeats its argument `message`; without it, clients only search.
    pub(crate) tool: Option<String>,
    pub(crate) era: Era,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// The figures of many clients that search before each call.
#[derive(Debug, Clone)]
pub(crate) struct Crowd {
    pub(crate) searches: Sample,
    pub(crate) calls: Sample,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
}

pub(crate) fn measure(
    repository: &Repository,
    endpoint: &Endpoint,
    clients: usize,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let report = drive(repository, endpoint, clients, seconds, None)?;
    if let Some(error) = report["first_error"].as_str() {
        bail!("{clients} clients could not call {}: {error}", endpoint.url);
    }
    Sample::read(&report)
}

/// Searches with the lines of a file, and calls nothing.
pub(crate) fn searches(
    repository: &Repository,
    url: String,
    clients: usize,
    seconds: f64,
    queries: &Path,
) -> anyhow::Result<Sample> {
    let endpoint = Endpoint {
        url,
        tool: None,
        era: Era::Modern,
    };
    let report = drive(repository, &endpoint, clients, seconds, Some(queries))?;
    if let Some(error) = report["first_error"].as_str() {
        bail!("{clients} clients could not search: {error}");
    }
    Sample::read(&report["searches"])
}

/// Searches with the lines of a file, and calls through the tool that calls all others.
pub(crate) fn search_and_call(
    repository: &Repository,
    endpoint: &Endpoint,
    clients: usize,
    seconds: f64,
    queries: &Path,
) -> anyhow::Result<Crowd> {
    let report = drive(repository, endpoint, clients, seconds, Some(queries))?;
    Ok(Crowd {
        searches: Sample::read(&report["searches"])?,
        calls: Sample::read(&report)?,
        errors: report["errors"]
            .as_u64()
            .with_context(|| format!("no errors are counted in {report}"))?,
        first_error: report["first_error"].as_str().map(str::to_owned),
    })
}

fn drive(
    repository: &Repository,
    endpoint: &Endpoint,
    clients: usize,
    seconds: f64,
    queries: Option<&Path>,
) -> anyhow::Result<Value> {
    let mut command = Command::new(repository.program_path(Profile::Release, "kitbag-bench-load"));
    command.args(["--url", &endpoint.url, "--era", &endpoint.era.to_string()]);
    command.args([
        "--clients",
        &clients.to_string(),
        "--seconds",
        &seconds.to_string(),
    ]);
    if let Some(tool) = &endpoint.tool {
        command.args(["--tool", tool]);
    }
    if let Some(queries) = queries {
        command.arg("--queries").arg(queries);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting kitbag-bench-load")?;
    if !output.status.success() {
        bail!("{clients} clients could not call {}", endpoint.url);
    }
    serde_json::from_slice(&output.stdout).context("reading the report of kitbag-bench-load")
}

impl Sample {
    fn read(report: &Value) -> anyhow::Result<Self> {
        let number = |key: &str| {
            report[key]
                .as_f64()
                .with_context(|| format!("the report has no {key}: {report}"))
        };
        Ok(Self {
            per_second: number("per_second")?,
            p50_us: number("p50_us")?,
            p99_us: number("p99_us")?,
        })
    }
}

/// The median of several samples, figure by figure.
pub(crate) fn median(samples: &[Sample]) -> Sample {
    let middle = |number: fn(&Sample) -> f64| {
        let mut numbers: Vec<f64> = samples.iter().map(number).collect();
        numbers.sort_by(f64::total_cmp);
        numbers[numbers.len() / 2]
    };
    Sample {
        per_second: middle(|it| it.per_second),
        p50_us: middle(|it| it.p50_us),
        p99_us: middle(|it| it.p99_us),
    }
}
