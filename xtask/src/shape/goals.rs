//! The figures that have a goal, and those that must not be missed again.
//!
//! This table is the ratchet: once a goal is met, its row says so, and a test fails when the
//! figure gets worse than the goal.

use super::Shape;

/// A figure that should be small.
#[derive(Debug)]
pub struct Goal {
    pub name: &'static str,
    /// Put behind the number, such as ` %`.
    pub unit: &'static str,
    pub at_most: f64,
    /// True once the goal was met. From then on it may not be missed.
    pub is_held: bool,
    /// `None` where there is nothing to measure.
    measured: fn(&Shape) -> Option<f64>,
}

pub const GOALS: &[Goal] = &[
    Goal {
        name: "largest crate, share of production lines",
        unit: " %",
        at_most: 20.0,
        is_held: true,
        measured: |shape| Some(shape.largest_share()),
    },
    Goal {
        name: "hops from the HTTP door to the pipeline",
        unit: "",
        at_most: 15.0,
        is_held: true,
        measured: |shape| shape.hops.as_ref().map(|hops| count(hops.len())),
    },
    Goal {
        name: "places that load the catalog again within a request",
        unit: "",
        at_most: 0.0,
        is_held: true,
        measured: |shape| Some(count(shape.catalog_loads.len())),
    },
    Goal {
        name: "functions that take everything beside a turn",
        unit: "",
        at_most: 0.0,
        is_held: true,
        measured: |shape| Some(count(shape.production.functions.take_everything.len())),
    },
    Goal {
        name: "modules of the gateway in one knot",
        unit: "",
        at_most: 7.0,
        is_held: true,
        measured: |shape| Some(count(shape.knot.modules.len())),
    },
    Goal {
        name: "median function body, characters without blanks",
        unit: "",
        at_most: 110.0,
        is_held: false,
        measured: |shape| Some(count(shape.production.functions.characters.median)),
    },
    Goal {
        name: "named local closures per 1,000 lines",
        unit: "",
        at_most: 2.0,
        is_held: true,
        measured: |shape| Some(shape.production.closures_per_thousand()),
    },
    Goal {
        name: "type names that mean more than one type",
        unit: " %",
        at_most: 8.0,
        is_held: true,
        measured: |shape| Some(shape.shared_names_share()),
    },
    Goal {
        name: "comments that begin a clause without its sentence",
        unit: "",
        at_most: 0.0,
        is_held: true,
        measured: |shape| Some(count(shape.production.prose.headless)),
    },
    Goal {
        name: "words that name no actor",
        unit: "",
        at_most: 0.0,
        is_held: true,
        measured: |shape| Some(count(shape.production.prose.unnamed_actors)),
    },
];

impl Goal {
    #[must_use]
    pub fn measure(&self, shape: &Shape) -> Option<f64> {
        (self.measured)(shape)
    }

    /// True if the figure reaches the goal. What cannot be measured does not.
    #[must_use]
    pub fn is_met(&self, shape: &Shape) -> bool {
        self.measure(shape)
            .is_some_and(|value| value <= self.at_most)
    }
}

/// The goals that were met and are missed again, each as a sentence.
#[must_use]
pub fn missed_again(shape: &Shape) -> Vec<String> {
    GOALS
        .iter()
        .filter(|goal| goal.is_held && !goal.is_met(shape))
        .map(|goal| {
            let value = goal
                .measure(shape)
                .map_or("not measurable".to_owned(), rounded);
            format!(
                "{}: {value}{unit}, and it was at most {}{unit}",
                goal.name,
                goal.at_most,
                unit = goal.unit
            )
        })
        .collect()
}

/// At most one digit behind the point.
#[must_use]
pub fn rounded(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

fn count(number: usize) -> f64 {
    number as f64
}
