//! Learns from use: a tool that was used in a context gains votes in similar contexts.
//!
//! Pure like the rest of the crate: the same lessons at the same time give the same votes.
//! Snapshots are immutable; new lessons make a new one.
//!
//! # Layout
//! - [`event`]: client actions; [`call_linker`]: turns linked calls into lessons
//! - `lesson`, `association`: a lesson, and the merged lessons of similar contexts
//! - `vote_tally`, `votes`: the evidence of similar contexts for each tool
//! - [`favourites`]: the tools that a credential uses most

mod association;
pub mod call_linker;
pub mod event;
pub mod favourites;
mod lesson;
mod vote_tally;
mod votes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use association::Association;
pub use lesson::{Lesson, Signal};
use vote_tally::{VoteTally, is_neighbour};
pub use votes::{Neighbour, Vote, Votes, tools_to_show};

use crate::dense::is_comparable;
use crate::retrieve::Query;

/// With more contexts per tenant, searches would be measurably slower.
const MAX_CONTEXTS: usize = 5_000;
/// Pruning keeps nine tenths, so that the next lesson does not prune again.
const KEPT_CONTEXTS: usize = MAX_CONTEXTS / 10 * 9;
/// A context unused for three half-lives weighs an eighth and is dropped.
const UNUSED_MS: i64 = 90 * 86_400_000;

/// The lessons of one tenant, ready for searches.
#[derive(Debug, Clone, Default)]
pub struct Experience {
    associations: Vec<Arc<Association>>,
    /// The positions of each tool's contexts, to save a search the look-ups. Sorted by name, so
    /// that sums come out the same every time.
    by_tool: Arc<BTreeMap<Arc<str>, Vec<usize>>>,
    tools: Arc<HashSet<Arc<str>>>,
    dropped: Vec<i64>,
}

impl Experience {
    pub fn from_lessons(lessons: Vec<Lesson>, now: Timestamp) -> Self {
        Self::default().with_lessons(lessons, now)
    }

    /// Returns a snapshot with more lessons, added in order of time.
    #[must_use]
    pub fn with_lessons(&self, mut more: Vec<Lesson>, now: Timestamp) -> Self {
        more.sort_by_key(|lesson| (lesson.at, lesson.id));
        let mut builder = ExperienceBuilder::new(&self.associations);
        for lesson in &more {
            builder.add_lesson(lesson, now);
        }
        builder.build(now)
    }

    /// Returns the votes of past contexts similar to this unit vector.
    pub fn votes(&self, context: &[f32], now: Timestamp) -> Votes {
        self.votes_for_contexts(&[context], now)
    }

    /// Returns the votes for a query. A past context counts by its similarity to the whole query or
    /// to the most similar step.
    pub fn votes_for_query(&self, query: &Query<'_>, now: Timestamp) -> Votes {
        let steps = query.steps.iter().map(|step| &*step.vector);
        let contexts: Vec<&[f32]> = query.vector.into_iter().chain(steps).collect();
        self.votes_for_contexts(&contexts, now)
    }

    fn votes_for_contexts(&self, contexts: &[&[f32]], now: Timestamp) -> Votes {
        let tallies = self.by_tool.iter().map(|(tool, positions)| {
            let associations = positions.iter().map(|at| &*self.associations[*at]);
            (tool, tally_votes(associations, contexts, now))
        });
        let tallies = tallies.filter(|(_, tally)| !tally.is_empty()).collect();
        Votes::from_tallies(tallies, self.tools.clone(), now)
    }

    /// The number of contexts after merging.
    pub fn len(&self) -> usize {
        self.associations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.associations.is_empty()
    }

    /// The ids of lessons that stopped counting since the previous snapshot; the store may delete
    /// them.
    pub fn dropped_ids(&self) -> &[i64] {
        &self.dropped
    }
}

/// Collects one tool's contexts in the neighbourhood of the query.
fn tally_votes<'a>(
    associations: impl Iterator<Item = &'a Association>,
    contexts: &[&[f32]],
    now: Timestamp,
) -> VoteTally<'a> {
    let mut tally = VoteTally::default();
    for association in associations {
        let similarity = association.max_similarity(contexts);
        if is_neighbour(similarity) {
            tally.add_context(association, similarity, now);
        }
    }
    tally
}

struct ExperienceBuilder {
    associations: Vec<Arc<Association>>,
    by_tool: HashMap<Arc<str>, Vec<usize>>,
    dropped: Vec<i64>,
}

impl ExperienceBuilder {
    fn new(associations: &[Arc<Association>]) -> Self {
        Self {
            by_tool: positions_by_tool(associations),
            associations: associations.to_vec(),
            dropped: Vec::new(),
        }
    }

    fn add_lesson(&mut self, lesson: &Lesson, now: Timestamp) {
        if !is_comparable(&lesson.context) || !lesson.signal.is_linked() {
            self.dropped.push(lesson.id);
            return;
        }
        match self.find_association(lesson) {
            Some(position) => {
                let association = Arc::make_mut(&mut self.associations[position]);
                self.dropped.extend(association.merge_lesson(lesson, now));
            }
            None => self.add_association(lesson, now),
        }
    }

    /// Returns the position of the association that the lesson belongs to.
    fn find_association(&self, lesson: &Lesson) -> Option<usize> {
        let positions = self.by_tool.get(lesson.tool.as_str())?.iter().copied();
        let mut like = positions.filter(|at| self.associations[*at].matches_context(lesson));
        like.next()
    }

    fn add_association(&mut self, lesson: &Lesson, now: Timestamp) {
        let known = self.by_tool.get_key_value(lesson.tool.as_str());
        let tool = known.map_or_else(|| lesson.tool.as_str().into(), |(tool, _)| tool.clone());
        let association = Association::new(Arc::clone(&tool), lesson);
        self.by_tool
            .entry(tool)
            .or_default()
            .push(self.associations.len());
        self.associations.push(Arc::new(association));
        if self.associations.len() > MAX_CONTEXTS {
            self.prune(now);
        }
    }

    /// Drops contexts that were unused for long, then the lightest if there are still too many.
    fn prune(&mut self, now: Timestamp) {
        let all = std::mem::take(&mut self.associations);
        let (mut kept, mut gone): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|it| now.0 - it.last_seen_at().0 <= UNUSED_MS);
        if kept.len() > MAX_CONTEXTS {
            kept.sort_by(|a, b| b.total_weight(now).total_cmp(&a.total_weight(now)));
            gone.extend(kept.drain(KEPT_CONTEXTS..));
        }
        let records = gone.iter().flat_map(|it| &it.records);
        self.dropped.extend(records.map(|record| record.id));
        self.by_tool = positions_by_tool(&kept);
        self.associations = kept;
    }

    fn build(mut self, now: Timestamp) -> Experience {
        self.prune(now);
        Experience {
            tools: Arc::new(self.by_tool.keys().cloned().collect()),
            by_tool: Arc::new(self.by_tool.into_iter().collect()),
            associations: self.associations,
            dropped: self.dropped,
        }
    }
}

fn positions_by_tool(associations: &[Arc<Association>]) -> HashMap<Arc<str>, Vec<usize>> {
    let mut by_tool: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
    for (position, association) in associations.iter().enumerate() {
        let tool = association.tool.clone();
        by_tool.entry(tool).or_default().push(position);
    }
    by_tool
}
