//! The tokens that tools cost a model: at the start, for a search, for a definition and for a whole
//! conversation, on real definitions and counted exactly.

mod count;
mod scene;

use std::fmt;

use serde_json::{Value, json};
use xtask::cargo;
use xtask::repository::Repository;

pub(crate) use self::count::count;
use self::scene::{RecordedTexts, Scene};
use crate::options::Options;
use crate::table;

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse("tokens", arguments)?;
    cargo::run(
        repository,
        &["build", "--release", "-p", "kitbag", "-p", "kitbag-testbed"],
    )?;
    let counter = [
        "build",
        "--release",
        "-p",
        "kitbag-budget",
        "--example",
        "count",
    ];
    cargo::run(repository, &counter)?;
    let mut reports = Vec::new();
    for scene in Scene::all(repository, options.data.as_deref())? {
        eprintln!("{}", scene.name);
        let recorded = scene.play(repository)?;
        reports.push(Report::from_conversation(repository, &scene, &recorded)?);
    }
    if options.json {
        let reports: Vec<Value> = reports.iter().map(Report::json).collect();
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(Report::print);
    }
    Ok(())
}

/// The figures of one scene with their goals.
#[derive(Debug)]
struct Report {
    scene: &'static str,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: String,
    measured: Figure,
    /// The maximum, or for a share the minimum; `None` if the figure is only informative.
    wanted: Option<Figure>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    Tokens(i64),
    Saved(f64),
    /// One out of this many parts.
    Part(f64),
}

impl Report {
    fn from_conversation(
        repository: &Repository,
        scene: &Scene,
        recorded: &RecordedTexts,
    ) -> anyhow::Result<Self> {
        let mut searches = count(repository, &recorded.searches)?;
        let found = sizes(
            repository,
            recorded
                .definitions
                .iter()
                .map(|(described, own)| [described, own]),
        )?;
        let conversation: usize = count(repository, &recorded.conversation)?.iter().sum();
        let direct: usize = count(repository, &recorded.direct)?.iter().sum();
        let (shown, catalog) = (recorded.shown, recorded.catalog);
        let (with_search, with_all_tools) = (shown + conversation, catalog + direct);
        searches.sort_unstable();
        let row = |what: String, measured, wanted| Row {
            what,
            measured,
            wanted,
        };
        let tokens = |number: usize| Figure::Tokens(i64::try_from(number).unwrap_or(i64::MAX));
        let dearer = found
            .iter()
            .map(|[described, own]| *described as i64 - *own as i64)
            .max();
        let part = Figure::Part(with_all_tools as f64 / with_search as f64);
        let saved = Figure::Saved(1.0 - shown as f64 / catalog as f64);
        Ok(Self {
            scene: scene.name,
            rows: vec![
                row(
                    format!("{} tools, all of them listed", recorded.tools),
                    tokens(catalog),
                    None,
                ),
                row(
                    "start of the search surface".to_owned(),
                    tokens(shown),
                    Some(Figure::Tokens(500)),
                ),
                row(
                    "saved at the start".to_owned(),
                    saved,
                    Some(Figure::Saved(scene.saving)),
                ),
                row(
                    format!("median answer to {} searches", searches.len()),
                    tokens(searches[searches.len() / 2]),
                    Some(Figure::Tokens(350)),
                ),
                row(
                    "longest of them".to_owned(),
                    tokens(searches[searches.len() - 1]),
                    None,
                ),
                row(
                    format!(
                        "a description beyond the definition, most of {}",
                        found.len()
                    ),
                    Figure::Tokens(dearer.unwrap_or_default()),
                    Some(Figure::Tokens(30)),
                ),
                row(
                    "find, call, read: the whole conversation".to_owned(),
                    tokens(with_search),
                    None,
                ),
                row(
                    "the same with all tools listed".to_owned(),
                    tokens(with_all_tools),
                    None,
                ),
                row(
                    "its part of that".to_owned(),
                    part,
                    Some(Figure::Part(20.0)),
                ),
            ],
        })
    }

    fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "what": row.what,
                "measured": row.measured.number(),
                "wanted": row.wanted.map(Figure::number),
                "met": row.is_met(),
            })
        };
        json!({ "scene": self.scene, "rows": self.rows.iter().map(row).collect::<Vec<_>>() })
    }

    fn print(&self) {
        let mut lines = vec![
            ["", "measured", "wanted", "met"]
                .map(str::to_owned)
                .to_vec(),
        ];
        for row in &self.rows {
            let wanted = row
                .wanted
                .map(|it| format!("{} {it}", it.comparison_sign()))
                .unwrap_or_default();
            let met = row
                .is_met()
                .map_or("", |met| if met { "yes" } else { "no" });
            lines.push(vec![
                row.what.clone(),
                row.measured.to_string(),
                wanted,
                met.to_owned(),
            ]);
        }
        println!("\n{}\n", self.scene);
        table::print(&lines);
    }
}

impl Row {
    fn is_met(&self) -> Option<bool> {
        let wanted = self.wanted?;
        Some(match wanted {
            Figure::Tokens(_) => self.measured.number() <= wanted.number(),
            Figure::Saved(_) | Figure::Part(_) => self.measured.number() >= wanted.number(),
        })
    }
}

impl Figure {
    fn number(self) -> f64 {
        match self {
            Self::Tokens(number) => number as f64,
            Self::Saved(number) | Self::Part(number) => number,
        }
    }

    fn comparison_sign(self) -> &'static str {
        match self {
            Self::Tokens(_) | Self::Part(_) => "≤",
            Self::Saved(_) => "≥",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(number) => write!(f, "{number}"),
            Self::Saved(share) => write!(f, "{:.2} %", share * 100.0),
            Self::Part(parts) => write!(f, "1/{parts:.0}"),
        }
    }
}

/// Counts pairs of texts in one run.
fn sizes<'a>(
    repository: &Repository,
    pairs: impl Iterator<Item = [&'a String; 2]>,
) -> anyhow::Result<Vec<[usize; 2]>> {
    let texts: Vec<String> = pairs.flatten().cloned().collect();
    let counts = count(repository, &texts)?;
    Ok(counts.as_chunks::<2>().0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(measured: Figure, wanted: Figure, met: bool) {
        let row = Row {
            what: String::new(),
            measured,
            wanted: Some(wanted),
        };
        assert_eq!(
            row.is_met(),
            Some(met),
            "{measured} {} {wanted}",
            wanted.comparison_sign()
        );
    }

    #[test]
    fn a_goal_is_met_in_the_right_direction() {
        check(Figure::Tokens(500), Figure::Tokens(500), true);
        check(Figure::Tokens(501), Figure::Tokens(500), false);
        check(Figure::Saved(0.96), Figure::Saved(0.95), true);
        check(Figure::Part(19.0), Figure::Part(20.0), false);
    }
}
