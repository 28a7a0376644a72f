//! The effective lessons of a tenant: an immutable snapshot. New lessons produce a new snapshot.

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};

use kitbag_domain::{KeyId, Timestamp};
use kitbag_relevance::learning::{Experience, Lesson, Signal};
use kitbag_store::StoredLesson;

use kitbag_relevance::learning::favourites::Favourites;

/// Lessons of one tenant in the store, some ten megabytes. Above that, a tenth of them is deleted
/// at once, so that this is rare.
const MOST_LESSONS: usize = 20_000;
const LESSONS_AFTER_PRUNING: usize = MOST_LESSONS / 10 * 9;
#[derive(Debug, Default)]
pub(crate) struct LearnedLessons {
    pub(crate) experience: Experience,
    pub(crate) favourites: Favourites,
    /// The ids of all loaded lessons, in order of arrival.
    ids: Vec<i64>,
    /// The ids of redundant lessons.
    spare: Vec<i64>,
    /// The last time that a request used it.
    used_at: AtomicI64,
}

impl LearnedLessons {
    pub(super) fn with_lessons(
        &self,
        more: Vec<StoredLesson>,
        model: &str,
        now: Timestamp,
    ) -> Self {
        let ids = self.ids.iter().copied().chain(more.iter().map(|it| it.id));
        let ids = ids.collect();
        let uses = more.iter().filter_map(successful_use);
        let favourites = self.favourites.with_uses(uses);
        let lessons = more.into_iter().filter_map(|it| to_lesson(it, model));
        let experience = self.experience.with_lessons(lessons.collect(), now);
        let spare = [&self.spare, experience.dropped_ids()].concat();
        Self {
            experience,
            favourites,
            ids,
            spare,
            used_at: AtomicI64::default(),
        }
    }

    pub(super) fn last_id(&self) -> i64 {
        self.ids.last().copied().unwrap_or_default()
    }

    /// Returns the ids of lessons above the number that a tenant may have: first redundant lessons,
    /// then the oldest.
    pub(super) fn surplus_ids(&self) -> Vec<i64> {
        if self.ids.len() <= MOST_LESSONS {
            return Vec::new();
        }
        let excess = self.ids.len() - LESSONS_AFTER_PRUNING;
        let spare: HashSet<i64> = self.spare.iter().copied().collect();
        let spare_first = self.ids.iter().filter(|id| spare.contains(id));
        let then_oldest = self.ids.iter().filter(|id| !spare.contains(id));
        let surplus = spare_first.chain(then_oldest).copied();
        surplus.take(excess).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Records that a request used it.
    pub(super) fn mark_used(&self, now: Timestamp) {
        self.used_at.store(now.0, Ordering::Relaxed);
    }

    pub(super) fn last_used(&self) -> i64 {
        self.used_at.load(Ordering::Relaxed)
    }
}

/// Returns the tool that a credential used successfully.
fn successful_use(stored: &StoredLesson) -> Option<(Option<KeyId>, String, Timestamp)> {
    let lesson = &stored.lesson;
    let signal = Signal::parse(&lesson.signal)?;
    signal
        .is_use()
        .then(|| (lesson.credential.clone(), lesson.tool.clone(), lesson.at))
}

/// Returns the lesson, if its context can be compared.
fn to_lesson(stored: StoredLesson, model: &str) -> Option<Lesson> {
    let context = stored.lesson.context.filter(|it| it.model == model)?;
    Some(Lesson {
        tool: stored.lesson.tool,
        context: context.vector.into(),
        signal: Signal::parse(&stored.lesson.signal)?,
        at: stored.lesson.at,
        session: stored.lesson.session.cast_unsigned(),
        id: stored.id,
    })
}
