//! The figures of one part of the benchmark with their goals, for people and programs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::table;

#[derive(Debug)]
pub(super) struct PartReport {
    title: &'static str,
    figures: Vec<CodeFigure>,
}

#[derive(Debug)]
struct CodeFigure {
    what: String,
    value: f64,
    unit: &'static str,
    goal: Option<Goal>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

/// The median and the slow end of many latencies, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct LatencySpread {
    pub(super) p50: f64,
    pub(super) p95: f64,
}

impl PartReport {
    pub(super) fn new(title: &'static str) -> Self {
        Self {
            title,
            figures: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.figures.push(CodeFigure {
            what: what.into(),
            value,
            unit,
            goal: None,
        });
    }

    /// Sets the goal of the last figure.
    pub(super) fn set_goal(&mut self, goal: Goal) {
        if let Some(last) = self.figures.last_mut() {
            last.goal = Some(goal);
        }
    }

    pub(super) fn json(&self) -> Value {
        let figures: Vec<Value> = self.figures.iter().map(CodeFigure::json).collect();
        json!({ "part": self.title, "figures": figures })
    }

    pub(super) fn print(&self) {
        let head = ["", "measured", "wanted", "met"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.figures.iter().map(CodeFigure::cells));
        println!("\n{}\n", self.title);
        table::print(&rows);
    }
}

impl CodeFigure {
    fn json(&self) -> Value {
        json!({ "what": self.what, "value": self.value, "unit": self.unit, "met": self.is_met() })
    }

    fn cells(&self) -> Vec<String> {
        let wanted = match self.goal {
            Some(Goal::AtMost(most)) => format!("≤ {}", format_value(most)),
            Some(Goal::AtLeast(least)) => format!("≥ {}", format_value(least)),
            None => String::new(),
        };
        let met = self
            .is_met()
            .map_or("", |met| if met { "yes" } else { "no" });
        let measured = format!("{} {}", format_value(self.value), self.unit);
        vec![
            self.what.clone(),
            measured.trim_end().to_owned(),
            wanted,
            met.to_owned(),
        ]
    }

    fn is_met(&self) -> Option<bool> {
        Some(match self.goal? {
            Goal::AtMost(most) => self.value <= most,
            Goal::AtLeast(least) => self.value >= least,
        })
    }
}

impl LatencySpread {
    /// There must be at least one latency.
    pub(super) fn from_latencies(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        let last = latencies.len() - 1;
        Self {
            p50: milliseconds(latencies[last / 2]),
            p95: milliseconds(latencies[last * 95 / 100]),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Formats whole numbers without a point, and large ones without decimals.
fn format_value(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_taken_from_the_sorted_latencies() {
        let latencies = (1..=100).rev().map(Duration::from_millis).collect();
        let spread = LatencySpread::from_latencies(latencies);
        assert_eq!((spread.p50, spread.p95), (50.0, 95.0));
    }
}
