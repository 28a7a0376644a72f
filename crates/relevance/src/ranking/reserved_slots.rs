//! Reserves top slots for tools that a query needs in addition to its best match: the best tool for
//! each step, and the best of each named server.

use super::{Ranking, STEP_APART, TOP_SLOTS};
use crate::query_matcher::QueryMatcher;
use crate::score::Parts;
use crate::terms::split_words;

impl Ranking<'_> {
    /// Lifts the best tool of each step, and of each of several named servers, into the top slots.
    pub(crate) fn reserve_slots(&mut self, steps: &[QueryMatcher<'_>], text: &str) {
        let of_steps = steps.iter().filter_map(|step| self.best_for_step(step));
        let mut wanted: Vec<usize> = of_steps.collect();
        wanted.extend(self.best_of_named_servers(text));
        let mut seen = Vec::new();
        wanted.retain(|position| {
            let is_new = !seen.contains(position);
            seen.push(*position);
            is_new
        });
        let first = self.slots.min(TOP_SLOTS);
        wanted.truncate(first);
        self.lift_into_top(&wanted, first);
    }

    fn best_for_step(&self, step: &QueryMatcher<'_>) -> Option<usize> {
        let scores = self.scores_for(step).into_iter();
        scores
            .max_by(|(a, one), (b, other)| one.total_cmp(other).then(b.cmp(a)))
            .map(|(position, _)| position)
    }

    /// Requires two named servers: with one, the ranking usually agrees already, or the name is a
    /// common word such as `time`.
    fn best_of_named_servers(&self, text: &str) -> Vec<usize> {
        let text_words: Vec<String> = split_words(text).collect();
        let mut found: Vec<(&str, usize)> = Vec::new();
        for position in self.positions_sorted_by(Parts::sum) {
            let server = self.tool(position).server.as_str();
            let is_known = found.iter().any(|(known, _)| *known == server);
            if !is_known && names_server(server, &text_words) {
                found.push((server, position));
            }
        }
        if found.len() < 2 {
            return Vec::new();
        }
        found.into_iter().map(|(_, position)| position).collect()
    }

    /// Moves these tools above the last of the top slots.
    fn lift_into_top(&mut self, wanted: &[usize], first: usize) {
        let ranked = self.rank_by(first, Parts::sum);
        let shown: Vec<(usize, f32)> = ranked.iter().map(|it| (it.position, it.sum)).collect();
        let is_shown = |wanted: &usize| {
            let mut ranked = ranked.iter();
            ranked.any(|it| it.position == *wanted || it.copies.contains(wanted))
        };
        let missing = wanted.iter().filter(|it| !is_shown(it)).count();
        let others = shown
            .iter()
            .rev()
            .filter(|(position, _)| !wanted.contains(position));
        let Some((_, bar)) = others.take(missing).last().filter(|_| missing > 0).copied() else {
            return;
        };
        for (rank, position) in wanted.iter().enumerate() {
            let parts = &mut self.scored[*position].parts;
            let goal = bar + STEP_APART * (wanted.len() - rank) as f32;
            parts.steps += (goal - parts.sum()).max(0.0);
        }
    }
}

/// True if the words of a server's name occur in the text in sequence.
fn names_server(server: &str, text_words: &[String]) -> bool {
    let name: Vec<String> = split_words(server).collect();
    !name.is_empty() && text_words.windows(name.len()).any(|words| words == name)
}
