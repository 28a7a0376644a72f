//! The votes of past contexts on the tools for a new one.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::association::Association;
use super::lesson::Signal;
use crate::dense::similarity;
use crate::options::MAX_TOP_K;

/// Requests that have nothing to do with each other stay below this.
const UNRELATED: f32 = 0.5;
/// The bonus of a tool on which all of a large neighbourhood agrees.
const MOST: f32 = 0.4;
/// A neighbourhood of this weight has half of its say.
const HALF_SAY: f32 = 0.5;
/// A tool that is passed over counts as passed over after as many sessions: one session may have its
/// own reasons.
const BYPASSING_SESSIONS: usize = 3;
/// The shared votes of all tenants weigh half of a tenant's own.
const SHARED: f32 = 0.5;

/// For one request: the bonus of each tool that past contexts speak for or against.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    by_tool: BTreeMap<Arc<str>, Vote>,
    confidence: f32,
    /// All tools with a lesson, in whatever context.
    known: Arc<HashSet<Arc<str>>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vote {
    /// Added to the tool's score; below zero where the tool failed or was passed over.
    pub bonus: f32,
    /// The part of the bonus that other tenants' use gave.
    pub shared: f32,
    /// The past contexts that voted, nearest first. Those of other tenants are not among them.
    pub neighbours: Vec<Neighbour>,
}

/// A past lesson that had a part in a vote.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Neighbour {
    /// The lesson's row in the store.
    pub id: i64,
    /// The cosine of its context with the request.
    pub similarity: f32,
    pub signal: Signal,
    /// The weight of the lesson in the vote, after time and distance.
    pub weight: f32,
}

impl Votes {
    /// Says how much is known of contexts like this one, from 0 to 1.
    pub fn confidence(&self) -> f32 {
        self.confidence
    }

    pub fn of(&self, tool: &str) -> Option<&Vote> {
        self.by_tool.get(tool)
    }

    pub fn is_empty(&self) -> bool {
        self.by_tool.is_empty()
    }

    /// The tools that past contexts speak for.
    pub fn favoured(&self) -> impl Iterator<Item = &str> {
        let favoured = self.by_tool.iter().filter(|(_, vote)| vote.bonus > 0.0);
        favoured.map(|(tool, _)| &**tool)
    }

    /// True if there is any lesson of the tool, in whatever context.
    pub(crate) fn knows(&self, tool: &str) -> bool {
        self.known.contains(tool)
    }

    /// Joins a tenant's own votes with those of all tenants, which count less the more the tenant's
    /// own use says.
    #[must_use]
    pub fn mixed(own: Self, shared: Self) -> Self {
        let part = SHARED * (1.0 - own.confidence);
        let mut mixed = own;
        for (tool, vote) in shared.by_tool {
            let joined = mixed.by_tool.entry(tool).or_default();
            joined.shared = part * vote.bonus;
            joined.bonus += joined.shared;
        }
        mixed.confidence = mixed.confidence.max(part * shared.confidence);
        mixed.known = Arc::new(mixed.known.union(&shared.known).cloned().collect());
        mixed
    }

    pub(super) fn cast(
        associations: &[Arc<Association>],
        known: Arc<HashSet<Arc<str>>>,
        context: &[f32],
        now: Timestamp,
    ) -> Self {
        let mut ballots: BTreeMap<Arc<str>, Ballot> = BTreeMap::new();
        for association in associations {
            let similarity = similarity(&association.context, context);
            if similarity > UNRELATED {
                let ballot = ballots.entry(association.tool.clone()).or_default();
                ballot.add(association, similarity, now);
            }
        }
        let weight: f32 = ballots.values().map(Ballot::evidence).sum();
        let by_tool = ballots
            .into_iter()
            .map(|(tool, ballot)| (tool, ballot.vote(weight)));
        Self {
            by_tool: by_tool.collect(),
            confidence: weight / (weight + 1.0),
            known,
        }
    }
}

/// The neighbours of a request that are about one tool.
#[derive(Debug, Default)]
struct Ballot {
    neighbours: Vec<Neighbour>,
    bypassing: HashSet<u64>,
}

impl Ballot {
    fn add(&mut self, association: &Association, similarity: f32, now: Timestamp) {
        let kernel = kernel(similarity);
        for mark in &association.marks {
            if mark.signal == Signal::Bypassed {
                self.bypassing.insert(mark.session);
            }
            self.neighbours.push(Neighbour {
                id: mark.id,
                similarity,
                signal: mark.signal,
                weight: kernel * mark.weight(now),
            });
        }
    }

    fn evidence(&self) -> f32 {
        self.neighbours.iter().map(|it| it.weight.max(0.0)).sum()
    }

    fn vote(mut self, neighbourhood: f32) -> Vote {
        if self.bypassing.len() < BYPASSING_SESSIONS {
            self.neighbours.retain(|it| it.signal != Signal::Bypassed);
        }
        self.neighbours
            .sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
        let sum: f32 = self.neighbours.iter().map(|it| it.weight).sum();
        Vote {
            bonus: MOST * sum / (neighbourhood.max(sum.abs()) + HALF_SAY),
            shared: 0.0,
            neighbours: self.neighbours,
        }
    }
}

/// The weight of a past context by its likeness: nothing for an unrelated one, 1 for the same.
fn kernel(similarity: f32) -> f32 {
    let near = (similarity - UNRELATED) / (1.0 - UNRELATED);
    near.clamp(0.0, 1.0).powi(2)
}

/// The number of tools worth surfacing: twenty while nothing is known, fewer the more is known.
pub fn places(confidence: f32) -> usize {
    let fewer = (MAX_TOP_K - LEAST_PLACES) as f32 * confidence.clamp(0.0, 1.0);
    MAX_TOP_K - fewer.round() as usize
}

/// A model that reads five tools finds the right one among them as a rule.
const LEAST_PLACES: usize = 5;
