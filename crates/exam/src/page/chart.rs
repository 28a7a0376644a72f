//! Draws bars in the page itself. Words and figures are text beside the bars, so that they stay
//! readable on a narrow screen, and only the bars stretch.

use super::{count, escaped, interval, percent, thousands};
use crate::judge::ChoiceOutcome;
use crate::report::{ExamReport, ModelReport, Rate};

pub(super) fn charts(report: &ExamReport) -> String {
    let mut charts = rates(
        report,
        "Right tool",
        "Share of answers, more is better.",
        |it| it.invocation_accuracy,
    );
    charts += &rates(
        report,
        "Right arguments",
        "Share of answers, more is better.",
        |it| it.argument_accuracy,
    );
    charts += &rates(
        report,
        "Tried again after an error",
        "Share of answers, less is better.",
        |it| it.retry_rate,
    );
    charts + &outcomes(report) + &tokens(report)
}

/// Draws one bar for each model. A line shows the interval of the share.
fn rates(
    report: &ExamReport,
    title: &str,
    note: &str,
    rate: fn(&ModelReport) -> Option<Rate>,
) -> String {
    let measured: Vec<_> = report
        .models
        .iter()
        .filter_map(|it| Some((it, rate(it)?)))
        .collect();
    if measured.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for (model, rate) in measured {
        let told = format!("{}, 95 % interval {}", percent(rate.mean), interval(&rate));
        let bars = [all(), rect("own", 0.0, 100.0 * rate.mean), reach(&rate)].concat();
        let value = format!(
            "{} <small>{} of {}</small>",
            percent(rate.mean),
            rate.count,
            rate.of
        );
        rows += &row(&model.short, &svg(&told, &bars), &value, "");
    }
    rows += &axis("0 %", "50 %", "100 %");
    figure(
        title,
        &format!("{note} The line is the 95 % interval."),
        &rows,
    )
}

/// Draws the answers of each model by their outcome.
fn outcomes(report: &ExamReport) -> String {
    let answered: Vec<_> = report.models.iter().filter(|it| it.answered > 0).collect();
    if answered.is_empty() {
        return String::new();
    }
    let mut rows = String::new();
    for model in answered {
        let (mut from, mut bars, mut told) = (0.0, String::new(), Vec::new());
        for (outcome, number) in model.outcomes.iter().filter(|(_, number)| *number > 0) {
            let long = 100.0 * *number as f64 / model.answered as f64;
            told.push(format!("{number} {}", outcome.as_str()));
            bars += &rect(class(*outcome), from, long);
            from += long;
        }
        let told = told.join(", ");
        rows += &row(
            &model.short,
            &svg(&told, &bars),
            &count(model.answered, "answer"),
            &told,
        );
    }
    let entry = |outcome: ChoiceOutcome| {
        let patch = rect(class(outcome), 0.0, 100.0);
        let name = outcome.as_str();
        format!("<li><svg viewBox=\"0 0 100 100\" aria-hidden=\"true\">{patch}</svg>{name}</li>")
    };
    let legend = format!(
        "<ul class=\"legend\">{}</ul>\n",
        ChoiceOutcome::ALL.map(entry).concat()
    );
    figure(
        "What became of the first call",
        "Number of answers.",
        &(rows + &legend),
    )
}

/// Draws the tokens that tools put into a context, and the tokens of the baseline without tools.
fn tokens(report: &ExamReport) -> String {
    let measured: Vec<_> = report
        .models
        .iter()
        .filter_map(|it| Some((it, it.tokens.per_prompt?)))
        .collect();
    let raw = report
        .baseline_tokens
        .filter(|it| *it > 0)
        .map(|it| it as f64);
    if measured.is_empty() {
        return String::new();
    }
    let most = measured
        .iter()
        .map(|(_, tokens)| *tokens)
        .chain(raw)
        .fold(0.0, f64::max);
    let part = |tokens: f64| 100.0 * tokens / most;
    let mut rows = String::new();
    for (model, tokens) in measured {
        let definitions = model.tokens.definitions as f64;
        let rest = tokens - definitions;
        let bars = [
            all(),
            rect("own", 0.0, part(definitions)),
            rect("second", part(definitions), part(rest)),
        ];
        let mut told = format!(
            "{} definitions, {} calls and results",
            thousands(definitions),
            thousands(rest)
        );
        if let Some(share) = model.tokens.share_of_baseline {
            told += &format!("; {} of the raw JSON", percent(share));
        }
        rows += &row(
            &model.short,
            &svg(&told, &bars.concat()),
            &thousands(tokens),
            &told,
        );
    }
    if let Some(raw) = raw {
        let bars = [all(), rect("second", 0.0, part(raw))].concat();
        rows += &row(
            "raw JSON, without tools",
            &svg("the raw JSON", &bars),
            &thousands(raw),
            "",
        );
    }
    rows += &axis("0", "", &format!("{} tokens", thousands(most)));
    let note = "Mean over all answers; the first part is the definitions. Less is better.";
    figure("Tokens a prompt", note, &rows)
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
    let (from, to) = (100.0 * rate.low, 100.0 * rate.high);
    let line = |class: &str| {
        format!(
            "<line class=\"{class}\" x1=\"{from:.2}\" x2=\"{to:.2}\" y1=\"50\" y2=\"50\" vector-effect=\"non-scaling-stroke\"/>"
        )
    };
    ["rim", "reach"].map(line).concat()
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
