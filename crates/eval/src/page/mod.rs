//! Renders the report as one self-contained page: no script, no font, no image.
//!
//! Prompts, arguments and names may come from strangers, so every text is escaped, and the page
//! forbids itself to load or run anything.
//!
//! # Layout
//! - this file: the page and number formats; `style.css`: the style, including print
//! - `chart`: bars; `tables`: figures; `tasks`: surfaces side by side, and each task
//! - `prompts`: the answers to each prompt

mod chart;
mod prompts;
mod tables;
mod tasks;

use crate::report::{Comparison, EvalReport, Rate, SurfaceRow};
use crate::surface::EvalSurface;

pub fn render_page(report: &EvalReport) -> String {
    let title = escape_html(&format!("Eval: {}", report.suite));
    let (figures, charts) = match report.prompts.is_empty() {
        true => (String::new(), String::new()),
        false => (tables::figure_table(report), chart::render_charts(report)),
    };
    let parts = [
        summary_section(report),
        tasks::figure_section(report),
        figures,
        charts,
        tables::group_sections(report),
        tables::comparison_section(report),
        tables::scenario_section(report),
        prompts::prompt_section(report),
        tasks::attempt_section(report),
    ];
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}</body>\n</html>\n",
        parts.concat(),
    )
}

const STYLE: &str = include_str!("style.css");

pub fn format_percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Describes how probable a difference is by chance; `None` if the two differ on no prompt.
pub fn describe_chance(comparison: &Comparison) -> Option<String> {
    let probability = comparison.chance?;
    let prompts = count_noun(comparison.prompts - comparison.alike, "prompt");
    // A share below this would be written as zero.
    let share = match probability < 0.001 {
        true => "less than 0.1 %".to_owned(),
        false => format_percent(probability),
    };
    Some(format!(
        "If both were equally good, chance would split {prompts} at least this unevenly in {share} of cases."
    ))
}

/// Describes the tested surfaces; `None` if models were shown only every tool.
pub fn describe_surfaces(report: &EvalReport) -> Option<String> {
    let described = report
        .surfaces
        .iter()
        .filter_map(|it| describe_surface(report, it));
    let described: Vec<String> = described.collect();
    (!described.is_empty()).then(|| described.join(" "))
}

fn describe_surface(report: &EvalReport, row: &SurfaceRow) -> Option<String> {
    let by = match report.surfaces.len() > 1 {
        true => format!("On the surface {}, models", row.surface),
        false => "Models".to_owned(),
    };
    let tools = count_noun(row.tools, "tool");
    let purpose = match row.surface {
        EvalSurface::All => return None,
        EvalSurface::Search => " with which to find and call the others",
        EvalSurface::Adaptive => " at first, and then a list that followed them",
        EvalSurface::Code => " that run programs, which call the others",
    };
    let for_prompts = count_noun(row.max_turns as usize, "turn");
    let for_tasks = count_noun(row.task_turns.unwrap_or_default() as usize, "turn");
    let most = match (report.prompts.is_empty(), report.tasks.is_empty()) {
        (true, _) => format!("{for_tasks} for a task"),
        (false, true) => format!("{for_prompts} for a prompt"),
        (false, false) => format!("{for_prompts} for a prompt and {for_tasks} for a task"),
    };
    Some(format!(
        "{by} were shown {tools}{purpose}, and had at most {most}."
    ))
}

/// Formats an interval, such as `81.2 to 96.9 %`.
pub fn format_interval(rate: &Rate) -> String {
    format!("{:.1} to {:.1} %", 100.0 * rate.low, 100.0 * rate.high)
}

fn count_entries(report: &EvalReport) -> String {
    let (prompts, tasks) = (report.prompts.len(), report.tasks.len());
    let prompts = (prompts > 0).then(|| count_noun(prompts, "prompt"));
    let tasks = (tasks > 0).then(|| count_noun(tasks, "task"));
    let entries: Vec<String> = prompts.into_iter().chain(tasks).collect();
    entries.join(" and ")
}

fn summary_section(report: &EvalReport) -> String {
    let times = match report.runs {
        1 => "once".to_owned(),
        runs => format!("{runs} times"),
    };
    let surfaces = describe_surfaces(report).map(|it| format!(" {it}"));
    let raw = report
        .baseline_tokens
        .map(|it| format!(" The raw JSON is {} tokens.", format_thousands(it as f64)));
    format!(
        "<p>{}, each sent {times} to each model with {}.{}{} {}.</p>\n\
         <p class=\"faint\">Intervals are 95 % Wilson intervals of the share for prompts like these; each prompt counts once, \
         however often it was sent. Tokens are counted with {}, except for those charged, which the endpoint \
         counted.{}</p>\n",
        count_entries(report),
        count_noun(report.tools, "tool"),
        surfaces.unwrap_or_default(),
        describe_parameters(report),
        escape_html(&report.at),
        escape_html(report.counted_with),
        raw.unwrap_or_default(),
    )
}

fn describe_parameters(report: &EvalReport) -> String {
    if report.parameters.is_empty() {
        return String::new();
    }
    let parameters = serde_json::to_string(&report.parameters).expect("parameters are JSON");
    format!(
        " Every request contained <code>{}</code>.",
        escape_html(&parameters)
    )
}

/// Escapes a text for an element or an attribute.
fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

fn count_noun(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format_thousands(number as f64))
}

/// Rounds a number and formats it with commas: `12,368`.
fn format_thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_have_commas() {
        for (number, text) in [
            (0.0, "0"),
            (999.6, "1,000"),
            (12_368.0, "12,368"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(format_thousands(number), text);
        }
    }
}
