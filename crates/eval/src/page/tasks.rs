//! Renders the tasks: the figures of every surface side by side, and each attempt with its calls
//! and its faults.

use super::{count_noun, escape_html, format_thousands, tables};
use crate::dialect::StopReason;
use crate::record::{Record, UnjudgedCall};
use crate::report::{EvalReport, ModelReport, TaskFigures, TaskReport};

/// Returns an empty text for a suite without tasks.
pub(super) fn figure_section(report: &EvalReport) -> String {
    if report.tasks.is_empty() {
        return String::new();
    }
    let headings = report.models.iter().map(tables::model_heading);
    let headings: String = headings.collect();
    let rows = FIGURES.iter();
    let rows: String = rows
        .map(|(title, figure)| figure_row(report, title, *figure))
        .collect();
    format!(
        "<h2>Tasks</h2>\n<p class=\"faint\">A task is done if all conditions of the suite hold at its end. \
         Each attempt began with fresh servers. Figures are for all turns of a task, on average.</p>\n\
         <div class=\"wide\"><table><thead><tr><td></td>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    )
}

type TaskFigure = fn(&ModelReport, &TaskFigures) -> Option<String>;

const FIGURES: [(&str, TaskFigure); 11] = [
    ("done", |_, it| {
        it.done.map(|it| tables::format_rate(&it, "attempts"))
    }),
    ("done in every run", |_, it| {
        it.done_every_time
            .map(|it| tables::format_rate(&it, "tasks"))
    }),
    ("answered", |_, it| {
        Some(format!("{} of {}", it.answered, it.asked))
    }),
    ("turns", |_, it| it.turns.map(format_tenths)),
    ("calls", |_, it| it.calls.map(format_tenths)),
    ("failed calls", |_, it| it.failed_calls.map(format_tenths)),
    ("out of turns", |_, it| Some(it.out_of_turns.to_string())),
    ("tokens read", |_, it| {
        it.tokens.map(|it| format_thousands(it.read))
    }),
    ("tokens written", |_, it| {
        it.tokens.map(|it| format_thousands(it.written))
    }),
    ("total cost, and cost per completed task", |_, it| {
        let each = it.usd_per_done.map(|it| format!(", {it:.4} USD"));
        let cost = it.cost_usd?;
        Some(format!("{cost:.4} USD{}", each.unwrap_or_default()))
    }),
    ("tools shown, of those listed", |it, _| {
        it.cut
            .map(|it| format!("the first {} of {}", it.shown, it.listed))
    }),
];

fn format_tenths(figure: f64) -> String {
    format!("{figure:.1}")
}

/// Returns an empty text if no model has the figure.
fn figure_row(report: &EvalReport, title: &str, figure: TaskFigure) -> String {
    let cells: Vec<_> = report
        .models
        .iter()
        .map(|it| figure(it, it.tasks.as_ref()?))
        .collect();
    if cells.iter().all(Option::is_none) {
        return String::new();
    }
    let cells = cells.iter().map(|it| it.as_deref().unwrap_or("–"));
    let cells: String = cells.map(|it| format!("<td>{it}</td>")).collect();
    format!("<tr><th scope=\"row\">{title}</th>{cells}</tr>\n")
}

/// Returns an empty text for a suite without tasks.
pub(super) fn attempt_section(report: &EvalReport) -> String {
    let articles: String = report
        .tasks
        .iter()
        .map(|it| task_article(report, it))
        .collect();
    match articles.is_empty() {
        true => articles,
        false => format!("<h2>Each task</h2>\n{articles}"),
    }
}

fn task_article(report: &EvalReport, task: &TaskReport) -> String {
    let category = task.category.as_deref();
    let category = category.map(|it| format!(" <small>{}</small>", escape_html(it)));
    let attempts: String = report
        .models
        .iter()
        .map(|it| attempt_rows(it, &task.id))
        .collect();
    format!(
        "<article>\n<h3><span class=\"faint\">{}</span> {}{}</h3>\n<table><thead><tr><th scope=\"col\">model</th>\
         <th scope=\"col\">end</th><th scope=\"col\">calls, and what is wrong</th></tr></thead>\n\
         <tbody>{attempts}</tbody></table>\n</article>\n",
        escape_html(&task.id),
        escape_html(&task.request),
        category.unwrap_or_default(),
    )
}

fn attempt_rows(model: &ModelReport, task: &str) -> String {
    let records = model.tasks.iter().flat_map(|it| &it.records);
    let of_task = records.filter(|it| it.prompt == task);
    of_task.map(|it| attempt_row(model, it)).collect()
}

fn attempt_row(model: &ModelReport, record: &Record) -> String {
    let verdict = match record.is_right() {
        true => "<span class=\"good\">✓ done</span>",
        false => "<span class=\"bad\">✗ not done</span>",
    };
    let turns = record.turns.map_or(0, |it| it as usize);
    format!(
        "<tr><th scope=\"row\">{}</th><td>{verdict}<small>{}</small></td><td>{}</td></tr>\n",
        escape_html(&model.short),
        count_noun(turns, "turn"),
        story_cell(record),
    )
}

fn story_cell(record: &Record) -> String {
    let outcome = record.task.iter();
    let steps = outcome.clone().flat_map(|it| &it.steps).map(call_line);
    let faults = outcome.flat_map(|it| &it.faults).map(|it| escape_html(it));
    let stop = record.stop.map(StopReason::as_str).map(str::to_owned);
    let words = record.text.iter().map(|it| escape_html(it));
    let lines: Vec<String> = steps.chain(words).chain(stop).chain(faults).collect();
    lines.join("<br>")
}

fn call_line(call: &UnjudgedCall) -> String {
    /// Two lines of the page; programs may be long.
    const ENOUGH: usize = 240;
    let text = call.to_string();
    let end = text.char_indices().nth(ENOUGH).map(|(end, _)| end);
    let shown = end.map_or_else(|| text.clone(), |end| format!("{}…", &text[..end]));
    let failed = if call.failed {
        " <span class=\"bad\">failed</span>"
    } else {
        ""
    };
    format!("<code>{}</code>{failed}", escape_html(&shown))
}
