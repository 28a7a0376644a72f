//! Text reports of evals and dry runs.

use kitbag_eval::Record;
use kitbag_eval::page::{describe_chance, describe_surfaces, format_interval, format_percent};
use kitbag_eval::rehearsal::{Rehearsal, RehearsalShare, ScenarioResult};
use kitbag_eval::report::{Comparison, Group, ModelReport, Rate, ToolCut};
use kitbag_eval::{ChoiceOutcome, EvalReport, EvalSurface, StopReason};

use super::plan::{EvalPlan, PlannedRequests};
use super::task_figures;
use crate::cli::output::{format_table, pluralize, strip_controls};

/// Maximum number of wrong answers shown; the HTML and JSON have all.
const MAX_SHOWN: usize = 20;

pub(super) fn format_report(report: &EvalReport) -> String {
    let measured = report.models.iter().filter(|it| it.asked > 0);
    let mut parts: Vec<String> = measured.map(model_table).collect();
    parts.extend(task_figures::format_tasks(report));
    parts.extend(group_table(report, "TOOL", |it| &it.by_tool));
    parts.extend(group_table(report, "CATEGORY", |it| &it.by_category));
    parts.extend(
        report
            .comparisons
            .iter()
            .map(|it| comparison_table(report, it)),
    );
    if !report.scenarios.is_empty() {
        parts.push(scenario_table(&report.scenarios));
    }
    let wrong = wrong_answers(report);
    if !wrong.is_empty() {
        parts.push(wrong);
    }
    parts.extend(describe_surfaces(report));
    parts.push(format!(
        "{}, {}, each run {} per model. Intervals are for similar prompts, each counted once.\n\
         Tokens are counted with {}; usage is as reported by the endpoint.",
        count_entries(report.prompts.len(), report.tasks.len()),
        pluralize(report.tools, "tool"),
        if report.runs == 1 {
            "once".to_owned()
        } else {
            format!("{} times", report.runs)
        },
        report.counted_with,
    ));
    parts.join("\n")
}

fn count_entries(prompts: usize, tasks: usize) -> String {
    match (prompts, tasks) {
        (_, 0) => pluralize(prompts, "prompt"),
        (0, _) => pluralize(tasks, "task"),
        _ => format!(
            "{}, {}",
            pluralize(prompts, "prompt"),
            pluralize(tasks, "task")
        ),
    }
}

pub(super) fn format_plan(plan: &EvalPlan) -> String {
    let mut rows = suite_rows(plan);
    rows.extend(plan.models.iter().flat_map(request_rows));
    let mut parts = vec![format_table(["SUITE", &plan.suite], rows)];
    if !plan.rehearsal.scenarios.is_empty() {
        parts.push(scenario_table(&plan.rehearsal.scenarios));
    }
    if !plan.rehearsal.misses.is_empty() {
        parts.push(strip_controls(&plan.rehearsal.misses.join("\n")));
    }
    parts.push(format!(
        "No model was called. Tokens are counted with {}.",
        plan.counted_with
    ));
    parts.join("\n")
}

fn suite_rows(plan: &EvalPlan) -> Vec<[String; 2]> {
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
        (
            "expected calls that come out right",
            format_share(*expected),
        ),
        (
            "paraphrased calls that come out right",
            format_share(*paraphrases),
        ),
        ("tasks that their solutions complete", format_share(*tasks)),
    ];
    let rows = rows.into_iter();
    rows.filter_map(|(name, value)| Some([name.to_owned(), value?]))
        .collect()
}

fn request_rows(it: &PlannedRequests) -> [[String; 2]; 3] {
    let name = match it.surface {
        EvalSurface::All => it.model.clone(),
        surface => format!("{}, {surface}", it.model),
    };
    // How often a model searches and calls is not known in advance.
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

fn model_table(it: &ModelReport) -> String {
    let answered = format!("{} of {}", it.answered, it.asked);
    let mut rows = vec![figure_row("answered", answered)];
    rows.extend(rate_rows(it));
    let definitions = it.tokens.definitions.to_string();
    rows.push(figure_row("tokens of the definitions", definitions));
    rows.extend(measurement_rows(it));
    let model = strip_controls(&it.short);
    format_table(["FIGURE", &model, "OF ANSWERS", "95 % INTERVAL"], rows)
}

fn rate_rows(it: &ModelReport) -> impl Iterator<Item = [String; 4]> {
    let rates = [
        ("right tool", "", it.invocation_accuracy),
        ("right arguments", "", it.argument_accuracy),
        (
            "right arguments in every run",
            " prompts",
            it.right_every_time,
        ),
        ("retried after an error", "", it.retry_rate),
    ];
    rates.into_iter().filter_map(|(name, of, rate)| {
        let rate = rate?;
        let counted = format!("{} of {}{of}", rate.count, rate.of);
        Some([
            name.to_owned(),
            format_percent(rate.mean),
            counted,
            format_interval(&rate),
        ])
    })
}

/// Returns measurements that not every endpoint and suite has.
fn measurement_rows(it: &ModelReport) -> impl Iterator<Item = [String; 4]> {
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
            tokens.share_of_baseline.map(format_percent),
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
        .filter_map(|(name, value)| Some(figure_row(name, value?)))
}

fn figure_row(name: &str, value: String) -> [String; 4] {
    [name.to_owned(), value, String::new(), String::new()]
}

/// Returns `None` for a single group, whose figures equal the totals.
fn group_table(
    report: &EvalReport,
    heading: &str,
    groups: fn(&ModelReport) -> &[Group],
) -> Option<String> {
    let rows = report
        .models
        .iter()
        .flat_map(|model| groups(model).iter().map(|group| group_row(model, group)));
    let several = report.models.first().is_some_and(|it| groups(it).len() > 1);
    several.then(|| format_table([heading, "MODEL", "RIGHT TOOL", "RIGHT ARGUMENTS"], rows))
}

fn group_row(model: &ModelReport, group: &Group) -> [String; 4] {
    [
        group.name.clone(),
        model.short.clone(),
        count_of(group.right_tool),
        count_of(group.right_arguments),
    ]
}

fn count_of(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "–".to_owned(), |it| format!("{} of {}", it.count, it.of))
}

fn comparison_table(report: &EvalReport, it: &Comparison) -> String {
    let first = report.short_name(&it.first, it.first_surface);
    let second = report.short_name(&it.second, it.second_surface);
    let rows = [
        comparison_row(first, &it.first_better),
        comparison_row(second, &it.second_better),
        [
            "both equally often".to_owned(),
            it.alike.to_string(),
            String::new(),
        ],
    ];
    format_table(["RIGHT", "PROMPTS", "WHICH"], rows)
        + &describe_chance(it).unwrap_or_default()
        + "\n"
}

fn comparison_row(model: &str, prompts: &[String]) -> [String; 3] {
    let name = format!("{model} more often");
    [name, prompts.len().to_string(), prompts.join(", ")]
}

/// Returns reasons why the figures may underrate the model.
pub(super) fn warnings(report: &EvalReport) -> Vec<String> {
    let kinds: [fn(&ModelReport) -> Option<String>; 4] = [
        warn_of_cut_list,
        warn_of_cut_off,
        warn_of_turn_limit,
        warn_of_unsent_errors,
    ];
    let mut warnings = Vec::new();
    for kind in kinds {
        for model in &report.models {
            let name = report.long_name(&model.model, model.surface);
            warnings.extend(kind(model).map(|warning| format!("{name}: {warning}")));
        }
    }
    warnings
}

fn warn_of_cut_list(it: &ModelReport) -> Option<String> {
    let ToolCut { listed, shown } = it.cut?;
    Some(format!(
        "a request may name {shown} tools, so it saw only the first {shown} of {listed}"
    ))
}

fn warn_of_cut_off(it: &ModelReport) -> Option<String> {
    let answers = pluralize(it.cut_off, "answer");
    (it.cut_off > 0).then(|| {
        format!(
            "{answers} truncated at the token limit; raise it, for example with --param max_tokens=16000"
        )
    })
}

fn warn_of_turn_limit(it: &ModelReport) -> Option<String> {
    let records = it.records.iter();
    let ended = records.filter(|it| it.outcome() == ChoiceOutcome::OutOfTurns);
    let tasks = it.tasks.as_ref().map_or(0, |it| it.out_of_turns);
    match ended.count() + tasks {
        0 => None,
        number => Some(format!(
            "{} out of turns; allow more with --max-turns",
            pluralize(number, "answer")
        )),
    }
}

fn warn_of_unsent_errors(it: &ModelReport) -> Option<String> {
    let records = it.records.iter();
    let untold: Vec<_> = records
        .filter_map(|it| it.unsent_error.as_deref())
        .collect();
    let (first, times) = (untold.first()?, pluralize(untold.len(), "error"));
    Some(format!(
        "{times} of calls could not be sent to it, so it could not retry: {first}"
    ))
}

fn scenario_table(played: &[ScenarioResult]) -> String {
    format_table(
        ["SCENARIO", "TITLE", "CALLS", "RESULT"],
        played.iter().map(scenario_row),
    )
}

fn scenario_row(it: &ScenarioResult) -> [String; 4] {
    let result = it.problem.as_deref().unwrap_or("reached");
    [
        it.id.clone(),
        it.title.clone(),
        format!("{} of {}", it.calls, it.max_calls),
        result.to_owned(),
    ]
}

fn wrong_answers(report: &EvalReport) -> String {
    let records = report.models.iter().flat_map(|it| &it.records);
    let wrong: Vec<&Record> = records
        .filter(|it| it.outcome() != ChoiceOutcome::Right)
        .collect();
    if wrong.is_empty() {
        return String::new();
    }
    let shown = wrong.iter().take(MAX_SHOWN);
    let shown = format_table(
        ["PROMPT", "MODEL", "WRONG", "CALLED OR SAID"],
        shown.map(|it| wrong_row(report, it)),
    );
    match wrong.len().saturating_sub(MAX_SHOWN) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    }
}

fn wrong_row(report: &EvalReport, it: &Record) -> [String; 4] {
    [
        it.prompt.clone(),
        report.short_name(&it.model, it.surface).to_owned(),
        it.outcome().as_str().to_owned(),
        called_or_said(it),
    ]
}

fn called_or_said(it: &Record) -> String {
    let first = it.calls.first();
    let why = first
        .and_then(|it| it.why.as_deref())
        .or(it.stop.map(StopReason::as_str));
    let looked = it.discovery_calls.last().filter(|_| first.is_none());
    let facts = [
        first.map(ToString::to_string),
        looked.map(|it| format!("last: {it}")),
        it.text.clone(),
        why.map(str::to_owned),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// Returns `None` if the suite has nothing of this kind.
fn format_share(share: RehearsalShare) -> Option<String> {
    (share.total > 0).then(|| format!("{} of {}", share.right, share.total))
}
