//! Draws bars as SVG in the page. Labels and figures are text next to the bars, so that they stay
//! readable on a narrow screen, and only the bars stretch.

use super::{count_noun, escape_html, format_interval, format_percent, format_thousands};
use crate::judge::ChoiceOutcome;
use crate::report::{EvalReport, ModelReport, Rate};

pub(super) fn render_charts(report: &EvalReport) -> String {
    const MORE: &str = "Share of answers, higher is better.";
    const LESS: &str = "Share of answers, lower is better.";
    [
        rate_figure(report, "Right tool", MORE, |it| it.invocation_accuracy),
        rate_figure(report, "Right arguments", MORE, |it| it.argument_accuracy),
        rate_figure(report, "Retried after an error", LESS, |it| it.retry_rate),
        outcome_figure(report),
        token_figure(report),
    ]
    .concat()
}

/// Draws one bar per model. A line shows the interval of the share.
fn rate_figure(
    report: &EvalReport,
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
    let rows = rows + &axis_row("0 %", "50 %", "100 %");
    let note = format!("{note} The line is the 95 % interval.");
    render_figure(title, &note, &rows)
}

fn rate_row(model: &ModelReport, rate: &Rate) -> String {
    let mean = format_percent(rate.mean);
    let text = format!("{mean}, 95 % interval {}", format_interval(rate));
    let bars = [
        full_bar(),
        svg_rect("own", 0.0, 100.0 * rate.mean),
        interval_line(rate),
    ]
    .concat();
    let value = format!("{mean} <small>{} of {}</small>", rate.count, rate.of);
    render_row(&model.short, &svg_image(&text, &bars), &value, "")
}

/// Draws the answers of each model by outcome.
fn outcome_figure(report: &EvalReport) -> String {
    let answered = report.models.iter().filter(|it| it.answered > 0);
    let rows: String = answered.map(outcome_row).collect();
    if rows.is_empty() {
        return rows;
    }
    let entries = ChoiceOutcome::ALL.map(legend_entry).concat();
    let legend = format!("<ul class=\"legend\">{entries}</ul>\n");
    let title = "Outcome of the first call";
    render_figure(title, "Number of answers.", &(rows + &legend))
}

fn outcome_row(model: &ModelReport) -> String {
    let (mut from, mut bars, mut text) = (0.0, String::new(), Vec::new());
    for (outcome, number) in model.outcomes.iter().filter(|(_, number)| *number > 0) {
        let long = 100.0 * *number as f64 / model.answered as f64;
        text.push(format!("{number} {}", outcome.as_str()));
        bars += &svg_rect(css_class(*outcome), from, long);
        from += long;
    }
    let text = text.join(", ");
    let value = count_noun(model.answered, "answer");
    render_row(&model.short, &svg_image(&text, &bars), &value, &text)
}

fn legend_entry(outcome: ChoiceOutcome) -> String {
    let patch = svg_rect(css_class(outcome), 0.0, 100.0);
    let name = outcome.as_str();
    format!("<li><svg viewBox=\"0 0 100 100\" aria-hidden=\"true\">{patch}</svg>{name}</li>")
}

/// Draws the tokens that tools put into a context, and the tokens of the baseline without tools.
fn token_figure(report: &EvalReport) -> String {
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
    rows += &axis_row("0", "", &format!("{} tokens", format_thousands(most)));
    let note = "Mean over all answers; the first part is the definitions. Lower is better.";
    render_figure("Tokens a prompt", note, &rows)
}

fn token_row(model: &ModelReport, tokens: f64, most: f64) -> String {
    let definitions = model.tokens.definitions as f64;
    let rest = tokens - definitions;
    let (own, second) = (100.0 * definitions / most, 100.0 * rest / most);
    let bars = [
        full_bar(),
        svg_rect("own", 0.0, own),
        svg_rect("second", own, second),
    ]
    .concat();
    let (definitions, rest) = (format_thousands(definitions), format_thousands(rest));
    let mut text = format!("{definitions} definitions, {rest} calls and results");
    if let Some(share) = model.tokens.share_of_baseline {
        text += &format!("; {} of the raw JSON", format_percent(share));
    }
    render_row(
        &model.short,
        &svg_image(&text, &bars),
        &format_thousands(tokens),
        &text,
    )
}

fn raw_row(raw: f64, most: f64) -> String {
    let bars = [full_bar(), svg_rect("second", 0.0, 100.0 * raw / most)].concat();
    let bar = svg_image("the raw JSON", &bars);
    render_row("raw JSON, without tools", &bar, &format_thousands(raw), "")
}

fn render_figure(title: &str, note: &str, rows: &str) -> String {
    format!("<figure><figcaption>{title}<small>{note}</small></figcaption>\n{rows}</figure>\n")
}

fn render_row(name: &str, bar: &str, value: &str, below: &str) -> String {
    let name = escape_html(name);
    let below = if below.is_empty() {
        String::new()
    } else {
        format!("<small class=\"below\">{below}</small>")
    };
    format!(
        "<div class=\"row\"><span class=\"name\">{name}</span>{bar}<span class=\"value\">{value}</span>{below}</div>\n"
    )
}

fn axis_row(from: &str, middle: &str, to: &str) -> String {
    let ticks = [from, middle, to].map(|it| format!("<i>{it}</i>")).concat();
    format!("<div class=\"row axis\" aria-hidden=\"true\"><span>{ticks}</span></div>\n")
}

/// Returns an image that stretches only in length.
fn svg_image(text: &str, bars: &str) -> String {
    let text = escape_html(text);
    format!(
        "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{text}\">{bars}</svg>"
    )
}

fn full_bar() -> String {
    svg_rect("all", 0.0, 100.0)
}

fn svg_rect(class: &str, from: f64, long: f64) -> String {
    format!("<rect class=\"{class}\" x=\"{from:.2}\" y=\"0\" width=\"{long:.2}\" height=\"100\"/>")
}

/// Draws a line with an outline, so that it is visible both on the bar and outside.
fn interval_line(rate: &Rate) -> String {
    svg_line("rim", rate) + &svg_line("reach", rate)
}

fn svg_line(class: &str, rate: &Rate) -> String {
    let (from, to) = (100.0 * rate.low, 100.0 * rate.high);
    format!(
        "<line class=\"{class}\" x1=\"{from:.2}\" x2=\"{to:.2}\" y1=\"50\" y2=\"50\" vector-effect=\"non-scaling-stroke\"/>"
    )
}

fn css_class(outcome: ChoiceOutcome) -> &'static str {
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
