//! The votes of past contexts on the tools for a new request.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::ballot::{Ballot, UNDECIDED};
use super::lesson::Signal;
use crate::options::MAX_TOP_K;

/// The shared votes of all tenants weigh half of a tenant's own.
const SHARED: f32 = 0.5;
/// A model that reads five tools finds the right one among them as a rule.
const LEAST_PLACES: usize = 5;

/// For one request: what past use says for and against each tool.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    by_tool: BTreeMap<Arc<str>, Vote>,
    confidence: f32,
    /// All tools with a lesson, in whatever context.
    known: Arc<HashSet<Arc<str>>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vote {
    /// The part of the neighbourhood that used the tool, from 0 to 1.
    pub share: f32,
    /// 1 if a context of the tool is nearly the same, 0 if all of them are merely alike.
    pub nearness: f32,
    /// The sessions that used the tool in contexts like this one.
    pub sessions: usize,
    /// Added to the tool's score; below zero where it failed, or sessions passed it over.
    pub bonus: f32,
    /// The part of the bonus that other tenants' use gave.
    pub shared: f32,
    /// The past lessons that count most, nearest first. Those of other tenants are not among them.
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
    /// Says how much is known of contexts like this one, from 0 to 1: the part of the neighbourhood
    /// that the five most used tools have.
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
            joined.share += part * vote.share;
            joined.nearness = joined.nearness.max(vote.nearness);
            joined.sessions = joined.sessions.max(vote.sessions);
        }
        mixed.confidence = mixed.confidence.max(part * shared.confidence);
        mixed.known = Arc::new(mixed.known.union(&shared.known).cloned().collect());
        mixed
    }

    pub(super) fn count(
        ballots: Vec<(&Arc<str>, Ballot<'_>)>,
        known: Arc<HashSet<Arc<str>>>,
        now: Timestamp,
    ) -> Self {
        let supports = ballots.iter().map(|(_, ballot)| ballot.support());
        let neighbourhood = UNDECIDED + supports.sum::<f32>();
        let votes = ballots
            .into_iter()
            .filter(|(_, ballot)| ballot.is_related())
            .map(|(tool, ballot)| (tool.clone(), ballot.vote(neighbourhood, now)));
        let by_tool: BTreeMap<_, _> = votes.filter(|(_, vote)| vote.bonus != 0.0).collect();
        Self {
            confidence: largest(by_tool.values().map(|vote| vote.share)),
            by_tool,
            known,
        }
    }
}

/// Returns the sum of as many of the largest shares as there are places at least.
fn largest(shares: impl Iterator<Item = f32>) -> f32 {
    let mut shares: Vec<f32> = shares.collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares.into_iter().take(LEAST_PLACES).sum()
}

/// The number of tools worth surfacing: twenty while nothing is known, fewer the more is known.
pub fn places(confidence: f32) -> usize {
    let fewer = (MAX_TOP_K - LEAST_PLACES) as f32 * confidence.clamp(0.0, 1.0);
    MAX_TOP_K - fewer.round() as usize
}
