//! Ranks scored documents, with bonuses for steps, votes and names.

mod reserved_slots;

use std::sync::Arc;

use crate::confidence::{COMPARED, Confidence, ConfidenceFeatures};
use crate::equivalents::EquivalenceCheck;
use crate::index::{Document, Index};
use crate::indexed_tool::IndexedTool;
use crate::learning::{Vote, Votes};
use crate::priors::score_record;
use crate::query_matcher::{QueryMatcher, keep_best};
use crate::score::{Parts, step_gain};

/// The distance between lifted tools: large enough for an `f32` to keep their order, and far below
/// other differences in score.
const STEP_APART: f32 = 1e-4;

/// The score of a tool that the query names: about as high as scores get.
const CERTAIN: f32 = 0.95;

/// The slots that a model usually reads. One of them stays open for new tools.
const TOP_SLOTS: usize = 5;

/// With one nearly identical context, a tool that this share of the neighbourhood used is lifted. A
/// tenth would admit several tools that are used together, and both of two contradicting
/// neighbours.
const LIFTING_SHARE: f32 = 0.12;
/// The share required if all contexts are merely similar.
const LIFTING_SHARE_IF_SIMILAR: f32 = 0.3;
/// A tool with this share leads. A single lesson does not reach it, nor do contexts that are only
/// similar.
const LEADING_SHARE: f32 = 0.9;
/// The share required if no tool stands out by its description: a single lesson is enough.
const LEADING_SHARE_IN_DOUBT: f32 = 0.6;
/// The first tool stands out if it is this far above the crowd.
const OUTSTANDING: f32 = 0.2;
/// Other learned tools stay below the first three, which are right more often than a neighbour.
const CLEAR_RANKS: usize = 3;
/// Each session that used a tool in similar contexts lifts it by at most this much, so a tool with
/// a distant meaning needs many.
const MAX_LIFT_PER_SESSION: f32 = 0.15;
/// Tools within this distance of the best are near the query. So are the top five, unless even the
/// best is in doubt. One use of a distant tool never passes them.
const NEAR_THE_BEST: f32 = 0.2;
/// From this rank on, tools usually only sound like the query.
const CROWD_RANK: usize = 10;
/// A tool this far above the crowd is right too often to give way.
const ABOVE_CROWD: f32 = 0.17;

/// Tools up to this multiple of the slots are compared with the ones above them. An equivalent of a
/// top tool is seldom further down, and each comparison costs a dot product.
const EQUIVALENTS_DEPTH: usize = 2;

/// The documents of a search with their exact scores.
pub(crate) struct Ranking<'a> {
    index: &'a Index,
    scored: Vec<ScoredDocument>,
    /// The number of slots in the answer.
    slots: usize,
    equivalence: EquivalenceCheck,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScoredDocument {
    /// The position in the index.
    pub(crate) document: usize,
    pub(crate) cosine: Option<f32>,
    pub(crate) parts: Parts,
}

/// The tools that share one slot, by position in `Ranking::scored`.
pub(crate) struct RankedSlot {
    pub(crate) position: usize,
    /// The score of the best one.
    pub(crate) sum: f32,
    pub(crate) copies: Vec<usize>,
}

impl<'a> Ranking<'a> {
    pub(crate) fn new(
        index: &'a Index,
        scored: Vec<ScoredDocument>,
        slots: usize,
        equivalence: EquivalenceCheck,
    ) -> Self {
        Self {
            index,
            scored,
            slots,
            equivalence,
        }
    }

    pub(crate) fn get(&self, position: usize) -> ScoredDocument {
        self.scored[position]
    }

    pub(crate) fn tool(&self, position: usize) -> &Arc<IndexedTool> {
        &self.document(position).entry
    }

    /// Returns the best slots. Each is led by the tool with the best record and use.
    pub(crate) fn top_slots(&self) -> Vec<RankedSlot> {
        let mut best = self.rank_by(self.slots, Parts::sum);
        for ranked in &mut best {
            self.put_proven_first(ranked);
        }
        best
    }

    /// Estimates the confidence in the results; `None` if the best one has no vector.
    pub(crate) fn confidence(&self) -> Option<Confidence> {
        let best = self.rank_by(COMPARED, Parts::sum_for_confidence);
        let Some(first) = best.first() else {
            return Some(Confidence::NONE);
        };
        self.scored[first.position].cosine?;
        let second = best.get(1).unwrap_or(first);
        let last = best.last().unwrap_or(first);
        let features = ConfidenceFeatures {
            score: first.sum,
            lead_over_second: first.sum - second.sum,
            lead_over_fifth: first.sum - last.sum,
            tools: self.index.len(),
        };
        Some(features.estimate())
    }

    /// Fills the slots by a score. A tool joins the slot of an equivalent one above it.
    fn rank_by(&self, slots: usize, score: fn(&Parts) -> f32) -> Vec<RankedSlot> {
        let mut ranked: Vec<RankedSlot> = Vec::with_capacity(slots);
        for (rank, position) in self.positions_sorted_by(score).enumerate() {
            let is_near_top = rank < slots * EQUIVALENTS_DEPTH;
            let existing = ranked
                .iter()
                .position(|it| self.share_a_slot(it.position, position, is_near_top));
            match existing {
                Some(existing) => ranked[existing].copies.push(position),
                None if ranked.len() < slots => ranked.push(RankedSlot {
                    position,
                    sum: score(&self.scored[position].parts),
                    copies: Vec::new(),
                }),
                None => {}
            }
        }
        ranked
    }

    fn put_proven_first(&self, ranked: &mut RankedSlot) {
        for copy in &mut ranked.copies {
            if self.experience(*copy) > self.experience(ranked.position) {
                std::mem::swap(copy, &mut ranked.position);
            }
        }
    }

    fn experience(&self, position: usize) -> f32 {
        self.scored[position].parts.experience()
    }

    fn positions_sorted_by(&self, score: fn(&Parts) -> f32) -> impl Iterator<Item = usize> {
        let sums = self.scored.iter().map(|scored| score(&scored.parts));
        let mut sums: Vec<_> = sums.enumerate().collect();
        keep_best(&mut sums, self.scored.len());
        sums.into_iter().map(|(position, _)| position)
    }

    fn share_a_slot(&self, one: usize, other: usize, is_near_top: bool) -> bool {
        let (one, other) = (self.document(one), self.document(other));
        self.equivalence.merges_copies(one, other)
            || is_near_top && self.equivalence.merges_equivalents(one, other)
    }

    fn document(&self, position: usize) -> &Document {
        &self.index.documents[self.scored[position].document]
    }

    pub(crate) fn add_priors(&mut self, weight: f32) {
        for scored in &mut self.scored {
            let tool = &self.index.documents[scored.document].entry;
            scored.parts.priors = weight * score_record(tool);
        }
    }

    /// Adds the bonus of past use, and lifts tools that enough of the neighbourhood used.
    pub(crate) fn add_votes(&mut self, votes: Option<&Votes>) {
        let Some(votes) = votes.filter(|votes| !votes.is_empty()) else {
            return;
        };
        let bars = self.learned_bars();
        for scored in &mut self.scored {
            let tool = &self.index.documents[scored.document].entry.tool_name;
            if let Some(vote) = votes.get(tool) {
                let lift = bars.compute_lift(vote, scored.parts.sum());
                scored.parts.learned = vote.bonus + lift;
            }
        }
    }

    fn learned_bars(&self) -> LearnedBars {
        let ranked = self.rank_by(CROWD_RANK, Parts::sum);
        let third = Self::score_at_rank(&ranked, CLEAR_RANKS);
        let crowd = Self::score_at_rank(&ranked, CROWD_RANK);
        let first = Self::score_at_rank(&ranked, 1);
        LearnedBars {
            first,
            near: match self.confidence().is_some_and(|it| !it.is_likely()) {
                true => f32::INFINITY,
                false => (first - NEAR_THE_BEST).min(Self::score_at_rank(&ranked, TOP_SLOTS)),
            },
            leading_share: match first - crowd < OUTSTANDING {
                true => LEADING_SHARE_IN_DOUBT,
                false => LEADING_SHARE,
            },
            among: third.min(crowd + ABOVE_CROWD) - STEP_APART,
        }
    }

    /// Returns the score at a rank, or the last one if there are fewer.
    fn score_at_rank(ranked: &[RankedSlot], rank: usize) -> f32 {
        let at = ranked.get(rank - 1).or(ranked.last());
        at.map_or(0.0, |it| it.sum)
    }

    /// Reserves the last top slot for the best tool without lessons if votes have pushed all such
    /// tools out. A tool that is never shown is never used, and so never learned.
    pub(crate) fn reserve_slot_for_new_tool(&mut self, votes: Option<&Votes>) {
        let Some(votes) = votes else {
            return;
        };
        let first = self.slots.min(TOP_SLOTS);
        let shown = self.top_slots();
        let (Some(last), Some(new)) = (
            shown.get(first.saturating_sub(1)),
            self.find_displaced_new_tool(votes, first),
        ) else {
            return;
        };
        let parts = &mut self.scored[new].parts;
        parts.learned += last.sum + STEP_APART - parts.sum();
    }

    /// Returns the best tool without lessons that would be in the top slots without votes, if votes
    /// have left none there.
    fn find_displaced_new_tool(&self, votes: &Votes, first: usize) -> Option<usize> {
        let mut with_votes = self.positions_sorted_by(Parts::sum).take(first);
        if with_votes.any(|it| self.is_new(it, votes)) {
            return None;
        }
        let mut without_votes = self
            .positions_sorted_by(Parts::sum_without_votes)
            .take(first);
        without_votes.find(|it| self.is_new(*it, votes))
    }

    fn is_new(&self, position: usize, votes: &Votes) -> bool {
        !votes.has_lessons_of(&self.tool(position).tool_name)
    }

    /// Ranks the tools that the query names above all others, each group by score.
    pub(crate) fn lift_named(&mut self, named: &[Vec<usize>]) {
        let sums = self.scored.iter().map(|it| it.parts.sum());
        let mut bar = sums.fold(CERTAIN, f32::max);
        for group in named.iter().rev() {
            let mut group: Vec<&mut ScoredDocument> = self
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

    /// Adds the step bonus: the full bonus for the best tool of a step, less for the ones behind.
    /// Half of the slots are reserved for the top tools of the steps, so that no step is left
    /// without a tool.
    pub(crate) fn reward_steps(&mut self, steps: &[QueryMatcher<'_>], bonus: f32) {
        if steps.is_empty() {
            return;
        }
        let reserved_slots = self.slots / 2 / steps.len();
        let mut first_of_steps = Vec::new();
        for step in steps {
            let mut scores = self.scores_for(step);
            self.add_bonus(&scores, bonus);
            keep_best(&mut scores, reserved_slots);
            first_of_steps.push(scores);
        }
        self.lift_step_tools(&first_of_steps, reserved_slots);
    }

    fn scores_for(&self, step: &QueryMatcher<'_>) -> Vec<(usize, f32)> {
        self.scored
            .iter()
            .map(|scored| step.score_document(scored.document).parts.sum())
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

    /// Lifts the top tools of each step above the last slot, in order.
    fn lift_step_tools(&mut self, first_of_steps: &[Vec<(usize, f32)>], reserved_slots: usize) {
        let best = self.top_slots();
        let Some(last) = best.get(self.slots.saturating_sub(1)) else {
            return;
        };
        let bar = last.sum;
        for first_of_step in first_of_steps {
            for (rank, (position, _)) in first_of_step.iter().enumerate() {
                let parts = &mut self.scored[*position].parts;
                let goal = bar + STEP_APART * (reserved_slots - rank) as f32;
                parts.steps += (goal - parts.sum()).max(0.0);
            }
        }
    }
}

/// The scores that learned tools are lifted to.
struct LearnedBars {
    first: f32,
    /// The share of the neighbourhood that a tool needs to lead.
    leading_share: f32,
    /// Above the crowd, and below the first three tools and any that stand out.
    among: f32,
    /// From this score on, a tool's meaning is near the query.
    near: f32,
}

impl LearnedBars {
    /// Returns the lift for a tool with this score. Of two lifted tools, the one with the larger
    /// share comes first.
    fn compute_lift(&self, vote: &Vote, score: f32) -> f32 {
        let bar = match vote.share {
            share if share >= self.leading_share => self.first,
            share if share >= lifting_share(vote.nearness) => self.among,
            _ => return 0.0,
        };
        let reached = score + MAX_LIFT_PER_SESSION * vote.sessions as f32;
        let ceiling = reached.max(self.near - STEP_APART) - vote.bonus;
        ((bar + STEP_APART * vote.share).min(ceiling) - score).max(0.0)
    }
}

fn lifting_share(nearness: f32) -> f32 {
    LIFTING_SHARE_IF_SIMILAR + (LIFTING_SHARE - LIFTING_SHARE_IF_SIMILAR) * nearness
}
