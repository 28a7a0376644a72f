//! What a person reads after an exam, and before one.

use kitbag_exam::journal::{Made, Record};
use kitbag_exam::page::percent;
use kitbag_exam::rehearsal::{Played, Share};
use kitbag_exam::report::ModelReport;
use kitbag_exam::{Given, Outcome, Report};

use super::agents::Plan;
use crate::cli::output::{count, printable, table};

/// Wrong answers shown; the page and the JSON have all of them.
const ENOUGH: usize = 20;

pub(super) fn for_people(report: &Report) -> String {
    let mut parts: Vec<String> = report.models.iter().map(figures).collect();
    if !report.scenarios.is_empty() {
        parts.push(scenarios(&report.scenarios));
    }
    let wrong = wrong_answers(report);
    if !wrong.is_empty() {
        parts.push(wrong);
    }
    parts.push(format!(
        "{}, {}, each put {} to each model. Tokens are counted with {}; usage is what the endpoint said.",
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
        ["expected calls that come out right".to_owned(), share(plan.rehearsal.expected)],
        ["paraphrased calls that come out right".to_owned(), share(plan.rehearsal.paraphrases)],
    ];
    for it in &plan.models {
        rows.push([format!("{}: requests", it.model), it.requests.to_string()]);
        rows.push([format!("{}: tokens of the definitions", it.model), it.definition_tokens.to_string()]);
        rows.push([format!("{}: tokens to send in all", it.model), it.input_tokens.to_string()]);
    }
    let mut parts = vec![table(["SUITE", &plan.suite], rows)];
    if !plan.rehearsal.scenarios.is_empty() {
        parts.push(scenarios(&plan.rehearsal.scenarios));
    }
    if !plan.rehearsal.misses.is_empty() {
        parts.push(printable(&plan.rehearsal.misses.join("\n")));
    }
    parts.push(format!("No model was asked. Tokens are counted with {}.", plan.counted_with));
    parts.join("\n")
}

fn figures(it: &ModelReport) -> String {
    let mut rows = vec![
        ["answered".to_owned(), format!("{} of {}", it.answered, it.asked)],
        ["right tool".to_owned(), percent(it.invocation_accuracy)],
        ["right arguments".to_owned(), percent(it.argument_accuracy)],
        ["tried again after an error".to_owned(), percent(it.retry_rate)],
        ["tokens of the definitions".to_owned(), it.tokens.definitions.to_string()],
    ];
    let mut measured = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| [name.to_owned(), value]));
    };
    measured("tokens a prompt", it.tokens.per_prompt.map(|tokens| format!("{tokens:.0}")));
    measured("part of the raw JSON", it.tokens.share_of_baseline.map(|it| percent(Some(it))));
    measured("usage, read and written", it.usage.map(|usage| format!("{}, {}", usage.input, usage.output)));
    measured("cost", it.cost_usd.map(|cost| format!("{cost:.4} USD")));
    measured("latency p50, p99", it.latency_ms.as_ref().map(|it| format!("{} ms, {} ms", it.p50, it.p99)));
    table(["FIGURE", &printable(&it.model)], rows)
}

fn scenarios(played: &[Played]) -> String {
    let row = |it: &Played| {
        let told = it.problem.clone().unwrap_or_else(|| "reached".to_owned());
        [it.id.clone(), it.title.clone(), format!("{} of {}", it.calls, it.max_calls), told]
    };
    table(["SCENARIO", "TITLE", "CALLS", "RESULT"], played.iter().map(row))
}

fn wrong_answers(report: &Report) -> String {
    let records = report.models.iter().flat_map(|it| &it.records);
    let wrong: Vec<&Record> = records.filter(|it| it.outcome() != Outcome::Right).collect();
    if wrong.is_empty() {
        return String::new();
    }
    let row = |it: &&Record| {
        let call = it.calls.first().map_or_else(String::new, written);
        [it.prompt.clone(), it.model.clone(), it.outcome().as_str().to_owned(), call]
    };
    let shown = table(["PROMPT", "MODEL", "WRONG", "CALL"], wrong.iter().take(ENOUGH).map(row));
    match wrong.len().saturating_sub(ENOUGH) {
        0 => shown,
        more => format!("{shown}and {more} more; --html and --json show all\n"),
    }
}

fn written(call: &Made) -> String {
    match &call.given {
        Given::Arguments(arguments) => {
            format!("{} {}", call.tool, serde_json::Value::Object(arguments.clone()))
        }
        Given::Malformed(text) => format!("{} {text}", call.tool),
    }
}

fn share(share: Share) -> String {
    format!("{} of {}", share.right, share.total)
}
