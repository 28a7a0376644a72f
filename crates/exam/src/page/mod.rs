//! The report as one page that needs nothing else: no script, no font, no picture from elsewhere.
//!
//! Prompts, arguments and names were written by others, so every text is escaped, and the page
//! forbids itself to load or run anything.
//!
//! # Layout
//! - this file: what is on the page; `chart`: bars as SVG

mod chart;

use std::fmt::Write as _;

use crate::dialect::Given;
use crate::journal::{Made, Record};
use crate::judge::Outcome;
use crate::report::{ModelReport, PromptRow, Report};
use chart::{Bar, bars, stacks};

pub fn page(report: &Report) -> String {
    let title = format!("Exam: {}", report.suite);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         {summary}{figures}{charts}{scenarios}{prompts}</body>\n</html>\n",
        title = escaped(&title),
        summary = summary(report),
        figures = figures(&report.models),
        charts = charts(report),
        scenarios = scenarios(report),
        prompts = prompts(report),
    )
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%;margin:1rem 0}\
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #8884}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
code{font-size:.85em;overflow-wrap:anywhere}svg{max-width:100%;height:auto}svg text{fill:currentColor}\
figure{margin:1.5rem 0}figcaption{font-weight:600}.right{color:#2a7d46}.wrong{color:#b3402a}";

/// Text that is only text, in an element or in an attribute.
pub(crate) fn escaped(text: &str) -> String {
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

pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

fn summary(report: &Report) -> String {
    let baseline = match report.baseline_tokens {
        Some(tokens) => format!("The raw JSON is {tokens} tokens."),
        None => "No raw JSON was given to compare with.".to_owned(),
    };
    format!(
        "<p>{} prompts, each put {} to each model with {} tools. Tokens are counted with {}; what an endpoint \
         charges for is what it said itself. {baseline}</p>\n",
        report.prompts.len(),
        if report.runs == 1 { "once".to_owned() } else { format!("{} times", report.runs) },
        report.tools,
        escaped(report.counted_with),
    )
}

fn figures(models: &[ModelReport]) -> String {
    let number = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let row = |it: &ModelReport| {
        let usage = it.usage.map(|usage| format!("{} / {}", usage.input, usage.output));
        let cells = [
            format!("{} of {}", it.answered, it.asked),
            percent(it.invocation_accuracy),
            percent(it.argument_accuracy),
            percent(it.retry_rate),
            number(it.tokens.per_prompt.map(|tokens| format!("{tokens:.0}"))),
            percent(it.tokens.share_of_baseline),
            number(usage),
            number(it.cost_usd.map(|cost| format!("{cost:.4}"))),
            number(it.latency_ms.as_ref().map(|it| format!("{} / {}", it.p50, it.p99))),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
        format!("<tr><td>{}</td>{cells}</tr>\n", escaped(&it.model))
    };
    let headings = [
        "answered",
        "right tool",
        "right arguments",
        "retries",
        "tokens a prompt",
        "of raw JSON",
        "charged in / out",
        "USD",
        "ms p50 / p99",
    ];
    let headings: String = headings.iter().map(|it| format!("<th class=\"n\">{it}</th>")).collect();
    let rows: String = models.iter().map(row).collect();
    format!("<table><tr><th>model</th>{headings}</tr>\n{rows}</table>\n")
}

fn charts(report: &Report) -> String {
    let chart = |title: &str, value: fn(&ModelReport) -> Option<f64>| {
        let bar = |it: &ModelReport| Some(Bar { label: it.model.clone(), share: value(it)? });
        let measured: Vec<Bar> = report.models.iter().filter_map(bar).collect();
        if measured.is_empty() { String::new() } else { figure(title, &bars(&measured)) }
    };
    let mut charts = chart("Right tool", |it| it.invocation_accuracy);
    charts += &chart("Right arguments", |it| it.argument_accuracy);
    charts += &chart("Retries", |it| it.retry_rate);
    charts += &chart("Tokens, as a part of the raw JSON", |it| it.tokens.share_of_baseline);
    let answered: Vec<_> = report.models.iter().filter(|it| it.answered > 0).collect();
    if !answered.is_empty() {
        charts += &figure("What became of the first call", &stacks(&answered));
    }
    charts
}

fn figure(title: &str, svg: &str) -> String {
    format!("<figure><figcaption>{title}</figcaption>\n{svg}</figure>\n")
}

fn scenarios(report: &Report) -> String {
    if report.scenarios.is_empty() {
        return String::new();
    }
    let mut table = "<h2>Scenarios</h2>\n<table><tr><th>scenario</th><th class=\"n\">calls</th>\
                     <th></th></tr>\n"
        .to_owned();
    for it in &report.scenarios {
        let (class, told) = match &it.problem {
            None => ("right", "reached".to_owned()),
            Some(problem) => ("wrong", escaped(problem)),
        };
        let row = format!(
            "<tr><td>{}</td><td class=\"n\">{} of {}</td><td class=\"{class}\">{told}</td></tr>",
            escaped(&it.title),
            it.calls,
            it.max_calls,
        );
        writeln!(table, "{row}").expect("writing into a string cannot fail");
    }
    table + "</table>\n"
}

fn prompts(report: &Report) -> String {
    let headings: String =
        report.models.iter().map(|it| format!("<th>{}</th>", escaped(&it.model))).collect();
    let row = |prompt: &PromptRow| {
        let cells: String =
            report.models.iter().map(|it| format!("<td>{}</td>", answers(it, &prompt.id))).collect();
        format!(
            "<tr><td>{}</td><td>{}<br><code>{}</code></td>{cells}</tr>\n",
            escaped(&prompt.id),
            escaped(&prompt.prompt),
            escaped(&prompt.expected),
        )
    };
    let rows: String = report.prompts.iter().map(row).collect();
    format!(
        "<h2>Prompts</h2>\n<table><tr><th></th><th>prompt and expected call</th>{headings}</tr>\n{rows}</table>\n"
    )
}

fn answers(model: &ModelReport, prompt: &str) -> String {
    let records = model.records.iter().filter(|it| it.prompt == prompt).map(answer);
    let missing = model.unanswered.iter().filter(|it| it.prompt == prompt);
    let missing = missing.map(|it| format!("<span class=\"wrong\">{}</span>", escaped(&it.why)));
    records.chain(missing).collect::<Vec<_>>().join("<br>")
}

fn answer(record: &Record) -> String {
    let outcome = record.outcome();
    let class = if outcome == Outcome::Right { "right" } else { "wrong" };
    let mut told = format!("<span class=\"{class}\">{}</span>", outcome.as_str());
    for call in record.calls.iter().filter(|_| outcome != Outcome::Right) {
        write!(told, "<br><code>{}</code>", escaped(&written(call)))
            .expect("writing into a string cannot fail");
    }
    told
}

fn written(call: &Made) -> String {
    match &call.given {
        Given::Arguments(arguments) => {
            format!("{} {}", call.tool, serde_json::to_string(arguments).expect("arguments are JSON"))
        }
        Given::Malformed(text) => format!("{} {text}", call.tool),
    }
}
