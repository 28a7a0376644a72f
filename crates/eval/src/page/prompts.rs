//! Renders every prompt: the expected call, the call of each model, and its outcome.

use super::{count_noun, escape_html};
use crate::judge::ChoiceOutcome;
use crate::record::{JudgedCall, Record, UnjudgedCall};
use crate::report::{EvalReport, ModelReport, PromptReport};

/// Returns an empty text for a suite without prompts.
pub(super) fn prompt_section(report: &EvalReport) -> String {
    if report.prompts.is_empty() {
        return String::new();
    }
    let rows = report.prompts.iter();
    let marked: Vec<_> = rows
        .map(|it| (it, FilterFlags::for_prompt(report, &it.id)))
        .collect();
    let flags: Vec<_> = marked.iter().map(|(_, flags)| flags).collect();
    let filters = filter_buttons(report, &flags);
    let articles = marked
        .iter()
        .map(|(row, flags)| prompt_article(report, row, flags));
    let articles: String = articles.collect();
    format!("<h2>Prompts</h2>\n<section class=\"prompts\">\n{filters}{articles}</section>\n")
}

/// The properties by which the page filters a prompt.
struct FilterFlags {
    wrong: bool,
    differs: bool,
}

impl FilterFlags {
    fn for_prompt(report: &EvalReport, prompt: &str) -> Self {
        let shares = report
            .models
            .iter()
            .filter_map(|it| count_right(it, prompt));
        let shares: Vec<_> = shares.collect();
        Self {
            wrong: shares.iter().any(|(right, of)| right < of),
            differs: shares.windows(2).any(|pair| are_unequal(pair[0], pair[1])),
        }
    }

    /// Returns the classes by which the style sheet hides an article.
    fn css_classes(&self) -> String {
        let wrong = self.wrong.then_some("wrong");
        let differs = self.differs.then_some("differs");
        let classes: Vec<_> = wrong.into_iter().chain(differs).collect();
        classes.join(" ")
    }
}

/// Returns the number of right answers to a prompt and of all answers, if there are any.
fn count_right(model: &ModelReport, prompt: &str) -> Option<(usize, usize)> {
    let of = model.records.iter().filter(|it| it.prompt == prompt);
    let right = of.clone().filter(|it| it.is_right()).count();
    let of = of.count();
    (of > 0).then_some((right, of))
}

fn are_unequal(one: (usize, usize), other: (usize, usize)) -> bool {
    one.0 * other.1 != other.0 * one.1
}

fn filter_buttons(report: &EvalReport, flags: &[&FilterFlags]) -> String {
    let wrong = flags.iter().filter(|it| it.wrong).count();
    let mut filters = filter_button("all", "All", flags.len(), true);
    filters += &filter_button("wrong", "Wrong at least once", wrong, false);
    if report.models.len() > 1 {
        let title = match report.surfaces.len() > 1 {
            true => "Answers differ",
            false => "Models differ",
        };
        let differs = flags.iter().filter(|it| it.differs).count();
        filters += &filter_button("differs", title, differs, false);
    }
    filters
}

/// Returns a button that hides the other articles, through the style sheet.
fn filter_button(name: &str, title: &str, number: usize, checked: bool) -> String {
    let checked = if checked { " checked" } else { "" };
    format!(
        "<input type=\"radio\" name=\"show\" id=\"show-{name}\"{checked}><label for=\"show-{name}\">{title} ({number})</label>\n"
    )
}

fn prompt_article(report: &EvalReport, row: &PromptReport, flags: &FilterFlags) -> String {
    let category = row.category.as_deref();
    let category = category.map(|it| format!(" <small>{}</small>", escape_html(it)));
    let models = report.models.iter();
    let answers: String = models.map(|it| answer_rows(it, &row.id)).collect();
    format!(
        "<article class=\"{}\">\n<h3><span class=\"faint\">{}</span> {}{}</h3>\n\
         <p><span class=\"faint\">expected</span> <code>{}</code></p>\n<table><thead><tr><th scope=\"col\">model</th>\
         <th scope=\"col\">first call</th><th scope=\"col\">calls and results</th></tr></thead>\n\
         <tbody>{answers}</tbody></table>\n</article>\n",
        flags.css_classes(),
        escape_html(&row.id),
        escape_html(&row.prompt),
        category.unwrap_or_default(),
        escape_html(&row.expected),
    )
}

/// An answer as rendered, and the number of runs that gave it.
struct AnswerRow {
    verdict: String,
    story: String,
    times: usize,
}

/// Returns the answers of a model. Equal answers are rendered once.
fn answer_rows(model: &ModelReport, prompt: &str) -> String {
    let answers = collect_answers(model, prompt);
    let runs = answers.iter().map(|it| it.times).sum();
    let (rows, short) = (answers.len(), escape_html(&model.short));
    let name = format!("<th scope=\"rowgroup\" rowspan=\"{rows}\">{short}</th>");
    // Only the first row has the name, which spans all of them.
    let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
    let rows = answers.iter().zip(names);
    rows.map(|(it, name)| it.to_row(name, runs)).collect()
}

fn collect_answers(model: &ModelReport, prompt: &str) -> Vec<AnswerRow> {
    let records = model.records.iter().filter(|it| it.prompt == prompt);
    let records = records.map(|it| (verdict_cell(it), story_cell(it)));
    let missing = model.unanswered.iter().filter(|it| it.prompt == prompt);
    let missing = missing.map(|it| (NO_ANSWER.to_owned(), escape_html(&it.why)));
    let mut answers = Vec::new();
    for (verdict, story) in records.chain(missing) {
        AnswerRow::add_answer(&mut answers, verdict, story);
    }
    answers
}

const NO_ANSWER: &str = "<span class=\"bad\">no answer</span>";

impl AnswerRow {
    fn add_answer(answers: &mut Vec<Self>, verdict: String, story: String) {
        let mut known = answers.iter_mut();
        match known.find(|it| it.verdict == verdict && it.story == story) {
            Some(same) => same.times += 1,
            None => answers.push(Self {
                verdict,
                story,
                times: 1,
            }),
        }
    }

    fn to_row(&self, name: &str, runs: usize) -> String {
        let times = match runs > 1 {
            true => format!(
                " <small>{} of {}</small>",
                self.times,
                count_noun(runs, "run")
            ),
            false => String::new(),
        };
        let Self { verdict, story, .. } = self;
        format!("<tr>{name}<td>{verdict}{times}</td><td>{story}</td></tr>\n")
    }
}

fn verdict_cell(record: &Record) -> String {
    let outcome = record.outcome();
    let (class, sign) = if outcome == ChoiceOutcome::Right {
        ("good", '✓')
    } else {
        ("bad", '✗')
    };
    format!("<span class=\"{class}\">{sign} {}</span>", outcome.as_str())
}

fn story_cell(record: &Record) -> String {
    let mut parts: Vec<String> = record.discovery_calls.iter().map(discovery_line).collect();
    for (number, call) in record.calls.iter().enumerate() {
        parts.push(call_line(number, call));
        parts.extend(call.why.as_deref().map(escape_html));
    }
    parts.extend(ending_lines(record));
    parts.join("<br>")
}

fn call_line(number: usize, call: &JudgedCall) -> String {
    let code = format!("<code>{}</code>", escape_html(&call.to_string()));
    match (number, call.outcome) {
        (0, _) => code,
        (_, ChoiceOutcome::Right) => format!("then <span class=\"good\">✓</span> {code}"),
        (_, other) => {
            let outcome = other.as_str();
            format!("then <span class=\"bad\">✗</span> {outcome}: {code}")
        }
    }
}

/// Returns the lines after the calls.
fn ending_lines(record: &Record) -> impl Iterator<Item = String> {
    let words = record.text.as_deref();
    let words = words.map(|it| format!("“{}”", escape_html(it)));
    let stop = record.stop.map(|it| it.as_str().to_owned());
    let also = (record.extra_calls > 0).then(|| count_noun(record.extra_calls, "further call"));
    let also = also.map(|calls| format!("{calls} in the same answer did not count"));
    let unsent = record.unsent_error.as_deref();
    let unsent = unsent.map(|it| format!("the error could not be sent to it: {}", escape_html(it)));
    let turns = record.turns.filter(|it| *it > 1);
    let turns = turns.map(|turns| format!("{turns} turns"));
    [words, stop, also, unsent, turns].into_iter().flatten()
}

fn discovery_line(it: &UnjudgedCall) -> String {
    let failed = if it.failed { " failed" } else { "" };
    format!(
        "<span class=\"faint\">searched: <code>{}</code>{failed}</span>",
        escape_html(&it.to_string())
    )
}
