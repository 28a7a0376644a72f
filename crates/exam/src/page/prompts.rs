//! Writes every prompt: the expected call, the call of each model, and its outcome.

use super::{count, escaped};
use crate::judge::ChoiceOutcome;
use crate::record::{LookingCall, Record};
use crate::report::{ExamReport, ModelReport, PromptReport};

pub(super) fn prompts(report: &ExamReport) -> String {
    let kinds: Vec<_> = report
        .prompts
        .iter()
        .map(|it| FilterFlags::of(report, &it.id))
        .collect();
    let number = |is: fn(&FilterFlags) -> bool| kinds.iter().filter(|it| is(it)).count();
    let mut filters = filter("all", "All", kinds.len(), true);
    filters += &filter("wrong", "Wrong at least once", number(|it| it.wrong), false);
    if report.models.len() > 1 {
        let title = if report.surfaces.len() > 1 {
            "Answers differ"
        } else {
            "Models differ"
        };
        filters += &filter("differs", title, number(|it| it.differs), false);
    }
    let articles: String = report
        .prompts
        .iter()
        .zip(&kinds)
        .map(|(row, kind)| article(report, row, kind))
        .collect();
    format!("<h2>Prompts</h2>\n<section class=\"prompts\">\n{filters}{articles}</section>\n")
}

/// The properties by which the page filters a prompt.
struct FilterFlags {
    wrong: bool,
    differs: bool,
}

impl FilterFlags {
    fn of(report: &ExamReport, prompt: &str) -> Self {
        let right = |model: &ModelReport| {
            let of: Vec<_> = model
                .records
                .iter()
                .filter(|it| it.prompt == prompt)
                .collect();
            let right = of
                .iter()
                .filter(|it| it.outcome() == ChoiceOutcome::Right)
                .count();
            (!of.is_empty()).then_some((right, of.len()))
        };
        let shares: Vec<_> = report.models.iter().filter_map(right).collect();
        Self {
            wrong: shares.iter().any(|(right, of)| right < of),
            differs: shares
                .windows(2)
                .any(|pair| pair[0].0 * pair[1].1 != pair[1].0 * pair[0].1),
        }
    }
}

/// Returns a button that hides the other articles. The style sheet hides them.
fn filter(name: &str, title: &str, number: usize, checked: bool) -> String {
    let checked = if checked { " checked" } else { "" };
    format!(
        "<input type=\"radio\" name=\"show\" id=\"show-{name}\"{checked}><label for=\"show-{name}\">{title} ({number})</label>\n"
    )
}

fn article(report: &ExamReport, row: &PromptReport, kind: &FilterFlags) -> String {
    let classes = [("wrong", kind.wrong), ("differs", kind.differs)];
    let classes: Vec<_> = classes
        .into_iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| name)
        .collect();
    let category = row
        .category
        .as_deref()
        .map(|it| format!(" <small>{}</small>", escaped(it)));
    let answers: String = report
        .models
        .iter()
        .map(|it| answers(it, &row.id))
        .collect();
    format!(
        "<article class=\"{}\">\n<h3><span class=\"faint\">{}</span> {}{}</h3>\n\
         <p><span class=\"faint\">expected</span> <code>{}</code></p>\n<table><thead><tr><th scope=\"col\">model</th>\
         <th scope=\"col\">first call</th><th scope=\"col\">called, and what came of it</th></tr></thead>\n\
         <tbody>{answers}</tbody></table>\n</article>\n",
        classes.join(" "),
        escaped(&row.id),
        escaped(&row.prompt),
        category.unwrap_or_default(),
        escaped(&row.expected),
    )
}

/// Returns the answers of a model. Equal answers are written once.
fn answers(model: &ModelReport, prompt: &str) -> String {
    let mut told: Vec<(String, String, usize)> = Vec::new();
    let records = model
        .records
        .iter()
        .filter(|it| it.prompt == prompt)
        .map(|it| (verdict(it), story(it)));
    let missing = model.unanswered.iter().filter(|it| it.prompt == prompt);
    let missing = missing.map(|it| {
        (
            "<span class=\"bad\">no answer</span>".to_owned(),
            escaped(&it.why),
        )
    });
    for (verdict, story) in records.chain(missing) {
        match told.iter_mut().find(|it| it.0 == verdict && it.1 == story) {
            Some(same) => same.2 += 1,
            None => told.push((verdict, story, 1)),
        }
    }
    let runs: usize = told.iter().map(|it| it.2).sum();
    let name = format!(
        "<th scope=\"rowgroup\" rowspan=\"{}\">{}</th>",
        told.len(),
        escaped(&model.short)
    );
    let row = |(place, (verdict, story, times)): (usize, &(String, String, usize))| {
        let name = if place == 0 { name.as_str() } else { "" };
        let times = if runs > 1 {
            format!(" <small>{times} of {}</small>", count(runs, "run"))
        } else {
            String::new()
        };
        format!("<tr>{name}<td>{verdict}{times}</td><td>{story}</td></tr>\n")
    };
    told.iter().enumerate().map(row).collect()
}

fn verdict(record: &Record) -> String {
    let outcome = record.outcome();
    let (class, sign) = if outcome == ChoiceOutcome::Right {
        ("good", '✓')
    } else {
        ("bad", '✗')
    };
    format!("<span class=\"{class}\">{sign} {}</span>", outcome.as_str())
}

fn story(record: &Record) -> String {
    let mut parts: Vec<String> = record.looked.iter().map(looked).collect();
    for (number, call) in record.calls.iter().enumerate() {
        let then = match (number, call.outcome == ChoiceOutcome::Right) {
            (0, _) => String::new(),
            (_, true) => "then <span class=\"good\">✓</span> ".to_owned(),
            (_, false) => format!(
                "then <span class=\"bad\">✗</span> {}: ",
                call.outcome.as_str()
            ),
        };
        parts.push(format!("{then}<code>{}</code>", escaped(&call.to_string())));
        parts.extend(call.why.as_deref().map(escaped));
    }
    parts.extend(
        record
            .words
            .as_deref()
            .map(|it| format!("“{}”", escaped(it))),
    );
    parts.extend(record.stop.map(|it| it.as_str().to_owned()));
    if record.also > 0 {
        parts.push(format!(
            "{} in the same answer did not count",
            count(record.also, "further call")
        ));
    }
    parts.extend(
        record
            .untold
            .as_deref()
            .map(|it| format!("it could not be shown the error: {}", escaped(it))),
    );
    parts.extend(
        record
            .turns
            .filter(|it| *it > 1)
            .map(|turns| format!("{turns} turns")),
    );
    parts.join("<br>")
}

fn looked(it: &LookingCall) -> String {
    let failed = if it.failed { " failed" } else { "" };
    format!(
        "<span class=\"faint\">looked: <code>{}</code>{failed}</span>",
        escaped(&it.to_string())
    )
}
