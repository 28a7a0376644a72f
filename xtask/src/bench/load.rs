//! Runs the load generator against one endpoint and reads its report.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::repository::{Profile, Repository};
use crate::scene::Era;

/// One endpoint with a tool that repeats its argument `message`.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) tool: String,
    pub(crate) era: Era,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

pub(crate) fn measure(
    repository: &Repository,
    endpoint: &Endpoint,
    clients: usize,
    seconds: f64,
) -> anyhow::Result<Sample> {
    let mut command = Command::new(repository.built(Profile::Release, "xtask-load"));
    command.args(["--url", &endpoint.url, "--tool", &endpoint.tool, "--era", &endpoint.era.to_string()]);
    command.args(["--clients", &clients.to_string(), "--seconds", &seconds.to_string()]);
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("starting xtask-load")?;
    if !output.status.success() {
        bail!("{clients} clients could not call {} at {}", endpoint.tool, endpoint.url);
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("reading the report of xtask-load")?;
    let number =
        |key: &str| report[key].as_f64().with_context(|| format!("the report has no {key}: {report}"));
    Ok(Sample { per_second: number("per_second")?, p50_us: number("p50_us")?, p99_us: number("p99_us")? })
}

/// The middle of several samples, taken number by number.
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
