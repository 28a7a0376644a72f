//! Ranks scored documents: the bonus for the steps of an intent, and the best first.

mod kept_places;

use std::sync::Arc;

use crate::confidence::{COMPARED, Confidence, Signs};
use crate::index::{Document, Index};
use crate::indexed_tool::IndexedTool;
use crate::learned::{Vote, Votes};
use crate::priors::record;
use crate::query::{Query, keep_best};
use crate::same_task::SameTask;
use crate::score::{Parts, step_gain};

/// The distance between the tools that a step lifts above the last place: far enough for a float to
/// tell its best from its second best, and far less than scores differ otherwise.
const STEP_APART: f32 = 1e-4;

/// A tool that the intent names is meant, so its score is as high as scores get as a rule.
const CERTAIN: f32 = 0.95;

/// The places that a model reads as a rule; one of them stays open to tools that are new.
const FIRST_PLACES: usize = 5;

/// A tool that this part of the neighbourhood used is lifted if one of its contexts is nearly the same. A
/// tenth lets several tools that are used together pass, and of two neighbours that contradict each
/// other both.
const LIFTING_SHARE: f32 = 0.12;
/// The part that it takes where all contexts are merely alike.
const LIFTING_SHARE_AFAR: f32 = 0.3;
/// A tool that nearly all used leads. A single lesson is not enough for so large a share, nor are
/// contexts that are merely alike.
const LEADING_SHARE: f32 = 0.9;
/// The part that it takes where no tool stands out by its description: a single lesson is enough.
const LEADING_SHARE_IN_DOUBT: f32 = 0.6;
/// The first tool stands out if it is this far above the crowd.
const OUTSTANDING: f32 = 0.2;
/// Other learned tools are not lifted above the first three: those are right more often than a neighbour.
const CLEAR_PLACES: usize = 3;
/// Each session that used a tool in contexts like this one lifts it by as much: a tool whose meaning is far
/// from the request needs many of them.
const REACH_OF_A_SESSION: f32 = 0.15;
/// Within this distance from the best, a tool's meaning is near the request, and so are the first five, unless
/// even the best is in doubt. One use of a far tool never passes them.
const NEAR_THE_BEST: f32 = 0.2;
/// From this place on, tools as a rule only sound like the request.
const CROWD_PLACE: usize = 10;
/// A tool that stands this far above the crowd is right too often to give way.
const ABOVE_CROWD: f32 = 0.17;

/// Tools are compared with those above them down to this many times the places: a tool that does the same as
/// one of the best is seldom further down, and every comparison costs a product of two vectors.
const EQUALS_WITHIN: usize = 2;

/// The documents of a search with their exact scores.
pub(crate) struct Ranking<'a> {
    index: &'a Index,
    scored: Vec<Scored>,
    /// The number of candidates that are shown.
    places: usize,
    same_task: SameTask,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Its position in the index.
    pub(crate) document: usize,
    pub(crate) cosine: Option<f32>,
    pub(crate) parts: Parts,
}

/// The tools that share one place; all by their positions among the scored.
pub(crate) struct Ranked {
    pub(crate) position: usize,
    /// The sum of the one that fits best.
    pub(crate) sum: f32,
    pub(crate) copies: Vec<usize>,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(
        index: &'a Index,
        scored: Vec<Scored>,
        places: usize,
        same_task: SameTask,
    ) -> Self {
        Self {
            index,
            scored,
            places,
            same_task,
        }
    }

    pub(crate) fn scored(&self, position: usize) -> Scored {
        self.scored[position]
    }

    pub(crate) fn tool(&self, position: usize) -> &Arc<IndexedTool> {
        &self.document(position).entry
    }

    /// Returns the best, best first. Of tools that do the same, the one that use and its record speak for
    /// stands for the others.
    pub(crate) fn best(&self) -> Vec<Ranked> {
        let mut best = self.ranked(self.places, Parts::sum);
        for ranked in &mut best {
            self.put_proven_first(ranked);
        }
        best
    }

    /// Returns how sure it is that the best are right; nothing if the very best has no vector.
    pub(crate) fn confidence(&self) -> Option<Confidence> {
        let best = self.ranked(COMPARED, Parts::fit);
        let Some(first) = best.first() else {
            return Some(Confidence::NONE);
        };
        self.scored[first.position].cosine?;
        let second = best.get(1).unwrap_or(first);
        let last = best.last().unwrap_or(first);
        let signs = Signs {
            score: first.sum,
            lead_over_second: first.sum - second.sum,
            lead_over_fifth: first.sum - last.sum,
            tools: self.index.len(),
        };
        Some(signs.confidence())
    }

    /// Returns the best by a score. A tool that does the same as one that is there already goes with it.
    fn ranked(&self, places: usize, score: fn(&Parts) -> f32) -> Vec<Ranked> {
        let mut ranked: Vec<Ranked> = Vec::with_capacity(places);
        for (rank, position) in self.positions_by(score).enumerate() {
            let is_near_top = rank < places * EQUALS_WITHIN;
            let original = ranked
                .iter()
                .position(|it| self.share_a_place(it.position, position, is_near_top));
            match original {
                Some(original) => ranked[original].copies.push(position),
                None if ranked.len() < places => ranked.push(Ranked {
                    position,
                    sum: score(&self.scored[position].parts),
                    copies: Vec::new(),
                }),
                None => {}
            }
        }
        ranked
    }

    fn put_proven_first(&self, ranked: &mut Ranked) {
        for copy in &mut ranked.copies {
            if self.experience(*copy) > self.experience(ranked.position) {
                std::mem::swap(copy, &mut ranked.position);
            }
        }
    }

    fn experience(&self, position: usize) -> f32 {
        self.scored[position].parts.experience()
    }

    fn positions_by(&self, score: fn(&Parts) -> f32) -> impl Iterator<Item = usize> {
        let sums = self.scored.iter().map(|scored| score(&scored.parts));
        let mut sums: Vec<_> = sums.enumerate().collect();
        keep_best(&mut sums, self.scored.len());
        sums.into_iter().map(|(position, _)| position)
    }

    fn share_a_place(&self, one: usize, other: usize, is_near_top: bool) -> bool {
        let (one, other) = (self.document(one), self.document(other));
        self.same_task.shared_by_copies(one, other)
            || is_near_top && self.same_task.shared_by_equals(one, other)
    }

    fn document(&self, position: usize) -> &Document {
        &self.index.documents[self.scored[position].document]
    }

    pub(crate) fn add_priors(&mut self, weight: f32) {
        for scored in &mut self.scored {
            let tool = &self.index.documents[scored.document].entry;
            scored.parts.priors = weight * record(tool);
        }
    }

    /// Adds the bonus of past use, and lifts the tools that enough of the neighbourhood used among the
    /// first few.
    pub(crate) fn add_votes(&mut self, votes: Option<&Votes>) {
        let Some(votes) = votes.filter(|votes| !votes.is_empty()) else {
            return;
        };
        let bars = self.learned_bars();
        for scored in &mut self.scored {
            let tool = &self.index.documents[scored.document].entry.tool_name;
            if let Some(vote) = votes.of(tool) {
                let lift = bars.lift(vote, scored.parts.sum());
                scored.parts.learned = vote.bonus + lift;
            }
        }
    }

    fn learned_bars(&self) -> LearnedBars {
        let ranked = self.ranked(CROWD_PLACE, Parts::sum);
        let third = Self::sum_at(&ranked, CLEAR_PLACES);
        let crowd = Self::sum_at(&ranked, CROWD_PLACE);
        let first = Self::sum_at(&ranked, 1);
        LearnedBars {
            first,
            near: match self.confidence().is_some_and(|it| !it.is_likely()) {
                true => f32::INFINITY,
                false => (first - NEAR_THE_BEST).min(Self::sum_at(&ranked, FIRST_PLACES)),
            },
            leading_share: match first - crowd < OUTSTANDING {
                true => LEADING_SHARE_IN_DOUBT,
                false => LEADING_SHARE,
            },
            among: third.min(crowd + ABOVE_CROWD) - STEP_APART,
        }
    }

    /// Returns the score at a place, or that of the last where there are fewer.
    fn sum_at(ranked: &[Ranked], place: usize) -> f32 {
        let at = ranked.get(place - 1).or(ranked.last());
        at.map_or(0.0, |it| it.sum)
    }

    /// Keeps the last of the first places for the best tool without lessons, if votes have pushed all
    /// of those out of the first places: what is never shown is never used, and never learned.
    pub(crate) fn keep_place_for_new(&mut self, votes: Option<&Votes>) {
        let Some(votes) = votes else {
            return;
        };
        let first = self.places.min(FIRST_PLACES);
        let shown = self.best();
        let (Some(last), Some(new)) = (
            shown.get(first.saturating_sub(1)),
            self.pushed_out(votes, first),
        ) else {
            return;
        };
        let parts = &mut self.scored[new].parts;
        parts.learned += last.sum + STEP_APART - parts.sum();
    }

    /// Returns the best tool without lessons that was among the first by everything but votes, if none
    /// such is among them with votes.
    fn pushed_out(&self, votes: &Votes, first: usize) -> Option<usize> {
        let mut with_votes = self.positions_by(Parts::sum).take(first);
        if with_votes.any(|it| self.is_new(it, votes)) {
            return None;
        }
        let mut without_votes = self.positions_by(Parts::sum_without_votes).take(first);
        without_votes.find(|it| self.is_new(*it, votes))
    }

    fn is_new(&self, position: usize, votes: &Votes) -> bool {
        !votes.knows(&self.tool(position).tool_name)
    }

    /// Puts the tools that the intent names above all others, each group of them by score.
    pub(crate) fn lift_named(&mut self, named: &[Vec<usize>]) {
        let sums = self.scored.iter().map(|it| it.parts.sum());
        let mut bar = sums.fold(CERTAIN, f32::max);
        for group in named.iter().rev() {
            let mut group: Vec<&mut Scored> = self
                .scored
                .iter_mut()
                .filter(|it| group.contains(&it.document) && it.parts.named == 0.0)
                .collect();
            group.sort_by(|a, b| a.parts.sum().total_cmp(&b.parts.sum()));
            for scored in group {
                bar += STEP_APART;
                scored.parts.named = bar - scored.parts.sum();
            }
        }
    }

    /// Adds the bonus of the steps: the best tool for a step gains the whole bonus, others gain
    /// less the further behind they are. Half of the places are kept for the first few of each
    /// step, so that no step goes without because the intent as a whole sounds more like another.
    pub(crate) fn reward_steps(&mut self, steps: &[Query<'_>], bonus: f32) {
        if steps.is_empty() {
            return;
        }
        let kept_places = self.places / 2 / steps.len();
        let mut first_of_steps = Vec::new();
        for step in steps {
            let mut scores = self.scores_for(step);
            self.add_bonus(&scores, bonus);
            keep_best(&mut scores, kept_places);
            first_of_steps.push(scores);
        }
        self.lift(&first_of_steps, kept_places);
    }

    fn scores_for(&self, step: &Query<'_>) -> Vec<(usize, f32)> {
        self.scored
            .iter()
            .map(|scored| step.scored(scored.document).parts.sum())
            .enumerate()
            .collect()
    }

    fn add_bonus(&mut self, scores: &[(usize, f32)], bonus: f32) {
        let best = scores.iter().map(|(_, score)| *score).fold(0.0, f32::max);
        for (position, score) in scores {
            let parts = &mut self.scored[*position].parts;
            parts.steps = parts.steps.max(bonus * step_gain(score - best));
        }
    }

    /// Lifts the first of each step above the last place, in their order.
    fn lift(&mut self, first_of_steps: &[Vec<(usize, f32)>], kept_places: usize) {
        let best = self.best();
        let Some(last) = best.get(self.places.saturating_sub(1)) else {
            return;
        };
        let bar = last.sum;
        for first_of_step in first_of_steps {
            for (rank, (position, _)) in first_of_step.iter().enumerate() {
                let parts = &mut self.scored[*position].parts;
                let goal = bar + STEP_APART * (kept_places - rank) as f32;
                parts.steps += (goal - parts.sum()).max(0.0);
            }
        }
    }
}

/// The scores to which learned tools are lifted.
struct LearnedBars {
    first: f32,
    /// The part of the neighbourhood that a tool needs to lead.
    leading_share: f32,
    /// Above the many that only sound alike, and below the first three and all that stand out.
    among: f32,
    /// From here on, the meaning of a tool is near the request.
    near: f32,
}

impl LearnedBars {
    /// Returns the lift of a tool with this score; of two lifted tools the one with the larger share
    /// comes first.
    fn lift(&self, vote: &Vote, score: f32) -> f32 {
        let bar = match vote.share {
            share if share >= self.leading_share => self.first,
            share if share >= lifting_share(vote.nearness) => self.among,
            _ => return 0.0,
        };
        let reached = score + REACH_OF_A_SESSION * vote.sessions as f32;
        let ceiling = reached.max(self.near - STEP_APART) - vote.bonus;
        ((bar + STEP_APART * vote.share).min(ceiling) - score).max(0.0)
    }
}

fn lifting_share(nearness: f32) -> f32 {
    LIFTING_SHARE_AFAR + (LIFTING_SHARE - LIFTING_SHARE_AFAR) * nearness
}
