//! The texts that a person reads after an exam, and before one.

use kitbag_eval::Record;
use kitbag_eval::page::{interval, luck, percent, surfaces};
use kitbag_eval::rehearsal::{Played, Rehearsal, RehearsalShare};
use kitbag_eval::report::{Comparison, Group, ModelReport, Rate, ToolCut};
use kitbag_eval::{ChoiceOutcome, ExamReport, ExamSurface, Stop};

use super::plan::{ExamPlan, Planned};
use super::task_figures;
use crate::cli::output::{count, printable, table};

/// The number of wrong answers shown; the page and the JSON have all of them.
const ENOUGH: usize = 20;

pub(super) fn for_people(report: &ExamReport) -> String {
    let asked = report.models.iter().filter(|it| it.asked > 0);
    let mut parts: Vec<String> = asked.map(figures).collect();
    parts.extend(task_figures::for_people(report));
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
         Tokens are counted with {}; usage is what the endpoint said.",
        entries(report.prompts.len(), report.tasks.len()),
        count(report.tools, "tool"),
        if report.runs == 1 { "once".to_owned() } else { format!("{} times", report.runs) },
        report.counted_with,
    ));
    parts.join("\n")
}

fn entries(prompts: usize, tasks: usize) -> String {
    match (prompts, tasks) {
        (_, 0) => count(prompts, "prompt"),
        (0, _) => count(tasks, "task"),
        _ => format!("{}, {}", count(prompts, "prompt"), count(tasks, "task")),
    }
}

pub(super) fn of_plan(plan: &ExamPlan) -> String {
    let mut rows = suite_rows(plan);
    rows.extend(plan.models.iter().flat_map(planned_rows));
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

fn suite_rows(plan: &ExamPlan) -> Vec<[String; 2]> {
    let Rehearsal {
        expected,
        paraphrases,
        tasks,
        ..
    } = &plan.rehearsal;
    let rows = [
        (
            "prompts",
            (plan.prompts > 0).then(|| plan.prompts.to_string()),
        ),
        ("tasks", (plan.tasks > 0).then(|| plan.tasks.to_string())),
        ("runs of each", Some(plan.runs.to_string())),
        ("tools", Some(plan.tools.to_string())),
        ("expected calls that come out right", share(*expected)),
        ("paraphrased calls that come out right", share(*paraphrases)),
        ("tasks that their solutions do", share(*tasks)),
    ];
    let rows = rows.into_iter();
    rows.filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .collect()
}

fn planned_rows(it: &Planned) -> [[String; 2]; 3] {
    let name = match it.surface {
        ExamSurface::All => it.model.clone(),
        surface => format!("{}, {surface}", it.model),
    };
    // The number of searches and of calls that a model makes is not known before the exam.
    let (requests, sent) = match it.several_turns {
        false => (it.requests.to_string(), "in all"),
        true => (
            format!("{} to {}", it.requests, it.most_requests),
            "at least",
        ),
    };
    let (definitions, tokens) = (it.definition_tokens, it.input_tokens);
    [
        [format!("{name}: requests"), requests],
        [
            format!("{name}: tokens of the definitions"),
            definitions.to_string(),
        ],
        [format!("{name}: tokens to send {sent}"), tokens.to_string()],
    ]
}

fn figures(it: &ModelReport) -> String {
    let answered = format!("{} of {}", it.answered, it.asked);
    let mut rows = vec![plain("answered", answered)];
    rows.extend(rates(it));
    let definitions = it.tokens.definitions.to_string();
    rows.push(plain("tokens of the definitions", definitions));
    rows.extend(measured(it));
    let model = printable(&it.short);
    table(["FIGURE", &model, "OF ANSWERS", "95 % INTERVAL"], rows)
}

fn rates(it: &ModelReport) -> impl Iterator<Item = [String; 4]> {
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
    rates.into_iter().filter_map(|(name, of, rate)| {
        let rate = rate?;
        let counted = format!("{} of {}{of}", rate.count, rate.of);
        Some([
            name.to_owned(),
            percent(rate.mean),
            counted,
            interval(&rate),
        ])
    })
}

/// Returns the figures that not every endpoint and every suite has.
fn measured(it: &ModelReport) -> impl Iterator<Item = [String; 4]> {
    let (tokens, latency) = (&it.tokens, it.latency_ms.as_ref());
    let figures = [
        ("turns a prompt", it.turns.map(|it| format!("{it:.1}"))),
        (
            "tokens a prompt",
            tokens.per_prompt.map(|it| format!("{it:.0}")),
        ),
        (
            "sent in all its turns",
            tokens.sent_per_prompt.map(|it| format!("{it:.0}")),
        ),
        (
            "part of the raw JSON",
            tokens.share_of_baseline.map(percent),
        ),
        (
            "usage, read and written",
            it.usage.map(|it| format!("{}, {}", it.input, it.output)),
        ),
        ("cost", it.cost_usd.map(|it| format!("{it:.4} USD"))),
        (
            "latency p50, p99",
            latency.map(|it| format!("{} ms, {} ms", it.p50, it.p99)),
        ),
    ];
    figures
        .into_iter()
        .filter_map(|(name, value)| Some(plain(name, value?)))
}

fn plain(name: &str, value: String) -> [String; 4] {
    [name.to_owned(), value, String::new(), String::new()]
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
        .flat_map(|model| groups(model).iter().map(|group| group_row(model, group)));
    let several = report.models.first().is_some_and(|it| groups(it).len() > 1);
    several.then(|| table([heading, "MODEL", "RIGHT TOOL", "RIGHT ARGUMENTS"], rows))
}

fn group_row(model: &ModelReport, group: &Group) -> [String; 4] {
    [
        group.name.clone(),
        model.short.clone(),
        counted(group.right_tool),
        counted(group.right_arguments),
    ]
}

fn counted(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |it| format!("{} of {}", it.count, it.of))
}

fn comparison(report: &ExamReport, it: &Comparison) -> String {
    let first = report.short(&it.first, it.first_surface);
    let second = report.short(&it.second, it.second_surface);
    let rows = [
        compared(first, &it.first_better),
        compared(second, &it.second_better),
        [
            "both equally often".to_owned(),
            it.alike.to_string(),
            String::new(),
        ],
    ];
    table(["RIGHT", "PROMPTS", "WHICH"], rows) + &luck(it).unwrap_or_default() + "\n"
}

fn compared(model: &str, prompts: &[String]) -> [String; 3] {
    let name = format!("{model} more often");
    [name, prompts.len().to_string(), prompts.join(", ")]
}

/// Returns the reasons for which the figures may be worse than the model.
pub(super) fn warnings(report: &ExamReport) -> Vec<String> {
    let kinds: [fn(&ModelReport) -> Option<String>; 4] = [cut_list, cut_off, out_of_turns, untold];
    let mut warnings = Vec::new();
    for kind in kinds {
        for model in &report.models {
            let name = report.long(&model.model, model.surface);
            warnings.extend(kind(model).map(|warning| format!("{name}: {warning}")));
        }
    }
    warnings
}

fn cut_list(it: &ModelReport) -> Option<String> {
    let ToolCut { listed, shown } = it.cut?;
    Some(format!(
        "a request may name {shown} tools, so it was shown the first {shown} of {listed}"
    ))
}

fn cut_off(it: &ModelReport) -> Option<String> {
    let answers = count(it.cut_off, "answer");
    (it.cut_off > 0).then(|| {
        format!(
            "{answers} cut off at the limit of tokens; raise it, as with --param max_tokens=16000"
        )
    })
}

fn out_of_turns(it: &ModelReport) -> Option<String> {
    let records = it.records.iter();
    let ended = records.filter(|it| it.outcome() == ChoiceOutcome::OutOfTurns);
    let tasks = it.tasks.as_ref().map_or(0, |it| it.out_of_turns);
    match ended.count() + tasks {
        0 => None,
        number => Some(format!(
            "{} out of turns; allow more with --max-turns",
            count(number, "answer")
        )),
    }
}

fn untold(it: &ModelReport) -> Option<String> {
    let records = it.records.iter();
    let untold: Vec<_> = records.filter_map(|it| it.untold.as_deref()).collect();
    let (first, times) = (untold.first()?, count(untold.len(), "error"));
    Some(format!(
        "{times} of calls could not be shown to it, so it could not try again: {first}"
    ))
}

fn scenarios(played: &[Played]) -> String {
    table(
        ["SCENARIO", "TITLE", "CALLS", "RESULT"],
        played.iter().map(scenario_row),
    )
}

fn scenario_row(it: &Played) -> [String; 4] {
    let result = it.problem.as_deref().unwrap_or("reached");
    [
        it.id.clone(),
        it.title.clone(),
        format!("{} of {}", it.calls, it.max_calls),
        result.to_owned(),
    ]
}

fn wrong_answers(report: &ExamReport) -> String {
    let records = report.models.iter().flat_map(|it| &it.records);
    let wrong: Vec<&Record> = records
        .filter(|it| it.outcome() != ChoiceOutcome::Right)
        .collect();
    if wrong.is_empty() {
        return String::new();
    }
    let shown = wrong.iter().take(ENOUGH);
    let shown = table(
        ["PROMPT", "MODEL", "WRONG", "CALLED OR SAID"],
        shown.map(|it| wrong_row(report, it)),
    );
    match wrong.len().saturating_sub(ENOUGH) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    }
}

fn wrong_row(report: &ExamReport, it: &Record) -> [String; 4] {
    [
        it.prompt.clone(),
        report.short(&it.model, it.surface).to_owned(),
        it.outcome().as_str().to_owned(),
        called_or_said(it),
    ]
}

fn called_or_said(it: &Record) -> String {
    let first = it.calls.first();
    let why = first
        .and_then(|it| it.why.as_deref())
        .or(it.stop.map(Stop::as_str));
    let looked = it.looked.last().filter(|_| first.is_none());
    let said = [
        first.map(ToString::to_string),
        looked.map(|it| format!("last: {it}")),
        it.words.clone(),
        why.map(str::to_owned),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns nothing if the suite has nothing of the kind.
fn share(share: RehearsalShare) -> Option<String> {
    (share.total > 0).then(|| format!("{} of {}", share.right, share.total))
}
