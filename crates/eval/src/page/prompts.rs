//! Writes every prompt: the expected call, the call of each model, and its outcome.

use super::{count, escaped};
use crate::judge::ChoiceOutcome;
use crate::record::{JudgedCall, LookingCall, Record};
use crate::report::{ExamReport, ModelReport, PromptReport};

/// Returns an empty text for a suite without prompts.
pub(super) fn prompts(report: &ExamReport) -> String {
    if report.prompts.is_empty() {
        return String::new();
    }
    let rows = report.prompts.iter();
    let marked: Vec<_> = rows
        .map(|it| (it, FilterFlags::of(report, &it.id)))
        .collect();
    let flags: Vec<_> = marked.iter().map(|(_, flags)| flags).collect();
    let filters = filters(report, &flags);
    let articles = marked
        .iter()
        .map(|(row, flags)| article(report, row, flags));
    let articles: String = articles.collect();
    format!("<h2>Prompts</h2>\n<section class=\"prompts\">\n{filters}{articles}</section>\n")
}

/// The properties by which the page filters a prompt.
struct FilterFlags {
    wrong: bool,
    differs: bool,
}

impl FilterFlags {
    fn of(report: &ExamReport, prompt: &str) -> Self {
        let shares = report.models.iter().filter_map(|it| right(it, prompt));
        let shares: Vec<_> = shares.collect();
        Self {
            wrong: shares.iter().any(|(right, of)| right < of),
            differs: shares.windows(2).any(|pair| are_unequal(pair[0], pair[1])),
        }
    }

    /// Returns the classes by which the style sheet hides an article.
    fn classes(&self) -> String {
        let wrong = self.wrong.then_some("wrong");
        let differs = self.differs.then_some("differs");
        let classes: Vec<_> = wrong.into_iter().chain(differs).collect();
        classes.join(" ")
    }
}

/// Returns the number of right answers to a prompt and of all answers, if there are any.
fn right(model: &ModelReport, prompt: &str) -> Option<(usize, usize)> {
    let of = model.records.iter().filter(|it| it.prompt == prompt);
    let right = of.clone().filter(|it| it.is_right()).count();
    let of = of.count();
    (of > 0).then_some((right, of))
}

fn are_unequal(one: (usize, usize), other: (usize, usize)) -> bool {
    one.0 * other.1 != other.0 * one.1
}

fn filters(report: &ExamReport, flags: &[&FilterFlags]) -> String {
    let wrong = flags.iter().filter(|it| it.wrong).count();
    let mut filters = filter("all", "All", flags.len(), true);
    filters += &filter("wrong", "Wrong at least once", wrong, false);
    if report.models.len() > 1 {
        let title = match report.surfaces.len() > 1 {
            true => "Answers differ",
            false => "Models differ",
        };
        let differs = flags.iter().filter(|it| it.differs).count();
        filters += &filter("differs", title, differs, false);
    }
    filters
}

/// Returns a button that hides the other articles. The style sheet hides them.
fn filter(name: &str, title: &str, number: usize, checked: bool) -> String {
    let checked = if checked { " checked" } else { "" };
    format!(
        "<input type=\"radio\" name=\"show\" id=\"show-{name}\"{checked}><label for=\"show-{name}\">{title} ({number})</label>\n"
    )
}

fn article(report: &ExamReport, row: &PromptReport, flags: &FilterFlags) -> String {
    let category = row.category.as_deref();
    let category = category.map(|it| format!(" <small>{}</small>", escaped(it)));
    let models = report.models.iter();
    let answers: String = models.map(|it| answers(it, &row.id)).collect();
    format!(
        "<article class=\"{}\">\n<h3><span class=\"faint\">{}</span> {}{}</h3>\n\
         <p><span class=\"faint\">expected</span> <code>{}</code></p>\n<table><thead><tr><th scope=\"col\">model</th>\
         <th scope=\"col\">first call</th><th scope=\"col\">called, and what came of it</th></tr></thead>\n\
         <tbody>{answers}</tbody></table>\n</article>\n",
        flags.classes(),
        escaped(&row.id),
        escaped(&row.prompt),
        category.unwrap_or_default(),
        escaped(&row.expected),
    )
}

/// An answer as it is told, and the number of runs that gave it.
struct ToldAnswer {
    verdict: String,
    story: String,
    times: usize,
}

/// Returns the answers of a model. Equal answers are written once.
fn answers(model: &ModelReport, prompt: &str) -> String {
    let told = told_answers(model, prompt);
    let runs = told.iter().map(|it| it.times).sum();
    let (rows, short) = (told.len(), escaped(&model.short));
    let name = format!("<th scope=\"rowgroup\" rowspan=\"{rows}\">{short}</th>");
    // Only the first row has the name, which stands beside all of them.
    let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
    let rows = told.iter().zip(names);
    rows.map(|(it, name)| it.row(name, runs)).collect()
}

fn told_answers(model: &ModelReport, prompt: &str) -> Vec<ToldAnswer> {
    let records = model.records.iter().filter(|it| it.prompt == prompt);
    let records = records.map(|it| (verdict(it), story(it)));
    let missing = model.unanswered.iter().filter(|it| it.prompt == prompt);
    let missing = missing.map(|it| (NO_ANSWER.to_owned(), escaped(&it.why)));
    let mut told = Vec::new();
    for (verdict, story) in records.chain(missing) {
        ToldAnswer::add(&mut told, verdict, story);
    }
    told
}

const NO_ANSWER: &str = "<span class=\"bad\">no answer</span>";

impl ToldAnswer {
    fn add(told: &mut Vec<Self>, verdict: String, story: String) {
        let mut known = told.iter_mut();
        match known.find(|it| it.verdict == verdict && it.story == story) {
            Some(same) => same.times += 1,
            None => told.push(Self {
                verdict,
                story,
                times: 1,
            }),
        }
    }

    fn row(&self, name: &str, runs: usize) -> String {
        let times = match runs > 1 {
            true => format!(" <small>{} of {}</small>", self.times, count(runs, "run")),
            false => String::new(),
        };
        let Self { verdict, story, .. } = self;
        format!("<tr>{name}<td>{verdict}{times}</td><td>{story}</td></tr>\n")
    }
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
        parts.push(called(number, call));
        parts.extend(call.why.as_deref().map(escaped));
    }
    parts.extend(ending(record));
    parts.join("<br>")
}

fn called(number: usize, call: &JudgedCall) -> String {
    let code = format!("<code>{}</code>", escaped(&call.to_string()));
    match (number, call.outcome) {
        (0, _) => code,
        (_, ChoiceOutcome::Right) => format!("then <span class=\"good\">✓</span> {code}"),
        (_, other) => {
            let outcome = other.as_str();
            format!("then <span class=\"bad\">✗</span> {outcome}: {code}")
        }
    }
}

/// Returns the rest of the story, behind the calls.
fn ending(record: &Record) -> impl Iterator<Item = String> {
    let words = record.words.as_deref();
    let words = words.map(|it| format!("“{}”", escaped(it)));
    let stop = record.stop.map(|it| it.as_str().to_owned());
    let also = (record.also > 0).then(|| count(record.also, "further call"));
    let also = also.map(|calls| format!("{calls} in the same answer did not count"));
    let untold = record.untold.as_deref();
    let untold = untold.map(|it| format!("it could not be shown the error: {}", escaped(it)));
    let turns = record.turns.filter(|it| *it > 1);
    let turns = turns.map(|turns| format!("{turns} turns"));
    [words, stop, also, untold, turns].into_iter().flatten()
}

fn looked(it: &LookingCall) -> String {
    let failed = if it.failed { " failed" } else { "" };
    format!(
        "<span class=\"faint\">looked: <code>{}</code>{failed}</span>",
        escaped(&it.to_string())
    )
}
