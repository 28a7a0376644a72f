//! Keeps places among the first for tools that a request needs besides the one it sounds like most: the
//! best for each of its steps, and the best of each server that it names.

use super::{FIRST_PLACES, Ranking, STEP_APART};
use crate::query::Query;
use crate::score::Parts;
use crate::terms::words;

impl Ranking<'_> {
    /// Lifts the best tool for each step, and of each of several named servers, among the first places.
    pub(crate) fn keep_places(&mut self, steps: &[Query<'_>], text: &str) {
        let of_steps = steps.iter().filter_map(|step| self.first_for(step));
        let mut wanted: Vec<usize> = of_steps.collect();
        wanted.extend(self.first_of_named_servers(text));
        let mut seen = Vec::new();
        wanted.retain(|position| {
            let is_new = !seen.contains(position);
            seen.push(*position);
            is_new
        });
        let first = self.places.min(FIRST_PLACES);
        wanted.truncate(first);
        self.lift_among_first(&wanted, first);
    }

    fn first_for(&self, step: &Query<'_>) -> Option<usize> {
        let scores = self.scores_for(step).into_iter();
        scores
            .max_by(|(a, one), (b, other)| one.total_cmp(other).then(b.cmp(a)))
            .map(|(position, _)| position)
    }

    /// One server in a request is usually meant by the ranking already, or a common word such as `time`.
    fn first_of_named_servers(&self, text: &str) -> Vec<usize> {
        let said: Vec<String> = words(text).collect();
        let mut found: Vec<(&str, usize)> = Vec::new();
        for position in self.positions_by(Parts::sum) {
            let provider = self.tool(position).provider.as_str();
            let is_known = found.iter().any(|(known, _)| *known == provider);
            if !is_known && is_named(provider, &said) {
                found.push((provider, position));
            }
        }
        if found.len() < 2 {
            return Vec::new();
        }
        found.into_iter().map(|(_, position)| position).collect()
    }

    /// Puts these tools before the last ones of the first places, which make room for them.
    fn lift_among_first(&mut self, wanted: &[usize], first: usize) {
        let ranked = self.ranked(first, Parts::sum);
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

/// True if the words of a server's name stand in a text one after the other.
fn is_named(provider: &str, said: &[String]) -> bool {
    let name: Vec<String> = words(provider).collect();
    !name.is_empty() && said.windows(name.len()).any(|words| words == name)
}
