//! Compares two models, or one model on two surfaces, on the same prompts: the differences, and the
//! probability that chance would differ as much.

use serde::Serialize;

use super::ModelReport;
use crate::record::Record;
use crate::suite::Suite;
use crate::surface::EvalSurface;

#[derive(Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The models, each on its surface.
    pub first: String,
    pub first_surface: EvalSurface,
    pub second: String,
    pub second_surface: EvalSurface,
    /// The number of prompts answered by both.
    pub prompts: usize,
    /// The number of prompts on which both were right equally often.
    pub alike: usize,
    /// The ids of the prompts on which the first one was right more often.
    pub first_better: Vec<String>,
    pub second_better: Vec<String>,
    /// The probability that a fair coin, tossed for each prompt on which the two differ, would fall
    /// at least as unevenly; `None` if they differ on none.
    pub chance: Option<f64>,
}

pub(super) fn compare_models(
    suite: &Suite,
    first: &ModelReport,
    second: &ModelReport,
) -> Comparison {
    let mut comparison = Comparison::for_models(first, second);
    for id in suite.prompts.iter().map(|it| &it.id) {
        comparison.add_entry(id, &first.records, &second.records);
    }
    for id in suite.tasks.iter().map(|it| &it.id) {
        comparison.add_entry(id, task_records(first), task_records(second));
    }
    comparison.chance = sign_test(
        comparison.first_better.len(),
        comparison.second_better.len(),
    );
    comparison
}

impl Comparison {
    fn for_models(first: &ModelReport, second: &ModelReport) -> Self {
        Self {
            first: first.model.clone(),
            first_surface: first.surface,
            second: second.model.clone(),
            second_surface: second.surface,
            prompts: 0,
            alike: 0,
            first_better: Vec::new(),
            second_better: Vec::new(),
            chance: None,
        }
    }

    /// Adds a prompt or a task, if both have answered it.
    fn add_entry(&mut self, id: &str, first: &[Record], second: &[Record]) {
        if let (Some(one), Some(other)) = (right_share(first, id), right_share(second, id)) {
            self.add_shares(id, one, other);
        }
    }

    /// Adds a prompt, with the share of right answers of either.
    fn add_shares(&mut self, prompt: &str, first: f64, second: f64) {
        self.prompts += 1;
        if first > second {
            self.first_better.push(prompt.to_owned());
        } else if first < second {
            self.second_better.push(prompt.to_owned());
        } else {
            self.alike += 1;
        }
    }
}

fn task_records(model: &ModelReport) -> &[Record] {
    model.tasks.as_ref().map_or(&[], |it| &it.records)
}

/// Returns the share of right answers to a prompt, if there are any answers.
fn right_share(records: &[Record], prompt: &str) -> Option<f64> {
    let of: Vec<_> = records.iter().filter(|it| it.prompt == prompt).collect();
    let right = of.iter().filter(|it| it.is_right()).count();
    (!of.is_empty()).then(|| right as f64 / of.len() as f64)
}

/// Computes the exact sign test, on both sides.
fn sign_test(one: usize, other: usize) -> Option<f64> {
    let (tosses, fewer) = (one + other, one.min(other));
    // The logarithm is used, because a power of two soon leaves the range of numbers.
    let mut ln_ways = 0.0;
    let mut tail = 0.0;
    for heads in 0..=fewer {
        let probability: f64 = (ln_ways - tosses as f64 * std::f64::consts::LN_2).exp();
        tail += probability;
        ln_ways += ((tosses - heads) as f64).ln() - ((heads + 1) as f64).ln();
    }
    (tosses > 0).then(|| (2.0 * tail).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: usize, other: usize, expected: f64) {
        let found = sign_test(one, other).unwrap();
        assert!((found - expected).abs() < 1e-6, "{one}:{other} is {found}");
    }

    #[test]
    fn the_sign_test_matches_a_fair_coin() {
        check(0, 1, 1.0);
        check(5, 0, 0.0625);
        check(9, 2, 0.065_429_687);
        check(3, 3, 1.0);
        check(600, 400, 1e-9);
        assert_eq!(sign_test(0, 0), None);
    }
}
