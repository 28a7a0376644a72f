//! Code execution: how soon a program runs, its latency next to hostile programs, the tokens that
//! published tasks cost a model, and a thousand intents at the same moment.
//!
//! # Layout
//! - [`start`]: the time from a request to the result of the smallest program
//! - [`neighbours`]: calls and programs of one tenant while another runs hostile programs
//! - [`tasks`]: a peer's tasks as programs and as plain calls; [`published`] reads the tasks,
//!   [`task_scene`] runs the servers, [`answers`] their answers, [`dialogue`] counts
//! - [`eval_suite`]: writes those tasks for `kitbag eval agents`
//! - [`intents`]: a thousand clients with intents, and as many that list and call
//! - [`figures`]: the figures of each part with their goals

mod answers;
mod dialogue;
mod eval_suite;
mod figures;
mod intents;
mod neighbours;
mod published;
mod start;
mod task_scene;
mod tasks;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde_json::Value;
use xtask::cargo;
use xtask::repository::Repository;

use self::figures::PartReport;
use self::published::TaskFiles;

pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> anyhow::Result<()> {
    let options = CodeOptions::parse(arguments)?;
    if let Some((files, folder)) = options.tasks.as_ref().zip(options.suite.as_deref()) {
        return eval_suite::write(&repository.evals(), files, folder);
    }
    build(repository)?;
    let mut reports = Vec::new();
    for part in Part::ALL.into_iter().filter(|part| options.wants(*part)) {
        reports.extend(part.measure(repository, &options)?);
    }
    if options.json {
        let reports: Vec<Value> = reports.iter().map(PartReport::json).collect();
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        reports.iter().for_each(PartReport::print);
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Neighbours,
    Tasks,
    Intents,
}

impl Part {
    const ALL: [Self; 4] = [Self::Start, Self::Neighbours, Self::Tasks, Self::Intents];

    fn parse(name: &str) -> anyhow::Result<Self> {
        match name {
            "start" => Ok(Self::Start),
            "neighbours" => Ok(Self::Neighbours),
            "tasks" => Ok(Self::Tasks),
            "intents" => Ok(Self::Intents),
            _ => bail!("the parts are start, neighbours, tasks and intents"),
        }
    }

    fn measure(
        self,
        repository: &Repository,
        options: &CodeOptions,
    ) -> anyhow::Result<Option<PartReport>> {
        match (self, &options.tasks) {
            (Self::Start, _) => start::measure(repository).map(Some),
            (Self::Intents, _) => intents::measure(repository).map(Some),
            (Self::Neighbours, _) => neighbours::measure(repository).map(Some),
            (Self::Tasks, Some(files)) => tasks::measure(repository, files).map(Some),
            (Self::Tasks, None) => {
                eprintln!("skipping the published tasks: pass them with --tasks and --tools");
                Ok(None)
            }
        }
    }
}

#[derive(Debug, Default)]
struct CodeOptions {
    json: bool,
    only: Option<Part>,
    tasks: Option<TaskFiles>,
    /// The directory for writing the tasks as a suite, instead of measuring them.
    suite: Option<PathBuf>,
}

impl CodeOptions {
    fn parse(arguments: &[&str]) -> anyhow::Result<Self> {
        let (mut options, mut tasks, mut tools) = (Self::default(), None, None);
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] => break,
                ["--json", rest @ ..] => {
                    options.json = true;
                    rest
                }
                ["--only", part, rest @ ..] => {
                    options.only = Some(Part::parse(part)?);
                    rest
                }
                ["--tasks", path, rest @ ..] => {
                    tasks = Some(canonical_path(path)?);
                    rest
                }
                ["--tools", path, rest @ ..] => {
                    tools = Some(canonical_path(path)?);
                    rest
                }
                ["--suite", path, rest @ ..] => {
                    options.suite = Some(PathBuf::from(path));
                    rest
                }
                [unknown, ..] => bail!("`cargo xtask bench code` does not take {unknown}"),
            };
        }
        options.tasks = match (tasks, tools) {
            (Some(tasks), Some(tools)) => Some(TaskFiles { tasks, tools }),
            (None, None) => None,
            _ => bail!("--tasks and --tools must be used together"),
        };
        if options.suite.is_some() && options.tasks.is_none() {
            bail!("--suite needs --tasks and --tools");
        }
        Ok(options)
    }

    fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

fn canonical_path(path: &str) -> anyhow::Result<PathBuf> {
    fs::canonicalize(path).with_context(|| format!("finding {path}"))
}

fn build(repository: &Repository) -> anyhow::Result<()> {
    const PROGRAMS: [&str; 6] = ["build", "--release", "-p", "kitbag", "-p", "kitbag-testbed"];
    const COUNTER: [&str; 6] = [
        "build",
        "--release",
        "-p",
        "kitbag-budget",
        "--example",
        "count",
    ];
    cargo::run(repository, &PROGRAMS)?;
    cargo::run(repository, &COUNTER)
}
