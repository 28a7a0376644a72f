//! Writes the report as one page that needs no other file: no script, no font, no image.
//!
//! Prompts, arguments and names may come from strangers, so every text is escaped, and the page
//! forbids itself to load or run anything.
//!
//! # Layout
//! - this file: the page and the format of figures; `style.css`: the style, also on paper
//! - `chart`: bars; `tables`: figures; `prompts`: the answers to each prompt

mod chart;
mod prompts;
mod tables;

use crate::report::{Comparison, ExamReport, Rate};
use crate::surface::ExamSurface;

pub fn page(report: &ExamReport) -> String {
    let title = escaped(&format!("Exam: {}", report.suite));
    let parts = [
        summary(report),
        tables::figures(report),
        chart::charts(report),
        tables::groups(report),
        tables::comparisons(report),
        tables::scenarios(report),
        prompts::prompts(report),
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

pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Says how probable a comparison is by chance; `None` if the two differ on no prompt.
pub fn luck(comparison: &Comparison) -> Option<String> {
    let probability = comparison.chance?;
    let prompts = count(comparison.prompts - comparison.alike, "prompt");
    // A share below this would be written as zero.
    let share = match probability < 0.001 {
        true => "less than 0.1 %".to_owned(),
        false => percent(probability),
    };
    Some(format!(
        "If both were equally good, chance would split {prompts} at least this unevenly in {share} of cases."
    ))
}

/// Describes the search surface that models were shown; `None` if no model was shown it.
pub fn surfaces(report: &ExamReport) -> Option<String> {
    let mut surfaces = report.surfaces.iter();
    let search = surfaces.find(|it| it.surface == ExamSurface::Search)?;
    let by = match report.surfaces.len() > 1 {
        true => "On the surface search, models",
        false => "Models",
    };
    Some(format!(
        "{by} were shown {} with which to find and call the others, and had at most {} for a prompt.",
        count(search.tools, "tool"),
        count(search.max_turns as usize, "turn"),
    ))
}

/// Writes an interval, such as `81.2 to 96.9 %`.
pub fn interval(rate: &Rate) -> String {
    format!("{:.1} to {:.1} %", 100.0 * rate.low, 100.0 * rate.high)
}

fn summary(report: &ExamReport) -> String {
    let times = match report.runs {
        1 => "once".to_owned(),
        runs => format!("{runs} times"),
    };
    let surfaces = surfaces(report).map(|it| format!(" {it}"));
    let raw = report
        .baseline_tokens
        .map(|it| format!(" The raw JSON is {} tokens.", thousands(it as f64)));
    format!(
        "<p>{}, each put {times} to each model with {}.{}{} {}.</p>\n\
         <p class=\"faint\">An interval holds the share for prompts like these, with 95 % confidence after Wilson; \
         each prompt counts once for it, however often it was put. Tokens are counted with {}, except for those \
         charged, which the endpoint counted.{}</p>\n",
        count(report.prompts.len(), "prompt"),
        count(report.tools, "tool"),
        surfaces.unwrap_or_default(),
        parameters(report),
        escaped(&report.at),
        escaped(report.counted_with),
        raw.unwrap_or_default(),
    )
}

fn parameters(report: &ExamReport) -> String {
    if report.parameters.is_empty() {
        return String::new();
    }
    let parameters = serde_json::to_string(&report.parameters).expect("parameters are JSON");
    format!(" Every request said <code>{}</code>.", escaped(&parameters))
}

/// Escapes a text for an element or an attribute.
fn escaped(text: &str) -> String {
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

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number as f64))
}

/// Rounds a number to the nearest whole and writes it with commas: `12,368`.
fn thousands(number: f64) -> String {
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
            assert_eq!(thousands(number), text);
        }
    }
}
