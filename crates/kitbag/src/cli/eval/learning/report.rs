//! The learning report, for people and for programs.

use serde_json::{Value, json};

use super::Arguments;
use super::curve::{CurveFigures, CurvePoint, SetCurves};
use crate::cli::output::{format_table, pluralize};

pub(super) struct LearningReport {
    seed: u64,
    splits: u64,
    wrong: f64,
    found_only: bool,
    sets: Vec<SetCurves>,
}

/// One row of the table: a point of both curves.
struct PointPair {
    right: CurveFigures,
    wrong: CurveFigures,
}

impl LearningReport {
    pub(super) fn new(arguments: &Arguments, sets: Vec<SetCurves>) -> Self {
        Self {
            seed: arguments.seed,
            splits: arguments.splits,
            wrong: arguments.wrong,
            found_only: arguments.found_only,
            sets,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "seed": self.seed,
            "splits": self.splits,
            "wrong": self.wrong,
            "found_only": self.found_only,
            "sets": self.sets.iter().map(set_json).collect::<Vec<_>>(),
            "mean": {
                "right": curve_json(&self.mean_curve(|set| &set.right)),
                "wrong": curve_json(&self.mean_curve(|set| &set.wrong)),
            },
        })
    }

    pub(super) fn to_text(&self) -> String {
        let sets = self.sets.iter();
        let mut parts: Vec<String> = sets.map(|set| self.set_text(set)).collect();
        if self.sets.len() > 1 {
            let right = self.mean_curve(|set| &set.right);
            let wrong = self.mean_curve(|set| &set.wrong);
            let heading = format!("Mean of {}\n", pluralize(self.sets.len(), "set"));
            parts.push(heading + &self.point_table(point_pairs(right, wrong)));
        }
        parts.push(EXPLANATION.to_owned());
        parts.join("\n")
    }

    fn set_text(&self, set: &SetCurves) -> String {
        let heading = format!(
            "{}: {}, {}, with {} held out in each of {}\n",
            set.name,
            pluralize(set.tools, "tool"),
            pluralize(set.requests, "request"),
            set.held_out / self.splits.max(1) as usize,
            pluralize(self.splits as usize, "split"),
        );
        heading
            + &self.point_table(point_pairs(
                curve_figures(&set.right),
                curve_figures(&set.wrong),
            ))
    }

    fn point_table(&self, pairs: impl Iterator<Item = PointPair>) -> String {
        let wrong = format!("{:.0} % WRONG:", self.wrong * 100.0);
        let headings = [
            "USES",
            "R@1",
            "R@5",
            "RECOVERED",
            "OF ALL",
            &wrong,
            "R@5",
            "RECOVERED",
        ];
        format_table(headings, pairs.map(|pair| pair.to_cells()))
    }

    /// Averages the sets; a set without misses does not count towards the recovered share.
    fn mean_curve(&self, curve: fn(&SetCurves) -> &[CurvePoint]) -> Vec<CurveFigures> {
        let sets: Vec<Vec<CurveFigures>> = self
            .sets
            .iter()
            .map(|set| curve_figures(curve(set)))
            .collect();
        let points = sets.first().map_or(0, Vec::len);
        (0..points)
            .map(|at| mean_figures(&sets.iter().map(|set| set[at]).collect::<Vec<_>>()))
            .collect()
    }
}

const EXPLANATION: &str = "\
USES 0 is the static ranking. RECOVERED counts right tools that had been used and that the static
ranking left out of the top five: the share of them in the top five after learning. OF ALL includes
tools without any use.";

fn point_pairs(
    right: Vec<CurveFigures>,
    wrong: Vec<CurveFigures>,
) -> impl Iterator<Item = PointPair> {
    let pairs = right.into_iter().zip(wrong);
    pairs.map(|(right, wrong)| PointPair { right, wrong })
}

impl PointPair {
    fn to_cells(&self) -> [String; 8] {
        let Self { right, wrong } = self;
        [
            right.uses.to_string(),
            format_figure(right.recall1),
            format_figure(right.recall5),
            format_share(right.recovered_used),
            format_share(right.recovered_all),
            format!("R@1 {}", format_figure(wrong.recall1)),
            format_figure(wrong.recall5),
            format_share(wrong.recovered_used),
        ]
    }
}

fn format_figure(value: f64) -> String {
    format!("{value:.3}")
}

fn format_share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |it| format!("{:.0} %", it * 100.0))
}

fn curve_figures(curve: &[CurvePoint]) -> Vec<CurveFigures> {
    curve.iter().map(CurvePoint::to_figures).collect()
}

fn set_json(set: &SetCurves) -> Value {
    json!({
        "name": set.name,
        "tools": set.tools,
        "requests": set.requests,
        "right": set.right.iter().map(CurvePoint::to_json).collect::<Vec<_>>(),
        "wrong": set.wrong.iter().map(CurvePoint::to_json).collect::<Vec<_>>(),
    })
}

fn curve_json(curve: &[CurveFigures]) -> Vec<Value> {
    curve.iter().copied().map(CurveFigures::to_json).collect()
}

fn mean_figures(points: &[CurveFigures]) -> CurveFigures {
    CurveFigures {
        uses: points.first().map_or(0, |it| it.uses),
        recall1: mean_known(points.iter().map(|it| Some(it.recall1))).unwrap_or(0.0),
        recall5: mean_known(points.iter().map(|it| Some(it.recall5))).unwrap_or(0.0),
        recovered_used: mean_known(points.iter().map(|it| it.recovered_used)),
        recovered_all: mean_known(points.iter().map(|it| it.recovered_all)),
    }
}

fn mean_known(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
