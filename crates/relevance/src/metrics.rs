//! Measures the quality of a ranking against the right answers.

use std::collections::{BTreeMap, HashSet};

/// One query's ranking and its right answers.
#[derive(Debug, Clone)]
pub struct JudgedQuery<'a> {
    /// The slots, best first. Equivalent answers share a slot.
    pub ranked: Vec<Vec<&'a str>>,
    pub relevant: HashSet<&'a str>,
}

/// Means over queries, each between 0 and 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    /// The share of right answers among the first N, by N.
    pub recall: BTreeMap<usize, f64>,
    /// The share of queries with a right answer among the first three.
    pub hit3: f64,
    /// nDCG of the first ten.
    pub ndcg10: f64,
}

impl Metrics {
    pub const CUTOFFS: [usize; 5] = [1, 3, 5, 10, 20];

    /// Queries without a right answer are left out.
    pub fn from_queries<'a>(queries: impl IntoIterator<Item = &'a JudgedQuery<'a>>) -> Self {
        let queries: Vec<_> = queries
            .into_iter()
            .filter(|query| !query.relevant.is_empty())
            .collect();
        Self {
            recall: Self::CUTOFFS
                .map(|cutoff| (cutoff, mean(&queries, |query| query.recall(cutoff))))
                .into(),
            hit3: mean(&queries, |query| query.hit(3)),
            ndcg10: mean(&queries, |query| query.ndcg(10)),
        }
    }
}

fn mean(queries: &[&JudgedQuery<'_>], measure: impl Fn(&JudgedQuery<'_>) -> f64) -> f64 {
    // An empty `sum` is −0.0, which would be printed.
    let sum = queries.iter().fold(0.0, |sum, query| sum + measure(query));
    sum / queries.len().max(1) as f64
}

impl JudgedQuery<'_> {
    fn recall(&self, cutoff: usize) -> f64 {
        let found: usize = self
            .right_ranks(cutoff)
            .map(|rank| self.count_right_at(rank))
            .sum();
        found as f64 / self.relevant.len() as f64
    }

    fn hit(&self, cutoff: usize) -> f64 {
        f64::from(u8::from(self.right_ranks(cutoff).next().is_some()))
    }

    fn ndcg(&self, cutoff: usize) -> f64 {
        let ideal: f64 = (0..self.slots_needed().min(cutoff)).map(discount).sum();
        self.right_ranks(cutoff).map(discount).sum::<f64>() / ideal
    }

    /// Returns the ranks of right answers within the cutoff, from 0.
    fn right_ranks(&self, cutoff: usize) -> impl Iterator<Item = usize> {
        (0..self.ranked.len().min(cutoff)).filter(|rank| self.count_right_at(*rank) > 0)
    }

    /// Returns the number of right answers in the slot. A repeated answer counts once.
    fn count_right_at(&self, rank: usize) -> usize {
        let before = self.ranked[..rank].iter().flatten();
        let before: HashSet<&str> = before.copied().collect();
        let here = self.ranked[rank].iter().filter(|it| !before.contains(*it));
        here.filter(|it| self.relevant.contains(*it)).count()
    }

    /// Returns the number of slots that all right answers take, given that some share one.
    fn slots_needed(&self) -> usize {
        let ranks = 0..self.ranked.len();
        let shared: usize = ranks
            .map(|it| self.count_right_at(it).saturating_sub(1))
            .sum();
        self.relevant.len() - shared
    }
}

/// The gain of a right answer at this rank, as nDCG defines it.
fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each query is `ranked/relevant` with a letter per answer; a dot joins answers that share a
    /// slot. Expects R@1, R@3, R@5, R@10, R@20, hit@3 and nDCG@10.
    #[track_caller]
    fn check(queries: &[&str], expect: [f64; 7]) {
        let judged: Vec<_> = queries.iter().map(|query| judge_query(query)).collect();
        let metrics = Metrics::from_queries(&judged);
        let last = [metrics.hit3, metrics.ndcg10];
        let found: Vec<f64> = metrics.recall.into_values().chain(last).collect();
        let near = found
            .iter()
            .zip(expect)
            .all(|(found, expect)| (found - expect).abs() < 1e-5);
        assert!(
            near && found.len() == expect.len(),
            "{queries:?}: {found:?}"
        );
    }

    fn judge_query(query: &str) -> JudgedQuery<'_> {
        let (ranked, relevant) = query.split_once('/').unwrap();
        JudgedQuery {
            ranked: parse_slots(ranked),
            relevant: letters(relevant).collect(),
        }
    }

    fn parse_slots(text: &str) -> Vec<Vec<&str>> {
        let mut slots: Vec<Vec<&str>> = Vec::new();
        let mut shares = false;
        for letter in letters(text) {
            match slots.last_mut().filter(|_| shares) {
                _ if letter == "." => {}
                Some(slot) => slot.push(letter),
                None => slots.push(vec![letter]),
            }
            shares = letter == ".";
        }
        slots
    }

    fn letters(text: &str) -> impl Iterator<Item = &str> {
        text.split("").filter(|letter| !letter.is_empty())
    }

    #[test]
    fn the_further_down_the_right_answer_the_lower_every_figure() {
        check(&["abc/a"], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        check(&["xya/a"], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]);
        check(&["xyza/a"], [0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.430_677]);
        check(&["bcdefghijka/a"], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        check(&["xyz/a"], [0.0; 7]);
        check(&["/a"], [0.0; 7]);
    }

    #[test]
    fn with_several_right_answers_each_counts() {
        check(&["axb/ab"], [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.919_721]);
        check(
            &["xaxb/abc"],
            [
                0.0,
                1.0 / 3.0,
                2.0 / 3.0,
                2.0 / 3.0,
                2.0 / 3.0,
                1.0,
                0.498_189,
            ],
        );
    }

    #[test]
    fn ten_right_answers_on_top_are_perfect_even_if_there_are_more() {
        let [r1, r3, r5, r10] = [1.0, 3.0, 5.0, 10.0].map(|count| count / 12.0);
        check(
            &["abcdefghijkl/abcdefghijkl"],
            [r1, r3, r5, r10, 1.0, 1.0, 1.0],
        );
    }

    #[test]
    fn an_answer_given_twice_is_right_once() {
        check(&["aab/ab"], [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.919_721]);
    }

    #[test]
    fn answers_that_share_a_slot_are_all_found_there() {
        check(&["a.b/ab"], [1.0; 7]);
        check(&["a.b/b"], [1.0; 7]);
        check(&["xa.by/ab"], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.630_930]);
    }

    #[test]
    fn queries_count_the_same_however_many_right_answers_they_have() {
        check(
            &["abcd/abcd", "x/a"],
            [0.125, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5],
        );
    }

    #[test]
    fn queries_without_a_right_answer_are_skipped() {
        check(&["a/a", "b/"], [1.0; 7]);
        check(&["b/"], [0.0; 7]);
        check(&[], [0.0; 7]);
    }
}
