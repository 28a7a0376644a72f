//! Text report on tasks: a comparison of the surfaces, and the failed tasks.

use kitbag_eval::page::{format_interval, format_percent};
use kitbag_eval::report::{EvalReport, ModelReport, TaskFigures};
use kitbag_eval::{Record, StopReason};

use crate::cli::output::format_table;

/// Maximum number of failed attempts shown; the HTML and JSON have all.
const MAX_SHOWN: usize = 20;

/// Returns nothing for a suite without tasks.
pub(super) fn format_tasks(report: &EvalReport) -> Vec<String> {
    let rows: Vec<_> = models_with_tasks(report)
        .map(|(it, tasks)| model_row(it, tasks))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![format_table(HEADINGS, rows)];
    parts.extend(failed_table(report));
    parts.push(footnote(report));
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

fn models_with_tasks(report: &EvalReport) -> impl Iterator<Item = (&ModelReport, &TaskFigures)> {
    let models = report.models.iter();
    models.filter_map(|it| Some((it, it.tasks.as_ref()?)))
}

fn model_row(model: &ModelReport, tasks: &TaskFigures) -> [String; 9] {
    let done = tasks.done.as_ref();
    let tokens = tasks.tokens;
    [
        model.short.clone(),
        known_or_dash(done.map(|it| format!("{} of {}", it.count, it.of))),
        known_or_dash(done.map(|it| format_percent(it.mean))),
        known_or_dash(done.map(format_interval)),
        known_or_dash(tasks.turns.map(format_tenths)),
        known_or_dash(tasks.calls.map(format_tenths)),
        known_or_dash(tasks.failed_calls.map(format_tenths)),
        known_or_dash(tokens.map(|it| format!("{:.0}, {:.0}", it.read, it.written))),
        known_or_dash(tasks.cost_usd.map(|it| format!("{it:.4} USD"))),
    ]
}

fn known_or_dash(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "–".to_owned())
}

fn format_tenths(figure: f64) -> String {
    format!("{figure:.1}")
}

fn failed_table(report: &EvalReport) -> Option<String> {
    let records = models_with_tasks(report).flat_map(|(_, tasks)| &tasks.records);
    let failed: Vec<&Record> = records.filter(|it| !it.is_right()).collect();
    if failed.is_empty() {
        return None;
    }
    let shown = failed
        .iter()
        .take(MAX_SHOWN)
        .map(|it| failed_row(report, it));
    let shown = format_table(["TASK", "MODEL", "NOT DONE BECAUSE"], shown);
    Some(match failed.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    })
}

fn failed_row(report: &EvalReport, it: &Record) -> [String; 3] {
    let faults = it.task.iter().flat_map(|task| &task.faults).cloned();
    let stop = it.stop.map(StopReason::as_str).map(str::to_owned);
    let why: Vec<String> = stop.into_iter().chain(faults).collect();
    [
        it.prompt.clone(),
        report.short_name(&it.model, it.surface).to_owned(),
        why.join("\n"),
    ]
}

fn footnote(report: &EvalReport) -> String {
    let by_endpoint =
        models_with_tasks(report).all(|(_, it)| it.tokens.is_some_and(|it| it.by_endpoint));
    let counted = match by_endpoint {
        true => "as counted by the endpoint".to_owned(),
        false => format!(
            "counted with {} if the endpoint reports none",
            report.counted_with
        ),
    };
    format!(
        "Turns, calls, failed calls and tokens are totals per task, averaged; tokens are {counted}.\n\
         Each attempt starts with fresh servers."
    )
}
