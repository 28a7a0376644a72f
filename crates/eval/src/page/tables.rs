//! Renders the figures of all models side by side, then by tool and by category, then comparisons
//! of two models, and the scenarios.

use super::{
    count_noun, describe_chance, escape_html, format_interval, format_percent, format_thousands,
};
use crate::dialect::Usage;
use crate::rehearsal::ScenarioResult;
use crate::report::{Comparison, EvalReport, Group, ModelReport, Rate};

pub(super) fn figure_table(report: &EvalReport) -> String {
    let headings: String = report.models.iter().map(model_heading).collect();
    let rows = FIGURES.iter();
    let rows: String = rows
        .map(|(title, figure)| figure_row(report, title, *figure))
        .collect();
    format!(
        "<div class=\"wide\"><table><thead><tr><td></td>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    )
}

pub(super) fn model_heading(model: &ModelReport) -> String {
    let long = match model.short == model.model {
        true => "",
        false => model.model.as_str(),
    };
    let (short, long) = (escape_html(&model.short), escape_html(long));
    format!("<th scope=\"col\">{short}<br><small>{long}</small></th>")
}

type ReportFigure = fn(&ModelReport) -> Option<String>;

const FIGURES: [(&str, ReportFigure); 13] = [
    ("answered", |it| {
        Some(format!("{} of {}", it.answered, it.asked))
    }),
    ("right tool", |it| {
        it.invocation_accuracy.map(|it| format_rate(&it, "answers"))
    }),
    ("right arguments", |it| {
        it.argument_accuracy.map(|it| format_rate(&it, "answers"))
    }),
    ("right arguments in every run", |it| {
        it.right_every_time.map(|it| format_rate(&it, "prompts"))
    }),
    ("retried after an error", |it| {
        let retried = format_rate(&it.retry_rate?, "answers");
        Some(format!(
            "{retried}<small>{} of the retries were right</small>",
            it.recovered
        ))
    }),
    ("cut off, refused", |it| {
        (it.cut_off + it.refused > 0).then(|| format!("{}, {}", it.cut_off, it.refused))
    }),
    ("turns a prompt", |it| {
        it.turns.map(|turns| format!("{turns:.1}"))
    }),
    ("tokens a prompt", |it| {
        it.tokens.per_prompt.map(format_thousands)
    }),
    ("sent in all its turns", |it| {
        it.tokens.sent_per_prompt.map(format_thousands)
    }),
    ("as a share of the raw JSON", |it| {
        it.tokens.share_of_baseline.map(format_percent)
    }),
    ("tokens charged, read and written", |it| {
        let Usage { input, output } = it.usage?;
        Some(format!(
            "{}, {}",
            format_thousands(input as f64),
            format_thousands(output as f64)
        ))
    }),
    ("cost", |it| {
        it.cost_usd.map(|cost| format!("{cost:.4} USD"))
    }),
    ("time to answer, p50 and p99", |it| {
        it.latency_ms
            .as_ref()
            .map(|it| format!("{} ms, {} ms", it.p50, it.p99))
    }),
];

/// Returns an empty text if no model has the figure.
fn figure_row(report: &EvalReport, title: &str, figure: ReportFigure) -> String {
    let cells: Vec<_> = report.models.iter().map(figure).collect();
    if cells.iter().all(Option::is_none) {
        return String::new();
    }
    let cells = cells.iter().map(|it| it.as_deref().unwrap_or("–"));
    let cells: String = cells.map(|it| format!("<td>{it}</td>")).collect();
    format!("<tr><th scope=\"row\">{title}</th>{cells}</tr>\n")
}

/// Formats a share with its count, its total and its interval.
pub(super) fn format_rate(rate: &Rate, of: &str) -> String {
    let Rate {
        count,
        of: total,
        mean,
        ..
    } = rate;
    format!(
        "{}<small>{count} of {total} {of}</small><small>95 %: {}</small>",
        format_percent(*mean),
        format_interval(rate)
    )
}

pub(super) fn group_sections(report: &EvalReport) -> String {
    group_section(report, "By expected tool", |it| &it.by_tool)
        + &group_section(report, "By category", |it| &it.by_category)
}

/// A single group is skipped, because it equals the whole.
fn group_section(report: &EvalReport, title: &str, groups: fn(&ModelReport) -> &[Group]) -> String {
    let Some(first) = report.models.first().map(groups).filter(|it| it.len() > 1) else {
        return String::new();
    };
    let mut rows = String::new();
    for (index, group) in first.iter().enumerate() {
        let same = report.models.iter().map(|it| (it, &groups(it)[index]));
        rows += &group_rows(group, &same.collect::<Vec<_>>());
    }
    let headings = GROUP_HEADINGS.map(|it| format!("<th scope=\"col\">{it}</th>"));
    let headings = headings.concat();
    format!(
        "<h2>{title}</h2>\n<div class=\"wide\"><table><thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
    )
}

const GROUP_HEADINGS: [&str; 5] = [
    "",
    "model",
    "right tool",
    "right arguments",
    "called instead",
];

/// Renders a group with a row per model. Only the first row has the name, which spans all of them.
fn group_rows(group: &Group, models: &[(&ModelReport, &Group)]) -> String {
    let name = format!(
        "<th scope=\"rowgroup\" rowspan=\"{}\">{}<small><br>{}</small></th>",
        models.len(),
        escape_html(&group.name),
        count_noun(group.prompts, "prompt"),
    );
    let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
    let rows = models.iter().zip(names);
    rows.map(|((model, group), name)| format!("<tr>{name}{}</tr>\n", group_cells(model, group)))
        .collect()
}

fn group_cells(model: &ModelReport, group: &Group) -> String {
    let instead = group.instead.iter();
    let instead = instead.map(|it| format!("<code>{}</code> {}", escape_html(&it.tool), it.count));
    format!(
        "<td class=\"model\">{}</td><td>{}</td><td>{}</td><td>{}</td>",
        escape_html(&model.short),
        format_share(group.right_tool),
        format_share(group.right_arguments),
        instead.collect::<Vec<_>>().join("<br>"),
    )
}

fn format_share(measured: Option<Rate>) -> String {
    measured.map_or_else(|| "–".to_owned(), |it| format_rate(&it, "answers"))
}

pub(super) fn comparison_section(report: &EvalReport) -> String {
    let text = report.comparisons.iter();
    let text: String = text.map(|it| comparison_table(report, it)).collect();
    if text.is_empty() {
        return text;
    }
    let with = match report.surfaces.len() > 1 {
        true => "on the same prompts",
        false => "with the first model",
    };
    format!("<h2>Compared {with}</h2>\n{text}")
}

fn comparison_table(report: &EvalReport, it: &Comparison) -> String {
    let first = escape_html(report.short_name(&it.first, it.first_surface));
    let second = escape_html(report.short_name(&it.second, it.second_surface));
    let chance = describe_chance(it).map(|text| format!("<p>{text}</p>\n"));
    format!(
        "<h3>{first} and {second}</h3>\n<table><tbody>{}{}<tr><th scope=\"row\">equally often right</th>\
         <td>{}</td><td class=\"faint\">of {} answered by both</td></tr>\n</tbody></table>\n{}",
        better_row(&first, &it.first_better),
        better_row(&second, &it.second_better),
        it.alike,
        count_noun(it.prompts, "prompt"),
        chance.unwrap_or_default(),
    )
}

fn better_row(name: &str, prompts: &[String]) -> String {
    let ids: Vec<_> = prompts.iter().map(|id| escape_html(id)).collect();
    let ids = match ids.is_empty() {
        true => "none".to_owned(),
        false => ids.join(", "),
    };
    let number = prompts.len();
    format!(
        "<tr><th scope=\"row\">right more often: {name}</th><td>{number}</td><td>{ids}</td></tr>\n"
    )
}

pub(super) fn scenario_section(report: &EvalReport) -> String {
    let rows: String = report.scenarios.iter().map(scenario_row).collect();
    if rows.is_empty() {
        return rows;
    }
    format!(
        "<h2>Scenarios</h2>\n<p class=\"faint\">Made in a fixed order, without a model.</p>\n<table><thead><tr>\
         <th scope=\"col\">scenario</th><th scope=\"col\">calls</th><th scope=\"col\">result</th></tr></thead>\n\
         <tbody>{rows}</tbody></table>\n"
    )
}

fn scenario_row(played: &ScenarioResult) -> String {
    let text = match &played.problem {
        None => "<span class=\"good\">✓ reached</span>".to_owned(),
        Some(problem) => format!("<span class=\"bad\">✗</span> {}", escape_html(problem)),
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"calls\">{} of {}</td><td>{text}</td></tr>\n",
        escape_html(&played.title),
        played.calls,
        played.max_calls,
    )
}
