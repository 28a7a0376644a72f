//! The votes of past contexts on the tools for a query.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::lesson::Signal;
use super::vote_tally::{UNDECIDED, VoteTally};
use crate::options::MAX_TOP_K;

/// Other tenants' votes weigh half as much as a tenant's own.
const SHARED_WEIGHT: f32 = 0.5;
/// With five tools, a model usually finds the right one among them.
const MIN_SHOWN_TOOLS: usize = 5;

/// The evidence from past use for and against each tool, for one query.
#[derive(Debug, Clone, Default)]
pub struct Votes {
    by_tool: BTreeMap<Arc<str>, Vote>,
    confidence: f32,
    /// All tools with a lesson in any context.
    known: Arc<HashSet<Arc<str>>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vote {
    /// The share of the neighbourhood that used the tool, from 0 to 1.
    pub share: f32,
    /// 1 if a context of the tool is nearly identical, 0 if all of them are only similar.
    pub nearness: f32,
    /// The sessions that used the tool in similar contexts.
    pub sessions: usize,
    /// Added to the tool's score; negative if it failed or several sessions bypassed it.
    pub bonus: f32,
    /// The part of the bonus from other tenants.
    pub shared: f32,
    /// The lessons that count most, nearest first. Other tenants' lessons are not included.
    pub neighbours: Vec<Neighbour>,
}

/// A past lesson that contributed to a vote.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Neighbour {
    /// The lesson's row in the store.
    pub id: i64,
    /// The cosine of its context with the query.
    pub similarity: f32,
    pub signal: Signal,
    /// The lesson's weight in the vote, after decay and distance.
    pub weight: f32,
}

impl Votes {
    /// How much is known about similar contexts, from 0 to 1: the neighbourhood's share of the five
    /// most used tools.
    pub fn confidence(&self) -> f32 {
        self.confidence
    }

    pub fn get(&self, tool: &str) -> Option<&Vote> {
        self.by_tool.get(tool)
    }

    pub fn is_empty(&self) -> bool {
        self.by_tool.is_empty()
    }

    /// The tools with votes in their favour.
    pub fn favoured_tools(&self) -> impl Iterator<Item = &str> {
        let favoured = self.by_tool.iter().filter(|(_, vote)| vote.bonus > 0.0);
        favoured.map(|(tool, _)| &**tool)
    }

    /// True if there is a lesson of the tool in any context.
    pub(crate) fn has_lessons_of(&self, tool: &str) -> bool {
        self.known.contains(tool)
    }

    /// Adds the votes of all tenants to a tenant's own. They count less the more confident the
    /// tenant's own votes are.
    #[must_use]
    pub fn combine(own: Self, shared: Self) -> Self {
        let part = SHARED_WEIGHT * (1.0 - own.confidence);
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

    pub(super) fn from_tallies(
        tallies: Vec<(&Arc<str>, VoteTally<'_>)>,
        known: Arc<HashSet<Arc<str>>>,
        now: Timestamp,
    ) -> Self {
        let supports = tallies.iter().map(|(_, tally)| tally.support());
        let neighbourhood = UNDECIDED + supports.sum::<f32>();
        let votes = tallies
            .into_iter()
            .filter(|(_, tally)| tally.is_related())
            .map(|(tool, tally)| (tool.clone(), tally.into_vote(neighbourhood, now)));
        let by_tool: BTreeMap<_, _> = votes.filter(|(_, vote)| vote.bonus != 0.0).collect();
        Self {
            confidence: sum_of_largest(by_tool.values().map(|vote| vote.share)),
            by_tool,
            known,
        }
    }
}

/// Returns the sum of the five largest shares.
fn sum_of_largest(shares: impl Iterator<Item = f32>) -> f32 {
    let mut shares: Vec<f32> = shares.collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    shares.into_iter().take(MIN_SHOWN_TOOLS).sum()
}

/// The number of tools worth showing: twenty while nothing is known, and fewer with more
/// confidence.
pub fn tools_to_show(confidence: f32) -> usize {
    let fewer = (MAX_TOP_K - MIN_SHOWN_TOOLS) as f32 * confidence.clamp(0.0, 1.0);
    MAX_TOP_K - fewer.round() as usize
}
