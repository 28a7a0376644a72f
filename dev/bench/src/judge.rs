//! Scores a ranking with known right answers.

use std::collections::HashSet;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankingScores {
    pub(crate) recall_1: f64,
    pub(crate) recall_5: f64,
    pub(crate) recall_20: f64,
    pub(crate) ndcg_10: f64,
}

impl RankingScores {
    pub(crate) fn from_ranking(ranked: &[&str], relevant: &HashSet<&str>) -> Self {
        Self {
            recall_1: recall(ranked, relevant, 1),
            recall_5: recall(ranked, relevant, 5),
            recall_20: recall(ranked, relevant, 20),
            ndcg_10: ndcg(ranked, relevant, 10),
        }
    }

    pub(crate) fn mean(all: &[Self]) -> Self {
        let mean = |number: fn(&Self) -> f64| {
            all.iter().map(number).sum::<f64>() / all.len().max(1) as f64
        };
        Self {
            recall_1: mean(|it| it.recall_1),
            recall_5: mean(|it| it.recall_5),
            recall_20: mean(|it| it.recall_20),
            ndcg_10: mean(|it| it.ndcg_10),
        }
    }
}

/// The share of the right tools that are among the first `k`.
fn recall(ranked: &[&str], relevant: &HashSet<&str>, k: usize) -> f64 {
    let found = ranked
        .iter()
        .take(k)
        .filter(|it| relevant.contains(**it))
        .count();
    found as f64 / relevant.len().max(1) as f64
}

/// The discounted gain of the right tools, as a share of the ideal order's.
fn ndcg(ranked: &[&str], relevant: &HashSet<&str>, k: usize) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let ranks = ranked
        .iter()
        .take(k)
        .enumerate()
        .filter(|(_, it)| relevant.contains(**it));
    let ideal: f64 = (0..relevant.len().min(k)).map(gain).sum();
    ranks.map(|(rank, _)| gain(rank)).sum::<f64>() / ideal.max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ranked: &[&str], relevant: &[&str], recall_5: f64, ndcg_10: f64) {
        let scores = RankingScores::from_ranking(ranked, &relevant.iter().copied().collect());
        assert!((scores.recall_5 - recall_5).abs() < 1e-9, "{scores:?}");
        assert!((scores.ndcg_10 - ndcg_10).abs() < 1e-3, "{scores:?}");
    }

    #[test]
    fn scores_match_the_textbook() {
        check(&["a", "b"], &["a"], 1.0, 1.0);
        check(&["b", "a"], &["a"], 1.0, 0.631);
        check(&["a", "x", "b"], &["a", "b"], 1.0, 0.920);
        check(&["1", "2", "3", "4", "5", "a"], &["a", "b"], 0.0, 0.218);
        check(&[], &["a"], 0.0, 0.0);
    }
}
