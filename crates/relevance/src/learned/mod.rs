//! Learns from use: contexts in which a tool was used speak for it in contexts like them.
//!
//! Pure like the rest of the crate: lessons and the time are handed in, and the same lessons give
//! the same votes. A snapshot never changes; new lessons give a new one.
//!
//! # Layout
//! - [`event`]: what clients do; [`linker`]: the lessons that it teaches, where a link is shown
//! - `lesson`, `association`: a lesson, and those of like contexts as one
//! - `ballot`, `votes`: the votes of like contexts on a request
//! - [`favourites`]: the tools that a credential uses, whatever for

mod association;
mod ballot;
pub mod event;
pub mod favourites;
mod lesson;
pub mod linker;
mod votes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kitbag_domain::Timestamp;

use association::Association;
use ballot::{Ballot, is_neighbour};
pub use lesson::{Lesson, Signal};
pub use votes::{Neighbour, Vote, Votes, places};

use crate::dense::is_sound;
use crate::retrieve::Intent;

/// More contexts of one tenant would make a search measurably slower.
const MAX_CONTEXTS: usize = 5_000;
/// Above the bound nine tenths are kept, so that the next lesson does not prune again.
const KEPT_CONTEXTS: usize = MAX_CONTEXTS / 10 * 9;
/// A context that was not seen for three half-lives weighs an eighth, and is dropped.
const UNUSED_MS: i64 = 90 * 86_400_000;

/// The lessons of one tenant as they count for its searches.
#[derive(Debug, Clone, Default)]
pub struct Experience {
    associations: Vec<Arc<Association>>,
    /// The positions of each tool's contexts, so that a search looks no tool up. In the order of the
    /// names, so that the same lessons add up to the same sums.
    by_tool: Arc<BTreeMap<Arc<str>, Vec<usize>>>,
    tools: Arc<HashSet<Arc<str>>>,
    dropped: Vec<i64>,
}

impl Experience {
    pub fn of(lessons: Vec<Lesson>, now: Timestamp) -> Self {
        Self::default().with(lessons, now)
    }

    /// Returns a snapshot with more lessons, which are taken in the order of their time.
    #[must_use]
    pub fn with(&self, mut more: Vec<Lesson>, now: Timestamp) -> Self {
        more.sort_by_key(|lesson| (lesson.at, lesson.id));
        let mut learning = Learning::from(&self.associations);
        for lesson in &more {
            learning.take(lesson, now);
        }
        learning.done(now)
    }

    /// Returns the votes of the past contexts that are like this one, which is a vector of length
    /// one.
    pub fn votes(&self, context: &[f32], now: Timestamp) -> Votes {
        self.votes_on(&[context], now)
    }

    /// Returns the votes on an intent: a past context counts by its likeness to the whole or to the
    /// step it is most like.
    pub fn votes_on_intent(&self, intent: &Intent<'_>, now: Timestamp) -> Votes {
        let steps = intent.steps.iter().map(|step| &*step.vector);
        let contexts: Vec<&[f32]> = intent.vector.into_iter().chain(steps).collect();
        self.votes_on(&contexts, now)
    }

    fn votes_on(&self, contexts: &[&[f32]], now: Timestamp) -> Votes {
        let ballots = self.by_tool.iter().map(|(tool, positions)| {
            let associations = positions.iter().map(|at| &*self.associations[*at]);
            (tool, ballot(associations, contexts, now))
        });
        let ballots = ballots.filter(|(_, ballot)| !ballot.is_empty()).collect();
        Votes::count(ballots, self.tools.clone(), now)
    }

    /// The number of contexts that are kept, after merging.
    pub fn len(&self) -> usize {
        self.associations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.associations.is_empty()
    }

    /// The rows of the lessons that no longer count since the snapshot before this one; the store
    /// need not keep them.
    pub fn dropped_ids(&self) -> &[i64] {
        &self.dropped
    }
}

/// Collects the contexts of one tool that belong to the neighbourhood.
fn ballot<'a>(
    associations: impl Iterator<Item = &'a Association>,
    contexts: &[&[f32]],
    now: Timestamp,
) -> Ballot<'a> {
    let mut ballot = Ballot::default();
    for association in associations {
        let similarity = association.likeness(contexts);
        if is_neighbour(similarity) {
            ballot.add(association, similarity, now);
        }
    }
    ballot
}

/// A snapshot in the making.
struct Learning {
    associations: Vec<Arc<Association>>,
    by_tool: HashMap<Arc<str>, Vec<usize>>,
    dropped: Vec<i64>,
}

impl Learning {
    fn from(associations: &[Arc<Association>]) -> Self {
        Self {
            by_tool: by_tool(associations),
            associations: associations.to_vec(),
            dropped: Vec::new(),
        }
    }

    fn take(&mut self, lesson: &Lesson, now: Timestamp) {
        if !is_sound(&lesson.context) || !lesson.signal.is_linked() {
            self.dropped.push(lesson.id);
            return;
        }
        match self.like(lesson) {
            Some(position) => {
                let association = Arc::make_mut(&mut self.associations[position]);
                self.dropped.extend(association.absorb(lesson, now));
            }
            None => self.add(lesson, now),
        }
    }

    /// Returns the position of the association that the lesson belongs to.
    fn like(&self, lesson: &Lesson) -> Option<usize> {
        let positions = self.by_tool.get(lesson.tool.as_str())?.iter().copied();
        let mut like = positions.filter(|at| self.associations[*at].is_about(lesson));
        like.next()
    }

    fn add(&mut self, lesson: &Lesson, now: Timestamp) {
        let known = self.by_tool.get_key_value(lesson.tool.as_str());
        let tool = known.map_or_else(|| lesson.tool.as_str().into(), |(tool, _)| tool.clone());
        let association = Association::of(Arc::clone(&tool), lesson);
        self.by_tool
            .entry(tool)
            .or_default()
            .push(self.associations.len());
        self.associations.push(Arc::new(association));
        if self.associations.len() > MAX_CONTEXTS {
            self.prune(now);
        }
    }

    /// Drops the contexts that were unused for long, and if there are still too many, those that
    /// say least.
    fn prune(&mut self, now: Timestamp) {
        let all = std::mem::take(&mut self.associations);
        let (mut kept, mut gone): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|it| now.0 - it.latest().0 <= UNUSED_MS);
        if kept.len() > MAX_CONTEXTS {
            kept.sort_by(|a, b| b.worth(now).total_cmp(&a.worth(now)));
            gone.extend(kept.drain(KEPT_CONTEXTS..));
        }
        let marks = gone.iter().flat_map(|it| &it.marks);
        self.dropped.extend(marks.map(|mark| mark.id));
        self.by_tool = by_tool(&kept);
        self.associations = kept;
    }

    fn done(mut self, now: Timestamp) -> Experience {
        self.prune(now);
        Experience {
            tools: Arc::new(self.by_tool.keys().cloned().collect()),
            by_tool: Arc::new(self.by_tool.into_iter().collect()),
            associations: self.associations,
            dropped: self.dropped,
        }
    }
}

fn by_tool(associations: &[Arc<Association>]) -> HashMap<Arc<str>, Vec<usize>> {
    let mut by_tool: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
    for (position, association) in associations.iter().enumerate() {
        let tool = association.tool.clone();
        by_tool.entry(tool).or_default().push(position);
    }
    by_tool
}
