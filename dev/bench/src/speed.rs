//! Measures the speed and memory of search, from a thousand tools to a million, and of the real
//! binary at usual sizes.

use std::fs;
use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::cargo;
use xtask::processes;
use xtask::repository::Repository;

use crate::catalog::{self, Tool};
use crate::gateway_speed::GatewaySpeed;
use crate::options::Options;
use crate::table;
use crate::{plot, sets};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("speed", arguments)?;
    let folders = sets::tool_folders(repository, options.data.as_deref())?;
    let tools = catalog::read(&folders)?;
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
    let points = curve(repository, &tools, options.up_to.unwrap_or(usize::MAX))?;
    let picture = repository.root().join("docs/speed.svg");
    fs::write(&picture, plot::svg(&points))
        .with_context(|| format!("writing {}", picture.display()))?;
    if options.json {
        let points: Vec<Value> = points.iter().map(Point::json).collect();
        let whole = GatewaySpeed::measure(repository, options.data.as_deref(), &tools)?.json();
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({ "curve": points, "whole": whole }))?
        );
    } else {
        print_curve(&points);
        println!("\nThe curve is drawn in {}\n", picture.display());
        GatewaySpeed::measure(repository, options.data.as_deref(), &tools)?.print();
    }
    Ok(())
}

/// The time and memory of search at one size. Times are for one core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) tools: u64,
    pub(crate) build_ms: f64,
    pub(crate) added_ms: f64,
    pub(crate) query_p50_us: f64,
    pub(crate) query_p99_us: f64,
    pub(crate) embedded_p50_us: f64,
    pub(crate) embedded_p99_us: f64,
    pub(crate) resident_bytes: f64,
}

impl Point {
    fn read(line: &str) -> anyhow::Result<Self> {
        let report: Value =
            serde_json::from_str(line).with_context(|| format!("`{line}` is not JSON"))?;
        let number = |key: &str| {
            report[key]
                .as_f64()
                .with_context(|| format!("no {key} in {report}"))
        };
        Ok(Self {
            tools: number("tools")? as u64,
            build_ms: number("build_ms")?,
            added_ms: number("added_ms")?,
            query_p50_us: number("query_p50_us")?,
            query_p99_us: number("query_p99_us")?,
            embedded_p50_us: number("query_p50_with_embedding_us")?,
            embedded_p99_us: number("query_p99_with_embedding_us")?,
            resident_bytes: number("resident_bytes")?,
        })
    }

    fn json(&self) -> Value {
        json!({
            "tools": self.tools,
            "build_ms": self.build_ms,
            "added_ms": self.added_ms,
            "query_us": { "p50": self.query_p50_us, "p99": self.query_p99_us },
            "query_with_embedding_us": { "p50": self.embedded_p50_us, "p99": self.embedded_p99_us },
            "resident_bytes": self.resident_bytes,
        })
    }

    fn cells(&self) -> Vec<String> {
        let ms = |us: f64| format!("{:.2} ms", us / 1e3);
        vec![
            self.tools.to_string(),
            ms(self.query_p50_us),
            ms(self.query_p99_us),
            ms(self.embedded_p50_us),
            ms(self.embedded_p99_us),
            format!("{:.0} MB", self.resident_bytes / 1e6),
            format!("{:.2} s", self.build_ms / 1e3),
            format!("{:.2} ms", self.added_ms),
        ]
    }
}

const SIZES: [usize; 5] = [1_000, 10_000, 50_000, 100_000, 1_000_000];

/// Measures each size in its own process, so that its memory is separate.
fn curve(repository: &Repository, tools: &[Tool], up_to: usize) -> anyhow::Result<Vec<Point>> {
    let texts = repository.scratch("bench-curve")?.join("tools.txt");
    fs::write(
        &texts,
        tools
            .iter()
            .map(|tool| tool.in_a_line() + "\n")
            .collect::<String>(),
    )
    .with_context(|| format!("writing {}", texts.display()))?;
    let mut points = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size <= up_to) {
        eprintln!("searching among {size} tools");
        let size = size.to_string();
        let mut command = cargo::command(
            repository,
            &[
                "run",
                "--quiet",
                "--release",
                "-p",
                "kitbag-relevance",
                "--example",
                "curve",
                "--",
                &size,
            ],
        );
        let output = command
            .arg(&texts)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output();
        let output = output.context("starting the example `curve`")?;
        if !output.status.success() {
            bail!(
                "`{}` ended with {}",
                processes::command_line(&command),
                output.status
            );
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        for line in printed.lines().filter(|line| line.starts_with('{')) {
            points.push(Point::read(line)?);
        }
    }
    Ok(points)
}

fn print_curve(points: &[Point]) {
    let header = [
        "tools",
        "search p50",
        "p99",
        "with embedding p50",
        "p99",
        "memory",
        "built in (vectors known)",
        "one tool more",
    ];
    let mut lines = vec![header.map(str::to_owned).to_vec()];
    lines.extend(points.iter().map(Point::cells));
    table::print(&lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_curve_is_read() {
        let line = r#"{"tools":1000,"build_ms":2.5,"added_ms":0.4,"query_p50_us":80,"query_p99_us":120,
            "query_p50_with_embedding_us":2100,"query_p99_with_embedding_us":2900,"resident_bytes":40000000}"#;
        let point = Point::read(line).unwrap();
        assert_eq!((point.tools, point.embedded_p99_us), (1000, 2900.0));
        assert!(Point::read("{}").is_err());
    }
}
