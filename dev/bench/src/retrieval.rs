//! The quality of search: the same queries over the same tools, by one ranker after another.
//!
//! Everything is measured with `kitbag eval retrieval`, including the published weights: they are
//! passed as a model directory, so that only the ranking differs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use xtask::cargo;
use xtask::repository::{Profile, Repository};

use crate::extras::Extra;
use crate::options::Options;
use crate::sets::{self, Case, Group};
use crate::table::{self, share};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("retrieval", arguments)?;
    let scratch = repository.scratch("bench-retrieval")?;
    let cases = sets::all(repository, options.data.as_deref(), &scratch)?;
    let published = Extra::MiniLm.find(repository, options.install)?;
    let arms = Arm::all(published.as_deref(), &scratch)?;
    cargo::run(repository, &["build", "--release", "-p", "kitbag"])?;
    let mut rows = Vec::new();
    for case in &cases {
        eprintln!("{}, {}", case.name, case.group);
        let figures = arms.iter().map(|arm| arm.measure(repository, case));
        rows.push(Row {
            label: case.name.clone(),
            case,
            figures: figures.collect::<anyhow::Result<_>>()?,
        });
    }
    if options.json {
        let lines: Vec<Value> = rows.iter().flat_map(|row| row.json(&arms)).collect();
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else {
        print(&arms, &rows);
    }
    Ok(())
}

/// One way to rank, and its configuration.
#[derive(Debug)]
struct Arm {
    name: &'static str,
    ranker: &'static str,
    config: PathBuf,
}

impl Arm {
    fn all(published: Option<&Path>, scratch: &Path) -> anyhow::Result<Vec<Self>> {
        let config = |name: &str, text: &str| -> anyhow::Result<PathBuf> {
            let path = scratch.join(name);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
            Ok(path)
        };
        let built_in = config("ours.toml", "")?;
        let arm = |name, ranker, config: &Path| Self {
            name,
            ranker,
            config: config.to_owned(),
        };
        let mut arms = vec![arm("BM25", "bm25", &built_in)];
        if let Some(model) = published {
            let text = format!(
                "[index]\nembedder = {{ directory = '{}' }}\n",
                model.display()
            );
            let published_config = config("published.toml", &text)?;
            arms.push(arm("MiniLM", "dense", &published_config));
            arms.push(arm("MiniLM + BM25", "equal", &published_config));
        }
        arms.push(arm("ours, dense", "dense", &built_in));
        arms.push(arm("ours", "hybrid", &built_in));
        Ok(arms)
    }

    fn measure(&self, repository: &Repository, case: &Case) -> anyhow::Result<Figures> {
        let mut command = Command::new(repository.program_path(Profile::Release, "kitbag"));
        command.arg("--config").arg(&self.config);
        // Kept across runs: vectors are stored by text and model, so old ones do no harm.
        command
            .arg("--data-dir")
            .arg(repository.persistent_folder("bench-vectors")?);
        command.args([
            "--json",
            "eval",
            "retrieval",
            "--ranker",
            self.ranker,
            "--dataset",
        ]);
        command.arg(&case.dataset);
        for catalog in &case.catalogs {
            command.arg("--catalog").arg(catalog);
        }
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .context("starting kitbag")?;
        if !output.status.success() {
            bail!(
                "{} could not be measured on {}, {}",
                self.name,
                case.name,
                case.group
            );
        }
        let report =
            serde_json::from_slice(&output.stdout).context("reading the report of kitbag")?;
        Figures::read(&report)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Figures {
    tools: u64,
    queries: u64,
    recall_1: f64,
    recall_5: f64,
    recall_20: f64,
    ndcg_10: f64,
    p50_ms: f64,
}

impl Figures {
    fn read(report: &Value) -> anyhow::Result<Self> {
        let number = |pointer: &str| {
            report
                .pointer(pointer)
                .and_then(Value::as_f64)
                .with_context(|| format!("no {pointer} in {report}"))
        };
        Ok(Self {
            tools: number("/tools")? as u64,
            queries: number("/queries")? as u64,
            recall_1: number("/recall/1")?,
            recall_5: number("/recall/5")?,
            recall_20: number("/recall/20")?,
            ndcg_10: number("/ndcg/10")?,
            p50_ms: number("/latency_ms/p50")?,
        })
    }

    /// The mean of several sets, each with the same weight however many queries it has.
    fn mean(all: &[Self]) -> Self {
        let mean =
            |number: fn(&Self) -> f64| all.iter().map(number).sum::<f64>() / all.len() as f64;
        Self {
            tools: mean(|it| it.tools as f64) as u64,
            queries: all.iter().map(|it| it.queries).sum(),
            recall_1: mean(|it| it.recall_1),
            recall_5: mean(|it| it.recall_5),
            recall_20: mean(|it| it.recall_20),
            ndcg_10: mean(|it| it.ndcg_10),
            p50_ms: mean(|it| it.p50_ms),
        }
    }
}

/// A set, or the mean of several, with the figures of every ranker.
#[derive(Debug)]
struct Row<'a> {
    label: String,
    case: &'a Case,
    figures: Vec<Figures>,
}

impl Row<'_> {
    fn json(&self, arms: &[Arm]) -> Vec<Value> {
        let one = |(arm, it): (&Arm, &Figures)| {
            json!({
                "set": self.label,
                "among": self.case.group.to_string(),
                "ranker": arm.name,
                "tools": it.tools,
                "queries": it.queries,
                "recall": { "1": it.recall_1, "5": it.recall_5, "20": it.recall_20 },
                "ndcg": { "10": it.ndcg_10 },
                "latency_ms": { "p50": it.p50_ms },
            })
        };
        arms.iter().zip(&self.figures).map(one).collect()
    }

    fn cells(&self) -> Vec<String> {
        let first = self.figures.first();
        let count = |number: fn(&Figures) -> u64| first.map(number).unwrap_or_default().to_string();
        let mut cells = vec![
            format!("  {}", self.label),
            count(|it| it.tools),
            count(|it| it.queries),
        ];
        cells.extend(self.figures.iter().map(|it| {
            [it.recall_1, it.recall_5, it.recall_20, it.ndcg_10]
                .map(share)
                .join(" ")
        }));
        cells
    }
}

fn print(arms: &[Arm], rows: &[Row<'_>]) {
    println!(
        "Under each ranker: recall@1, recall@5, recall@20, nDCG@10. A mean counts every set the same.\n"
    );
    let mut lines = vec![["set", "tools", "requests"].map(str::to_owned).to_vec()];
    lines[0].extend(arms.iter().map(|arm| arm.name.to_owned()));
    for group in [
        Group::Alone,
        Group::AmongCatalogs,
        Group::AmongRealTools,
        Group::Published,
    ] {
        let of_group: Vec<&Row<'_>> = rows.iter().filter(|row| row.case.group == group).collect();
        if of_group.is_empty() {
            continue;
        }
        lines.push(vec![group.to_string()]);
        lines.extend(of_group.iter().map(|row| row.cells()));
        if matches!(group, Group::Alone | Group::AmongCatalogs) {
            lines.extend(mean("mean", &of_group));
        }
        if group == Group::AmongCatalogs {
            let named = |row: &&&Row<'_>| LARGE_PRODUCTS.contains(&row.label.as_str());
            let large: Vec<&Row<'_>> = of_group.iter().filter(named).copied().collect();
            lines.extend(mean("mean of azure_mcp, pagerduty_mcp", &large));
        }
    }
    table::print(&lines);
}

/// One product with hundreds of similar tools, searched among the tools of all other products.
const LARGE_PRODUCTS: [&str; 2] = ["azure_mcp", "pagerduty_mcp"];

fn mean(label: &str, rows: &[&Row<'_>]) -> Option<Vec<String>> {
    let arms = rows.first()?.figures.len();
    let of_arm = |at: usize| rows.iter().map(|row| row.figures[at]).collect::<Vec<_>>();
    let figures = (0..arms).map(|at| Figures::mean(&of_arm(at))).collect();
    Some(
        Row {
            label: label.to_owned(),
            case: rows[0].case,
            figures,
        }
        .cells(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_the_binary_is_read() {
        let report = json!({
            "tools": 2, "queries": 1, "recall": { "1": 0.1, "5": 0.5, "20": 1.0 }, "hit": { "3": 1.0 },
            "ndcg": { "10": 0.7 }, "latency_ms": { "p50": 1.5, "p99": 2.0 }, "build_s": 0.1,
        });
        let read = Figures::read(&report).unwrap();
        let expected = Figures {
            tools: 2,
            queries: 1,
            recall_1: 0.1,
            recall_5: 0.5,
            recall_20: 1.0,
            ndcg_10: 0.7,
            p50_ms: 1.5,
        };
        assert_eq!(read, expected);
        assert!(Figures::read(&json!({ "tools": 2 })).is_err());
    }

    #[test]
    fn a_large_set_weighs_no_more_than_a_small_one() {
        let set = |queries, share| Figures {
            tools: 10,
            queries,
            recall_1: share,
            recall_5: share,
            recall_20: share,
            ndcg_10: share,
            p50_ms: 1.0,
        };
        let mean = Figures::mean(&[set(1, 1.0), set(999, 0.5)]);
        assert_eq!((mean.queries, mean.ndcg_10), (1000, 0.75));
    }
}
