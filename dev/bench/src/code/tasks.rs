//! A peer's tasks, done by programs and by plain calls, and the tokens that a model would have paid
//! for each way.
//!
//! No model is used. The programs were written by hand, and plain calls are the calls that the
//! program makes, with its computed arguments.

use serde_json::{Value, json};
use xtask::repository::Repository;

use super::dialogue::{CountedDialogue, Dialogue, Spent};
use super::figures::{Goal, PartReport};
use super::published::{TaskFiles, TaskProgram};
use super::task_scene::{PlayedTask, TaskScene};
use crate::tokens::count;

pub(super) fn measure(repository: &Repository, files: &TaskFiles) -> anyhow::Result<PartReport> {
    let (tasks, mut scene) = (files.tasks()?, TaskScene::open(repository, files)?);
    let programs = repository.evals().join("code/programs");
    let mut played = Vec::new();
    for task in &tasks {
        let program = TaskProgram::read(&programs, &task.id)?;
        let one = scene.play(task, &program)?;
        print_outcome(&task.id, &one);
        played.push(one);
    }
    let named = tasks.iter().filter(|task| task.names_a_tool).count();
    let mut report =
        PartReport::new("tasks that Bifrost publishes, by programs and by plain calls");
    report.add("tasks", tasks.len() as f64, "");
    report.add("tasks that name a tool of the list", named as f64, "");
    add_outcomes(&mut report, &played);
    add_prices(&mut report, repository, &scene, &played)?;
    Ok(report)
}

fn print_outcome(id: &str, played: &PlayedTask) {
    if let Some(failure) = &played.failure {
        eprintln!("{id} is not done: {failure}");
    }
    if !played.not_found.is_empty() {
        eprintln!(
            "{id}: its search does not show {}",
            played.not_found.join(", ")
        );
    }
}

fn add_outcomes(report: &mut PartReport, played: &[PlayedTask]) {
    let done = played.iter().filter(|it| it.failure.is_none()).count();
    let found = played.iter().filter(|it| it.not_found.is_empty()).count();
    let calls: usize = played.iter().map(|it| it.plain.turns.len()).sum();
    report.add("tasks done by a program", done as f64, "");
    report.set_goal(Goal::AtLeast(played.len() as f64));
    report.add("tasks whose tools one search shows", found as f64, "");
    report.add("calls in all tasks", calls as f64, "");
}

/// Bifrost's own figure with its code mode, at 508 tools, with a real model.
const PUBLISHED: f64 = 83_000.0;

fn add_prices(
    report: &mut PartReport,
    repository: &Repository,
    scene: &TaskScene,
    played: &[PlayedTask],
) -> anyhow::Result<()> {
    let all = definitions(repository, &scene.all_tools)?;
    let code = definitions(repository, &scene.code_tools)?;
    let plain = count_dialogues(repository, played.iter().map(|it| &it.plain))?;
    let programs = count_dialogues(repository, played.iter().map(|it| &it.code))?;
    report.add("tools", scene.all_tools.len() as f64, "");
    report.add("definitions of all tools", all as f64, "tokens");
    report.add("definitions on the code surface", code as f64, "tokens");
    let one_by_one = mean(plain.iter().map(|it| it.one_by_one(all)));
    let at_once = mean(plain.iter().map(|it| it.at_once(all)));
    let by_program = mean(programs.iter().map(|it| it.one_by_one(code)));
    add_spent(report, "everything listed, one call a turn", one_by_one);
    add_spent(report, "everything listed, all calls in one turn", at_once);
    add_spent(report, "code", by_program);
    add_saved(
        report,
        "fewer tokens than one call a turn",
        by_program,
        one_by_one,
    );
    add_saved(
        report,
        "fewer tokens than all calls in one turn",
        by_program,
        at_once,
    );
    report.add(
        "Bifrost's figure for its code mode",
        PUBLISHED,
        "tokens a task",
    );
    Ok(())
}

/// The tokens of the parts of tools that a model reads: names, descriptions and schemas.
pub(super) fn definitions(repository: &Repository, tools: &[Value]) -> anyhow::Result<usize> {
    let texts: Vec<String> = tools.iter().map(read_by_a_model).collect();
    Ok(count(repository, &texts)?.iter().sum())
}

fn read_by_a_model(tool: &Value) -> String {
    json!({
        "name": tool["name"],
        "description": tool["description"],
        "inputSchema": tool["inputSchema"],
    })
    .to_string()
}

fn count_dialogues<'a>(
    repository: &Repository,
    dialogues: impl Iterator<Item = &'a Dialogue>,
) -> anyhow::Result<Vec<CountedDialogue>> {
    dialogues
        .map(|dialogue| {
            let texts: Vec<String> = dialogue.texts().cloned().collect();
            CountedDialogue::new(&count(repository, &texts)?)
        })
        .collect()
}

fn mean(spent: impl ExactSizeIterator<Item = Spent>) -> Spent {
    let requests = spent.len().max(1);
    let all = spent.fold(Spent::default(), |all, one| Spent {
        read: all.read + one.read,
        written: all.written + one.written,
    });
    Spent {
        read: all.read / requests,
        written: all.written / requests,
    }
}

fn add_spent(report: &mut PartReport, way: &str, spent: Spent) {
    report.add(
        format!("{way}: written by the model"),
        spent.written as f64,
        "tokens a task",
    );
    report.add(
        format!("{way}: in all"),
        spent.total() as f64,
        "tokens a task",
    );
}

fn add_saved(report: &mut PartReport, what: &str, less: Spent, more: Spent) {
    let share = 1.0 - less.total() as f64 / more.total() as f64;
    report.add(what, share * 100.0, "%");
}
