//! Weighs the past contexts of one tool against a new query.
//!
//! The constants were chosen together on held-out requests; docs/learning.md has the figures.
//! Halving or doubling any of them changes the figures by a few hundredths at most.

use std::collections::HashSet;

use kitbag_domain::Timestamp;

use super::association::{Association, LessonRecord};
use super::lesson::Signal;
use super::votes::{Neighbour, Vote};

/// A tool gets no vote if all its contexts are less similar than this. More than nine in ten pairs
/// of requests for different tools are. With this value, no unrelated search in `evals/week`
/// changes by a single rank.
const RELATED: f32 = 0.55;
/// The similarity of unrelated requests: the median over requests for different tools. A context's
/// weight grows with the third power of the similarity above it. Contexts between `UNRELATED` and
/// `RELATED` still enlarge the neighbourhood, which reduces every share.
const UNRELATED: f32 = 0.26;
/// The neighbourhood's weight for "none of them", so that a single distant neighbour is not a
/// majority.
pub(super) const UNDECIDED: f32 = 0.2;
/// The bonus of a tool that the whole neighbourhood used. The first two tools of a query are often
/// this far apart, so agreement can swap them, and a small share cannot.
const MAX_BONUS: f32 = 0.03;
/// Up to this similarity, contexts are only related; from `NEARLY_IDENTICAL` on, they are the same
/// request.
const MERELY_SIMILAR: f32 = 0.52;
const NEARLY_IDENTICAL: f32 = 0.75;
/// The loss of a tool that only failed in similar contexts: several ranks among similar tools.
const MAX_PENALTY: f32 = 0.04;
/// The maximum weight of one context's uses: twice a single use after a search. The five-hundredth
/// use adds almost nothing.
const MAX_CONTEXT_WEIGHT: f32 = 3.0;
/// A tool counts as bypassed after this many sessions; one session may have its own reasons.
const BYPASSING_SESSIONS: usize = 3;
/// Enough neighbours for an explanation.
const SHOWN_NEIGHBOURS: usize = 8;

/// One tool's contexts in the neighbourhood of a query.
#[derive(Debug, Default)]
pub(super) struct VoteTally<'a> {
    /// Sums of squared weights for and against the tool. With squares, the nearest context decides,
    /// and many equally near ones add little.
    squares_for: f32,
    squares_against: f32,
    squares_passed_over: f32,
    bypassing: HashSet<u64>,
    /// The sessions that used the tool in contexts near enough to count.
    using: HashSet<u64>,
    /// The cosine of the nearest context.
    nearest: f32,
    /// The contexts with their cosines. Their lessons are only listed for tools with a vote, and
    /// most tools have none.
    contexts: Vec<(&'a Association, f32)>,
}

impl<'a> VoteTally<'a> {
    pub(super) fn add_context(
        &mut self,
        association: &'a Association,
        similarity: f32,
        now: Timestamp,
    ) {
        let kernel = kernel(similarity);
        self.nearest = self.nearest.max(similarity);
        self.contexts.push((association, similarity));
        let mut sum = 0.0;
        for record in &association.records {
            let weight = record.weight(now);
            if record.signal.is_favourable() && similarity >= RELATED {
                self.using.insert(record.session);
            }
            if record.signal == Signal::Bypassed {
                self.bypassing.insert(record.session);
                self.squares_passed_over += (kernel * weight).powi(2);
            } else {
                sum += weight;
            }
        }
        let square = (kernel * bound_weight(sum)).powi(2);
        if sum > 0.0 {
            self.squares_for += square;
        } else {
            self.squares_against += square;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The weight of the contexts for the tool minus the weight against it.
    fn balance(&self) -> f32 {
        let passed_over = if self.counts_bypasses() {
            self.squares_passed_over
        } else {
            0.0
        };
        let against = self.squares_against.sqrt() + passed_over.sqrt();
        self.squares_for.sqrt() - against
    }

    fn counts_bypasses(&self) -> bool {
        self.bypassing.len() >= BYPASSING_SESSIONS
    }

    pub(super) fn support(&self) -> f32 {
        self.balance().max(0.0)
    }

    /// True if a context of the tool is near enough to vote.
    pub(super) fn is_related(&self) -> bool {
        self.nearest >= RELATED
    }

    fn nearness(&self) -> f32 {
        let beyond = self.nearest - MERELY_SIMILAR;
        (beyond / (NEARLY_IDENTICAL - MERELY_SIMILAR)).clamp(0.0, 1.0)
    }

    /// `neighbourhood` is the support of all tools plus the undecided part.
    pub(super) fn into_vote(self, neighbourhood: f32, now: Timestamp) -> Vote {
        let balance = self.balance();
        let share = balance.max(0.0) / neighbourhood;
        let against = (-balance).max(0.0);
        Vote {
            share,
            nearness: self.nearness(),
            sessions: self.using.len(),
            bonus: MAX_BONUS * share - MAX_PENALTY * against / (against + UNDECIDED),
            shared: 0.0,
            neighbours: self.into_neighbours(now),
        }
    }

    /// The lessons behind the vote, nearest first.
    fn into_neighbours(mut self, now: Timestamp) -> Vec<Neighbour> {
        let counts_bypasses = self.counts_bypasses();
        self.contexts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let records = self.contexts.iter().flat_map(|(association, similarity)| {
            let records = association.records.iter();
            records.map(move |record| (record, *similarity))
        });
        records
            .filter(|(record, _)| counts_bypasses || record.signal != Signal::Bypassed)
            .take(SHOWN_NEIGHBOURS)
            .map(|(record, similarity)| record.to_neighbour(similarity, now))
            .collect()
    }
}

impl LessonRecord {
    fn to_neighbour(self, similarity: f32, now: Timestamp) -> Neighbour {
        Neighbour {
            id: self.id,
            similarity,
            signal: self.signal,
            weight: kernel(similarity) * self.weight(now),
        }
    }
}

/// The weight of a context by its similarity; 1 for an identical one.
fn kernel(similarity: f32) -> f32 {
    let near = (similarity - UNRELATED) / (1.0 - UNRELATED);
    near.clamp(0.0, 1.0).powi(3)
}

/// Limits the weight of a context. A single use after a search keeps its weight.
fn bound_weight(sum: f32) -> f32 {
    MAX_CONTEXT_WEIGHT * sum / (sum.abs() + MAX_CONTEXT_WEIGHT / 2.0)
}

/// True if a context this similar belongs to the neighbourhood.
pub(super) fn is_neighbour(similarity: f32) -> bool {
    similarity > UNRELATED
}
