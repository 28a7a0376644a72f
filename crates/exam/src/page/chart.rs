//! Bars as SVG, in the page itself.

use std::fmt::Write as _;

use super::escaped;
use crate::judge::Outcome;
use crate::report::ModelReport;

pub(super) struct Bar {
    pub(super) label: String,
    pub(super) share: f64,
}

const ROW: usize = 28;
const THICK: usize = 18;
const LABELS: usize = 260;
const FULL: f64 = 480.0;
const WIDTH: usize = 820;

/// One bar a row, as long as its share; beyond the whole it ends at the edge, and its figure tells.
pub(super) fn bars(bars: &[Bar]) -> String {
    let mut svg = open(bars.len());
    for (row, bar) in bars.iter().enumerate() {
        label(&mut svg, row, &bar.label);
        let long = FULL * bar.share.clamp(0.0, 1.0);
        rect(&mut svg, LABELS as f64, row, FULL, "#8883");
        rect(&mut svg, LABELS as f64, row, long, "#3b73b9");
        let figure = format!("{:.1} %", 100.0 * bar.share);
        text(&mut svg, LABELS + FULL as usize + 8, row, &figure);
    }
    svg + "</svg>\n"
}

/// For each model, its answers by what became of them.
pub(super) fn stacks(models: &[&ModelReport]) -> String {
    let mut svg = open(models.len() + 1);
    for (row, model) in models.iter().enumerate() {
        label(&mut svg, row, &model.model);
        let mut from = LABELS as f64;
        for (outcome, number) in &model.outcomes {
            let long = FULL * *number as f64 / model.answered.max(1) as f64;
            rect(&mut svg, from, row, long, color(*outcome));
            from += long;
        }
    }
    let mut from = 0;
    for outcome in Outcome::ALL {
        rect(&mut svg, from as f64, models.len(), THICK as f64, color(outcome));
        text(&mut svg, from + THICK + 6, models.len(), outcome.as_str());
        from += 40 + 8 * outcome.as_str().len();
    }
    svg + "</svg>\n"
}

fn color(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Right => "#2a7d46",
        Outcome::WrongArguments => "#d9a441",
        Outcome::Malformed => "#a56cc1",
        Outcome::Failed => "#6c7a89",
        Outcome::WrongTool => "#b3402a",
        Outcome::NoCall => "#555555",
    }
}

fn open(rows: usize) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\" font-size=\"13\">\n", rows * ROW)
}

/// Long names keep their end, where the model is.
fn label(svg: &mut String, row: usize, name: &str) {
    const FITS: usize = 34;
    let length = name.chars().count();
    let shown: String = match length > FITS {
        true => std::iter::once('…').chain(name.chars().skip(length - FITS + 1)).collect(),
        false => name.to_owned(),
    };
    text(svg, 0, row, &shown);
}

fn text(svg: &mut String, x: usize, row: usize, text: &str) {
    let y = row * ROW + THICK - 4;
    writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(text))
        .expect("writing into a string cannot fail");
}

fn rect(svg: &mut String, x: f64, row: usize, width: f64, color: &str) {
    let y = row * ROW;
    writeln!(svg, "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{THICK}\" fill=\"{color}\"/>")
        .expect("writing into a string cannot fail");
}
