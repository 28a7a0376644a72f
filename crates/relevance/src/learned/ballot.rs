//! Weighs the past contexts of one tool against a new request.
//!
//! The constants were chosen together on requests that were held out: docs/learning.md has the
//! figures. Each of them may be half or double without a figure moving by more than a few hundredths.

use std::collections::HashSet;

use kitbag_domain::Timestamp;

use super::association::{Association, Mark};
use super::lesson::Signal;
use super::votes::{Neighbour, Vote};

/// A tool whose contexts are all less alike than this gets no vote, however often it was used there: more
/// than nine in ten pairs of requests for different tools stay below it. From here on, no search in
/// `evals/week` that has nothing to do with the work changes by a place.
const RELATED: f32 = 0.55;
/// The likeness of two requests that have nothing in common, the median over requests for different
/// tools. The weight of a context grows by the third power of the likeness beyond it. Contexts between
/// the two still make the neighbourhood larger, and so every share smaller.
const UNLIKE: f32 = 0.26;
/// The weight with which a neighbourhood is undecided, so that a single far neighbour is no
/// majority.
pub(super) const UNDECIDED: f32 = 0.2;
/// The bonus of a tool that the whole neighbourhood used. The first two tools of a request often
/// lie as far apart, so agreement can change their order, and a small share cannot.
const MOST_GAINED: f32 = 0.03;
/// A context up to here is merely alike, and one from `NEARLY_SAME` on tells of the same wish.
const MERELY_ALIKE: f32 = 0.52;
const NEARLY_SAME: f32 = 0.75;
/// The loss of a tool that only failed in contexts like this one: several places among similar tools.
const MOST_LOST: f32 = 0.04;
/// The most that the uses of one context weigh: twice one use that began with a search. The
/// five-hundredth use adds nothing to speak of.
const MOST_OF_A_CONTEXT: f32 = 3.0;
/// The tool counts as passed over after as many sessions: one session may have its own reasons.
const BYPASSING_SESSIONS: usize = 3;
/// An explanation needs no more neighbours.
const SHOWN_NEIGHBOURS: usize = 8;

/// The neighbours of a request that are about one tool.
#[derive(Debug, Default)]
pub(super) struct Ballot<'a> {
    /// The squares of the weights for and against the tool. Squares add up so that the nearest
    /// context decides, and the tenth that is as near adds little.
    squares_for: f32,
    squares_against: f32,
    squares_passed_over: f32,
    bypassing: HashSet<u64>,
    /// The sessions that used the tool in contexts near enough to speak about the request.
    using: HashSet<u64>,
    /// The cosine of the nearest context.
    nearest: f32,
    /// The contexts with their cosines. Their lessons are looked up for the tools with a vote alone:
    /// most tools have none.
    contexts: Vec<(&'a Association, f32)>,
}

impl<'a> Ballot<'a> {
    pub(super) fn add(&mut self, association: &'a Association, similarity: f32, now: Timestamp) {
        let kernel = kernel(similarity);
        self.nearest = self.nearest.max(similarity);
        self.contexts.push((association, similarity));
        let mut sum = 0.0;
        for mark in &association.marks {
            let weight = mark.weight(now);
            if mark.signal.is_use() && similarity >= RELATED {
                self.using.insert(mark.session);
            }
            if mark.signal == Signal::Bypassed {
                self.bypassing.insert(mark.session);
                self.squares_passed_over += (kernel * weight).powi(2);
            } else {
                sum += weight;
            }
        }
        let square = (kernel * bounded(sum)).powi(2);
        if sum > 0.0 {
            self.squares_for += square;
        } else {
            self.squares_against += square;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The weight of the contexts for the tool, less that of those against it.
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

    /// True if a context of the tool is near enough to speak about the request.
    pub(super) fn is_related(&self) -> bool {
        self.nearest >= RELATED
    }

    fn nearness(&self) -> f32 {
        let beyond = self.nearest - MERELY_ALIKE;
        (beyond / (NEARLY_SAME - MERELY_ALIKE)).clamp(0.0, 1.0)
    }

    /// `neighbourhood` is the support of all tools together, and the undecided part.
    pub(super) fn vote(self, neighbourhood: f32, now: Timestamp) -> Vote {
        let balance = self.balance();
        let share = balance.max(0.0) / neighbourhood;
        let against = (-balance).max(0.0);
        Vote {
            share,
            nearness: self.nearness(),
            sessions: self.using.len(),
            bonus: MOST_GAINED * share - MOST_LOST * against / (against + UNDECIDED),
            shared: 0.0,
            neighbours: self.neighbours(now),
        }
    }

    /// The lessons that had a part in the vote, nearest first.
    fn neighbours(mut self, now: Timestamp) -> Vec<Neighbour> {
        let counts_bypasses = self.counts_bypasses();
        self.contexts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let marks = self.contexts.iter().flat_map(|(association, similarity)| {
            let marks = association.marks.iter();
            marks.map(move |mark| (mark, *similarity))
        });
        marks
            .filter(|(mark, _)| counts_bypasses || mark.signal != Signal::Bypassed)
            .take(SHOWN_NEIGHBOURS)
            .map(|(mark, similarity)| mark.as_neighbour(similarity, now))
            .collect()
    }
}

impl Mark {
    fn as_neighbour(&self, similarity: f32, now: Timestamp) -> Neighbour {
        Neighbour {
            id: self.id,
            similarity,
            signal: self.signal,
            weight: kernel(similarity) * self.weight(now),
        }
    }
}

/// The weight of a past context by its likeness; 1 for the same.
fn kernel(similarity: f32) -> f32 {
    let near = (similarity - UNLIKE) / (1.0 - UNLIKE);
    near.clamp(0.0, 1.0).powi(3)
}

/// Bounds the weight of a context; one use that began with a search keeps its own.
fn bounded(sum: f32) -> f32 {
    MOST_OF_A_CONTEXT * sum / (sum.abs() + MOST_OF_A_CONTEXT / 2.0)
}

/// True if a past context as alike as this belongs to the neighbourhood.
pub(super) fn is_neighbour(similarity: f32) -> bool {
    similarity > UNLIKE
}
