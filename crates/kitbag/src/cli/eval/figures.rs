//! The texts that a person reads after an exam, and before one.

use kitbag_exam::Record;
use kitbag_exam::page::{interval, luck, percent, surfaces};
use kitbag_exam::rehearsal::{Played, RehearsalShare};
use kitbag_exam::report::{Comparison, Group, ModelReport, Rate};
use kitbag_exam::{ChoiceOutcome, ExamReport, ExamSurface, Stop};

use super::plan::Plan;
use crate::cli::output::{count, printable, table};

/// The number of wrong answers shown; the page and the JSON have all of them.
const ENOUGH: usize = 20;

pub(super) fn for_people(report: &ExamReport) -> String {
    let mut parts: Vec<String> = report.models.iter().map(figures).collect();
    parts.extend(groups(report, "TOOL", |it| &it.by_tool));
    parts.extend(groups(report, "CATEGORY", |it| &it.by_category));
    parts.extend(report.comparisons.iter().map(|it| comparison(report, it)));
    if !report.scenarios.is_empty() {
        parts.push(scenarios(&report.scenarios));
    }
    let wrong = wrong_answers(report);
    if !wrong.is_empty() {
        parts.push(wrong);
    }
    parts.extend(surfaces(report));
    parts.push(format!(
        "{}, {}, each put {} to each model. An interval is for prompts like these, each counted once.\n\
         TokenFigures are counted with {}; usage is what the endpoint said.",
        count(report.prompts.len(), "prompt"),
        count(report.tools, "tool"),
        if report.runs == 1 { "once".to_owned() } else { format!("{} times", report.runs) },
        report.counted_with,
    ));
    parts.join("\n")
}

pub(super) fn of_plan(plan: &Plan) -> String {
    let mut rows = vec![
        ["prompts".to_owned(), plan.prompts.to_string()],
        ["runs of each".to_owned(), plan.runs.to_string()],
        ["tools".to_owned(), plan.tools.to_string()],
        [
            "expected calls that come out right".to_owned(),
            share(plan.rehearsal.expected),
        ],
    ];
    if plan.rehearsal.paraphrases.total > 0 {
        rows.push([
            "paraphrased calls that come out right".to_owned(),
            share(plan.rehearsal.paraphrases),
        ]);
    }
    for it in &plan.models {
        let definitions = it.definition_tokens.to_string();
        let tokens = it.input_tokens.to_string();
        rows.extend(match it.surface {
            ExamSurface::All => [
                [format!("{}: requests", it.model), it.requests.to_string()],
                [
                    format!("{}: tokens of the definitions", it.model),
                    definitions,
                ],
                [format!("{}: tokens to send in all", it.model), tokens],
            ],
            // The number of searches that a model makes is not known before the exam.
            ExamSurface::Search => [
                [
                    format!("{}, search: requests", it.model),
                    format!("{} to {}", it.requests, it.most_requests),
                ],
                [
                    format!("{}, search: tokens of the definitions", it.model),
                    definitions,
                ],
                [
                    format!("{}, search: tokens to send at least", it.model),
                    tokens,
                ],
            ],
        });
    }
    let mut parts = vec![table(["SUITE", &plan.suite], rows)];
    if !plan.rehearsal.scenarios.is_empty() {
        parts.push(scenarios(&plan.rehearsal.scenarios));
    }
    if !plan.rehearsal.misses.is_empty() {
        parts.push(printable(&plan.rehearsal.misses.join("\n")));
    }
    parts.push(format!(
        "No model was asked. Tokens are counted with {}.",
        plan.counted_with
    ));
    parts.join("\n")
}

fn figures(it: &ModelReport) -> String {
    let plain = |name: &str, value: String| [name.to_owned(), value, String::new(), String::new()];
    let mut rows = vec![plain(
        "answered",
        format!("{} of {}", it.answered, it.asked),
    )];
    let rates = [
        ("right tool", "", it.invocation_accuracy),
        ("right arguments", "", it.argument_accuracy),
        (
            "right arguments in every run",
            " prompts",
            it.right_every_time,
        ),
        ("tried again after an error", "", it.retry_rate),
    ];
    for (name, of, rate) in rates
        .into_iter()
        .filter_map(|(name, of, rate)| Some((name, of, rate?)))
    {
        let Rate {
            count, of: total, ..
        } = rate;
        rows.push([
            name.to_owned(),
            percent(rate.mean),
            format!("{count} of {total}{of}"),
            interval(&rate),
        ]);
    }
    rows.push(plain(
        "tokens of the definitions",
        it.tokens.definitions.to_string(),
    ));
    let mut measured =
        |name: &str, value: Option<String>| rows.extend(value.map(|value| plain(name, value)));
    measured(
        "turns a prompt",
        it.turns.map(|turns| format!("{turns:.1}")),
    );
    measured(
        "tokens a prompt",
        it.tokens.per_prompt.map(|tokens| format!("{tokens:.0}")),
    );
    let sent = it.tokens.sent_per_prompt;
    measured(
        "sent in all its turns",
        sent.map(|tokens| format!("{tokens:.0}")),
    );
    measured(
        "part of the raw JSON",
        it.tokens.share_of_baseline.map(percent),
    );
    measured(
        "usage, read and written",
        it.usage
            .map(|usage| format!("{}, {}", usage.input, usage.output)),
    );
    measured("cost", it.cost_usd.map(|cost| format!("{cost:.4} USD")));
    measured(
        "latency p50, p99",
        it.latency_ms
            .as_ref()
            .map(|it| format!("{} ms, {} ms", it.p50, it.p99)),
    );
    table(
        [
            "FIGURE",
            &printable(&it.short),
            "OF ANSWERS",
            "95 % INTERVAL",
        ],
        rows,
    )
}

/// Returns nothing if there is a single group, which has the figures of the whole.
fn groups(
    report: &ExamReport,
    heading: &str,
    groups: fn(&ModelReport) -> &[Group],
) -> Option<String> {
    let rows = report
        .models
        .iter()
        .flat_map(|model| groups(model).iter().map(move |group| (model, group)));
    let share = |it: Option<Rate>| {
        it.map_or_else(|| "–".to_owned(), |it| format!("{} of {}", it.count, it.of))
    };
    let row = |(model, it): (&ModelReport, &Group)| {
        [
            it.name.clone(),
            model.short.clone(),
            share(it.right_tool),
            share(it.right_arguments),
        ]
    };
    let several = report.models.first().is_some_and(|it| groups(it).len() > 1);
    several.then(|| {
        table(
            [heading, "MODEL", "RIGHT TOOL", "RIGHT ARGUMENTS"],
            rows.map(row),
        )
    })
}

fn comparison(report: &ExamReport, it: &Comparison) -> String {
    let row =
        |name: String, prompts: &[String]| [name, prompts.len().to_string(), prompts.join(", ")];
    let rows = [
        row(
            format!("{} more often", report.short(&it.first, it.first_surface)),
            &it.first_better,
        ),
        row(
            format!("{} more often", report.short(&it.second, it.second_surface)),
            &it.second_better,
        ),
        [
            "both equally often".to_owned(),
            it.alike.to_string(),
            String::new(),
        ],
    ];
    table(["RIGHT", "PROMPTS", "WHICH"], rows) + &luck(it).unwrap_or_default() + "\n"
}

/// Returns the reasons for which the figures may be worse than the model.
pub(super) fn warnings(report: &ExamReport) -> Vec<String> {
    let named = |it: &ModelReport| report.long(&it.model, it.surface);
    let cut_off = report.models.iter().filter(|it| it.cut_off > 0).map(|it| {
        let answers = count(it.cut_off, "answer");
        format!(
            "{}: {answers} cut off at the limit of tokens; raise it, as with --param max_tokens=16000",
            named(it)
        )
    });
    let out_of_turns = report.models.iter().filter_map(|it| {
        let ended = it
            .records
            .iter()
            .filter(|it| it.outcome() == ChoiceOutcome::OutOfTurns)
            .count();
        let answers = count(ended, "answer");
        (ended > 0).then(|| {
            format!(
                "{}: {answers} out of turns; allow more with --max-turns",
                named(it)
            )
        })
    });
    let untold = report.models.iter().filter_map(|it| {
        let untold: Vec<_> = it
            .records
            .iter()
            .filter_map(|it| it.untold.as_deref())
            .collect();
        let first = untold.first()?;
        let times = count(untold.len(), "error");
        Some(format!(
            "{}: {times} of calls could not be shown to it, so it could not try again: {first}",
            named(it)
        ))
    });
    cut_off.chain(out_of_turns).chain(untold).collect()
}

fn scenarios(played: &[Played]) -> String {
    let row = |it: &Played| {
        let told = it.problem.clone().unwrap_or_else(|| "reached".to_owned());
        [
            it.id.clone(),
            it.title.clone(),
            format!("{} of {}", it.calls, it.max_calls),
            told,
        ]
    };
    table(
        ["SCENARIO", "TITLE", "CALLS", "RESULT"],
        played.iter().map(row),
    )
}

fn wrong_answers(report: &ExamReport) -> String {
    let records = report.models.iter().flat_map(|it| &it.records);
    let wrong: Vec<&Record> = records
        .filter(|it| it.outcome() != ChoiceOutcome::Right)
        .collect();
    if wrong.is_empty() {
        return String::new();
    }
    let row = |it: &&Record| {
        let first = it.calls.first();
        let why = first
            .and_then(|it| it.why.as_deref())
            .or(it.stop.map(Stop::as_str));
        let looked = it
            .looked
            .last()
            .filter(|_| first.is_none())
            .map(|it| format!("last: {it}"));
        let said = [
            first.map(ToString::to_string),
            looked,
            it.words.clone(),
            why.map(str::to_owned),
        ];
        let said: Vec<_> = said.into_iter().flatten().collect();
        let model = report.short(&it.model, it.surface).to_owned();
        [
            it.prompt.clone(),
            model,
            it.outcome().as_str().to_owned(),
            said.join("\n"),
        ]
    };
    let shown = table(
        ["PROMPT", "MODEL", "WRONG", "CALLED OR SAID"],
        wrong.iter().take(ENOUGH).map(row),
    );
    match wrong.len().saturating_sub(ENOUGH) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    }
}

fn share(share: RehearsalShare) -> String {
    format!("{} of {}", share.right, share.total)
}
