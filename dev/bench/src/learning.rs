//! The learning curve: how much better tools are found after a few uses of each.
//!
//! Measured with `kitbag eval learning`; this runs it over the sets and draws the picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::Value;
use xtask::cargo;
use xtask::repository::{Profile, Repository};

use crate::canvas::{
    BOTTOM, HEIGHT, LEFT, PANEL_WIDTH, RIGHT, TOP, axis_label, begin_panel, grid_line, legend,
    path, picture,
};
use crate::options::Options;
use crate::sets::{self, Group};

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("learning", arguments)?;
    let scratch = repository.scratch("bench-learning")?;
    let cases = sets::all(repository, options.data.as_deref(), &scratch)?;
    let alone = cases.into_iter().filter(|case| case.group == Group::Alone);
    let folders: Vec<PathBuf> = alone.map(|case| case.dataset).collect();
    // The figures are the same in every profile, and the encoder is optimized in all of them.
    cargo::run(repository, &["build", "-p", "kitbag"])?;
    let report = run_eval(repository, &scratch, &folders)?;
    let drawn = repository.root().join("docs/learning.svg");
    fs::write(&drawn, svg(&report)).with_context(|| format!("writing {}", drawn.display()))?;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}

fn run_eval(repository: &Repository, scratch: &Path, folders: &[PathBuf]) -> anyhow::Result<Value> {
    let config = scratch.join("kitbag.toml");
    fs::write(&config, "").with_context(|| format!("writing {}", config.display()))?;
    let mut command = Command::new(repository.program_path(Profile::Debug, "kitbag"));
    command.arg("--config").arg(config);
    command
        .arg("--data-dir")
        .arg(repository.persistent_folder("bench-vectors")?);
    command.args(["--json", "eval", "learning"]);
    for folder in folders {
        command.arg("--dataset").arg(folder);
    }
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("starting kitbag")?;
    if !output.status.success() {
        bail!("kitbag eval learning ended with {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("reading the report of kitbag eval learning")
}

/// A panel of the picture: the title, the path of its figure in a point, and its bounds.
struct LearningPanel {
    title: &'static str,
    figure: &'static str,
    low: f64,
    high: f64,
}

/// Recall is in the upper part, where differences would be too small to see on a full axis.
const PANELS: [LearningPanel; 3] = [
    LearningPanel {
        title: "Recall@1, mean of the sets",
        figure: "/recall/1",
        low: 0.7,
        high: 0.8,
    },
    LearningPanel {
        title: "Recall@5",
        figure: "/recall/5",
        low: 0.93,
        high: 0.97,
    },
    LearningPanel {
        title: "Misses at 5 recovered",
        figure: "/recovered/used",
        low: 0.0,
        high: 0.8,
    },
];

/// Draws the means of a report as SVG.
fn svg(report: &Value) -> String {
    let panels = PANELS.iter().enumerate();
    let drawn: String = panels.map(|(at, panel)| panel.draw(report, at)).collect();
    let label = "Recall and recovered misses by the number of uses of each tool";
    picture(label, PANELS.len(), &drawn)
}

impl LearningPanel {
    fn draw(&self, report: &Value, at: usize) -> String {
        let (right, wrong) = (points(report, "right"), points(report, "wrong"));
        let mut text = begin_panel(at, self.title);
        for step in 0..=STEPS {
            let value = self.low + (self.high - self.low) * f64::from(step) / f64::from(STEPS);
            text += &grid_line(self.y(value), &format!("{value:.2}"));
        }
        for (number, point) in right.iter().enumerate() {
            text += &axis_label(x(number, right.len()), &point["uses"].to_string());
        }
        text += &path("a", &self.points_of(right));
        text += &path("b", &self.points_of(wrong));
        text += &legend(0, "a", "right uses");
        text += &legend(1, "b", "20 % wrong");
        text + "</g>\n"
    }

    fn points_of(&self, points: &[Value]) -> Vec<String> {
        let figures = points.iter().map(|point| point.pointer(self.figure));
        let values = figures.map(|it| it.and_then(Value::as_f64).unwrap_or(0.0));
        values
            .enumerate()
            .map(|(at, value)| format!("{:.1} {:.1}", x(at, points.len()), self.y(value)))
            .collect()
    }

    fn y(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low);
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    }
}

const STEPS: u32 = 4;

/// The points of the mean curve; the first is the static ranking.
fn points<'a>(report: &'a Value, curve: &str) -> &'a [Value] {
    report["mean"][curve].as_array().map_or(&[], Vec::as_slice)
}

/// Numbers of uses are evenly spaced, whatever their distance.
fn x(at: usize, count: usize) -> f64 {
    let share = at as f64 / (count.max(2) - 1) as f64;
    LEFT + share * (PANEL_WIDTH - RIGHT - LEFT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_curves_of_every_panel_are_drawn_through_all_points() {
        let point = |uses: u32| json!({ "uses": uses, "recall": { "1": 0.75, "5": 0.95 }, "recovered": { "used": 0.5 } });
        let curve = [0, 1, 5].map(point);
        let drawn = svg(&json!({ "mean": { "right": curve, "wrong": curve } }));
        let lines = drawn.lines().filter(|line| line.matches('L').count() == 2);
        assert_eq!(lines.count(), 6, "{drawn}");
        assert!(!drawn.contains("NaN"), "{drawn}");
    }
}
