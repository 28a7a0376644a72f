//! The points of a learning curve: ranking quality after a number of uses of each tool.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::stream::SHOWN;
use super::{ReplayedRequest, ReplayedSet};

/// The curves of one set.
pub(super) struct SetCurves {
    pub(super) name: String,
    pub(super) tools: usize,
    pub(super) requests: usize,
    /// Number of held-out requests in all splits.
    pub(super) held_out: usize,
    /// After correct uses only; the first point is the static ranking.
    pub(super) right: Vec<CurvePoint>,
    /// With some uses of wrong tools.
    pub(super) wrong: Vec<CurvePoint>,
}

impl SetCurves {
    pub(super) fn new(set: &ReplayedSet, uses: &[usize]) -> Self {
        let mut uses: Vec<usize> = uses.iter().copied().chain([0]).collect();
        uses.sort_unstable();
        uses.dedup();
        let points: Vec<_> = uses.into_iter().map(CurvePoint::after_uses).collect();
        Self {
            name: set.name.clone(),
            tools: set.tools.len(),
            requests: set.requests.len(),
            held_out: 0,
            right: points.clone(),
            wrong: points,
        }
    }
}

/// Ranking quality after a number of uses of each tool, summed over the held-out requests.
#[derive(Debug, Clone, Default)]
pub(super) struct CurvePoint {
    pub(super) uses: usize,
    requests: usize,
    recall1: f64,
    recall5: f64,
    /// Among used tools.
    used_misses: RecoveryCount,
    all_misses: RecoveryCount,
}

/// Right tools that the static ranking leaves out of the top five although there is room, and how many
/// of them are there after learning.
#[derive(Debug, Clone, Copy, Default)]
struct RecoveryCount {
    total: usize,
    found: usize,
}

/// The figures of a point, averaged over requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CurveFigures {
    pub(super) uses: usize,
    pub(super) recall1: f64,
    pub(super) recall5: f64,
    /// Share of recovered misses among used tools; `None` without misses.
    pub(super) recovered_used: Option<f64>,
    pub(super) recovered_all: Option<f64>,
}

impl CurvePoint {
    fn after_uses(uses: usize) -> Self {
        Self {
            uses,
            ..Self::default()
        }
    }

    pub(super) fn record_ranking(
        &mut self,
        request: &ReplayedRequest,
        ranked: &[String],
        used: &HashSet<&str>,
    ) {
        let count = request.relevant.len();
        self.requests += 1;
        self.recall1 += request.count_found(ranked, 1) as f64 / count as f64;
        self.recall5 += request.count_found(ranked, SHOWN) as f64 / count as f64;
        let room = count.min(SHOWN) - request.count_found(&request.ranked, SHOWN);
        self.all_misses
            .add_misses(room, &request.missed_tools(|_| true), ranked);
        let missed = request.missed_tools(|tool| used.contains(tool));
        self.used_misses.add_misses(room, &missed, ranked);
    }

    pub(super) fn to_figures(&self) -> CurveFigures {
        let requests = self.requests.max(1) as f64;
        CurveFigures {
            uses: self.uses,
            recall1: self.recall1 / requests,
            recall5: self.recall5 / requests,
            recovered_used: self.used_misses.share(),
            recovered_all: self.all_misses.share(),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = self.to_figures().to_json();
        value["misses"] = json!({ "used": self.used_misses.total, "all": self.all_misses.total });
        value
    }
}

impl CurveFigures {
    pub(super) fn to_json(self) -> Value {
        json!({
            "uses": self.uses,
            "recall": { "1": self.recall1, "5": self.recall5 },
            "recovered": { "used": self.recovered_used, "all": self.recovered_all },
        })
    }
}

impl RecoveryCount {
    /// If there are more right tools than slots, counts only as many as there is room for.
    fn add_misses(&mut self, room: usize, missed: &[&String], ranked: &[String]) {
        let shown = &ranked[..ranked.len().min(SHOWN)];
        let found = missed.iter().filter(|tool| shown.contains(tool)).count();
        self.total += room.min(missed.len());
        self.found += room.min(found);
    }

    fn share(self) -> Option<f64> {
        (self.total > 0).then(|| self.found as f64 / self.total as f64)
    }
}

impl ReplayedRequest {
    /// Counts the right tools among the first `first`.
    fn count_found(&self, ranked: &[String], first: usize) -> usize {
        let shown = ranked.iter().take(first);
        shown.filter(|tool| self.relevant.contains(tool)).count()
    }

    /// Returns the counted right tools that the static ranking leaves out of the top five.
    fn missed_tools(&self, counts: impl Fn(&str) -> bool) -> Vec<&String> {
        let shown = &self.ranked[..self.ranked.len().min(SHOWN)];
        let missed = self.relevant.iter().filter(|tool| !shown.contains(tool));
        missed.filter(|tool| counts(tool)).collect()
    }
}
