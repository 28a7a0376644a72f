//! Draws bars in the page itself. Words and figures are text beside the bars, so that they stay
//! readable on a narrow screen, and only the bars stretch.

use super::{count, escaped, interval, percent, thousands};
use crate::judge::ChoiceOutcome;
use crate::report::{ExamReport, ModelReport, Rate};

pub(super) fn charts(report: &ExamReport) -> String {
    const MORE: &str = "Share of answers, more is better.";
    const LESS: &str = "Share of answers, less is better.";
    [
        rates(report, "Right tool", MORE, |it| it.invocation_accuracy),
        rates(report, "Right arguments", MORE, |it| it.argument_accuracy),
        rates(report, "Tried again after an error", LESS, |it| {
            it.retry_rate
        }),
        outcomes(report),
        tokens(report),
    ]
    .concat()
}

/// Draws one bar for each model. A line shows the interval of the share.
fn rates(
    report: &ExamReport,
    title: &str,
    note: &str,
    rate: fn(&ModelReport) -> Option<Rate>,
) -> String {
    let measured = report.models.iter().filter_map(|it| Some((it, rate(it)?)));
    let rows: String = measured
        .map(|(model, rate)| rate_row(model, &rate))
        .collect();
    if rows.is_empty() {
        return rows;
    }
    let rows = rows + &axis("0 %", "50 %", "100 %");
    let note = format!("{note} The line is the 95 % interval.");
    figure(title, &note, &rows)
}

fn rate_row(model: &ModelReport, rate: &Rate) -> String {
    let mean = percent(rate.mean);
    let told = format!("{mean}, 95 % interval {}", interval(rate));
    let bars = [all(), rect("own", 0.0, 100.0 * rate.mean), reach(rate)].concat();
    let value = format!("{mean} <small>{} of {}</small>", rate.count, rate.of);
    row(&model.short, &svg(&told, &bars), &value, "")
}

/// Draws the answers of each model by their outcome.
fn outcomes(report: &ExamReport) -> String {
    let answered = report.models.iter().filter(|it| it.answered > 0);
    let rows: String = answered.map(outcome_row).collect();
    if rows.is_empty() {
        return rows;
    }
    let entries = ChoiceOutcome::ALL.map(legend_entry).concat();
    let legend = format!("<ul class=\"legend\">{entries}</ul>\n");
    let title = "What became of the first call";
    figure(title, "Number of answers.", &(rows + &legend))
}

fn outcome_row(model: &ModelReport) -> String {
    let (mut from, mut bars, mut told) = (0.0, String::new(), Vec::new());
    for (outcome, number) in model.outcomes.iter().filter(|(_, number)| *number > 0) {
        let long = 100.0 * *number as f64 / model.answered as f64;
        told.push(format!("{number} {}", outcome.as_str()));
        bars += &rect(class(*outcome), from, long);
        from += long;
    }
    let told = told.join(", ");
    let value = count(model.answered, "answer");
    row(&model.short, &svg(&told, &bars), &value, &told)
}

fn legend_entry(outcome: ChoiceOutcome) -> String {
    let patch = rect(class(outcome), 0.0, 100.0);
    let name = outcome.as_str();
    format!("<li><svg viewBox=\"0 0 100 100\" aria-hidden=\"true\">{patch}</svg>{name}</li>")
}

/// Draws the tokens that tools put into a context, and the tokens of the baseline without tools.
fn tokens(report: &ExamReport) -> String {
    let models = report.models.iter();
    let measured = models.filter_map(|it| Some((it, it.tokens.per_prompt?)));
    let measured: Vec<_> = measured.collect();
    if measured.is_empty() {
        return String::new();
    }
    let raw = report.baseline_tokens.filter(|it| *it > 0);
    let raw = raw.map(|it| it as f64);
    let all = measured.iter().map(|(_, tokens)| *tokens).chain(raw);
    let most = all.fold(0.0, f64::max);
    let mut rows = String::new();
    for (model, tokens) in measured {
        rows += &token_row(model, tokens, most);
    }
    rows += &raw.map(|raw| raw_row(raw, most)).unwrap_or_default();
    rows += &axis("0", "", &format!("{} tokens", thousands(most)));
    let note = "Mean over all answers; the first part is the definitions. Less is better.";
    figure("Tokens a prompt", note, &rows)
}

fn token_row(model: &ModelReport, tokens: f64, most: f64) -> String {
    let definitions = model.tokens.definitions as f64;
    let rest = tokens - definitions;
    let (own, second) = (100.0 * definitions / most, 100.0 * rest / most);
    let bars = [all(), rect("own", 0.0, own), rect("second", own, second)].concat();
    let (definitions, rest) = (thousands(definitions), thousands(rest));
    let mut told = format!("{definitions} definitions, {rest} calls and results");
    if let Some(share) = model.tokens.share_of_baseline {
        told += &format!("; {} of the raw JSON", percent(share));
    }
    row(&model.short, &svg(&told, &bars), &thousands(tokens), &told)
}

fn raw_row(raw: f64, most: f64) -> String {
    let bars = [all(), rect("second", 0.0, 100.0 * raw / most)].concat();
    let bar = svg("the raw JSON", &bars);
    row("raw JSON, without tools", &bar, &thousands(raw), "")
}

fn figure(title: &str, note: &str, rows: &str) -> String {
    format!("<figure><figcaption>{title}<small>{note}</small></figcaption>\n{rows}</figure>\n")
}

fn row(name: &str, bar: &str, value: &str, below: &str) -> String {
    let name = escaped(name);
    let below = if below.is_empty() {
        String::new()
    } else {
        format!("<small class=\"below\">{below}</small>")
    };
    format!(
        "<div class=\"row\"><span class=\"name\">{name}</span>{bar}<span class=\"value\">{value}</span>{below}</div>\n"
    )
}

fn axis(from: &str, middle: &str, to: &str) -> String {
    let ticks = [from, middle, to].map(|it| format!("<i>{it}</i>")).concat();
    format!("<div class=\"row axis\" aria-hidden=\"true\"><span>{ticks}</span></div>\n")
}

/// Returns an image that stretches only in length.
fn svg(told: &str, bars: &str) -> String {
    let told = escaped(told);
    format!(
        "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{told}\">{bars}</svg>"
    )
}

fn all() -> String {
    rect("all", 0.0, 100.0)
}

fn rect(class: &str, from: f64, long: f64) -> String {
    format!("<rect class=\"{class}\" x=\"{from:.2}\" y=\"0\" width=\"{long:.2}\" height=\"100\"/>")
}

/// Draws a line with a rim, so that it is visible on the bar and beside it.
fn reach(rate: &Rate) -> String {
    line("rim", rate) + &line("reach", rate)
}

fn line(class: &str, rate: &Rate) -> String {
    let (from, to) = (100.0 * rate.low, 100.0 * rate.high);
    format!(
        "<line class=\"{class}\" x1=\"{from:.2}\" x2=\"{to:.2}\" y1=\"50\" y2=\"50\" vector-effect=\"non-scaling-stroke\"/>"
    )
}

fn class(outcome: ChoiceOutcome) -> &'static str {
    match outcome {
        ChoiceOutcome::Right => "right",
        ChoiceOutcome::WrongArguments => "wrong-arguments",
        ChoiceOutcome::Malformed => "malformed",
        ChoiceOutcome::Failed => "failed",
        ChoiceOutcome::WrongTool => "wrong-tool",
        ChoiceOutcome::UnknownTool => "unknown-tool",
        ChoiceOutcome::NoCall => "no-call",
        ChoiceOutcome::OutOfTurns => "out-of-turns",
    }
}
