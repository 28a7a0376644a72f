//! The text that a person reads about the tasks of an exam: the surfaces side by side, and the tasks
//! that were not done.

use kitbag_eval::page::{interval, percent};
use kitbag_eval::report::{ExamReport, ModelReport, TaskFigures};
use kitbag_eval::{Record, Stop};

use crate::cli::output::table;

/// The number of failed attempts shown; the page and the JSON have all of them.
const ENOUGH: usize = 20;

/// Returns nothing for a suite without tasks.
pub(super) fn for_people(report: &ExamReport) -> Vec<String> {
    let rows: Vec<_> = figures(report).map(|(it, tasks)| row(it, tasks)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![table(HEADINGS, rows)];
    parts.extend(not_done(report));
    parts.push(remark(report));
    parts
}

const HEADINGS: [&str; 9] = [
    "MODEL",
    "DONE",
    "SHARE",
    "95 % INTERVAL",
    "TURNS",
    "CALLS",
    "FAILED",
    "READ, WRITTEN",
    "COST",
];

fn figures(report: &ExamReport) -> impl Iterator<Item = (&ModelReport, &TaskFigures)> {
    let models = report.models.iter();
    models.filter_map(|it| Some((it, it.tasks.as_ref()?)))
}

fn row(model: &ModelReport, tasks: &TaskFigures) -> [String; 9] {
    let done = tasks.done.as_ref();
    let tokens = tasks.tokens;
    [
        model.short.clone(),
        known(done.map(|it| format!("{} of {}", it.count, it.of))),
        known(done.map(|it| percent(it.mean))),
        known(done.map(interval)),
        known(tasks.turns.map(tenths)),
        known(tasks.calls.map(tenths)),
        known(tasks.failed_calls.map(tenths)),
        known(tokens.map(|it| format!("{:.0}, {:.0}", it.read, it.written))),
        known(tasks.cost_usd.map(|it| format!("{it:.4} USD"))),
    ]
}

fn known(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "–".to_owned())
}

fn tenths(figure: f64) -> String {
    format!("{figure:.1}")
}

fn not_done(report: &ExamReport) -> Option<String> {
    let records = figures(report).flat_map(|(_, tasks)| &tasks.records);
    let failed: Vec<&Record> = records.filter(|it| !it.is_right()).collect();
    if failed.is_empty() {
        return None;
    }
    let shown = failed.iter().take(ENOUGH).map(|it| failed_row(report, it));
    let shown = table(["TASK", "MODEL", "NOT DONE BECAUSE"], shown);
    Some(match failed.len().saturating_sub(ENOUGH) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    })
}

fn failed_row(report: &ExamReport, it: &Record) -> [String; 3] {
    let faults = it.task.iter().flat_map(|task| &task.faults).cloned();
    let stop = it.stop.map(Stop::as_str).map(str::to_owned);
    let why: Vec<String> = stop.into_iter().chain(faults).collect();
    [
        it.prompt.clone(),
        report.short(&it.model, it.surface).to_owned(),
        why.join("\n"),
    ]
}

fn remark(report: &ExamReport) -> String {
    let by_endpoint = figures(report).all(|(_, it)| it.tokens.is_some_and(|it| it.by_endpoint));
    let counted = match by_endpoint {
        true => "as the endpoint counted them".to_owned(),
        false => format!(
            "counted with {} where the endpoint did not",
            report.counted_with
        ),
    };
    format!(
        "Turns, calls, failed calls and tokens are those of all turns of a task, on average; tokens are {counted}.\n\
         Each attempt began with fresh servers."
    )
}
