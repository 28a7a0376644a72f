//! A tool and one context of its use, merged from the lessons of similar contexts.

use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::lesson::{Lesson, Signal};
use crate::dense::similarity;

/// Contexts of one tool above this similarity are rewordings or differ only in a name or number.
const SAME: f32 = 0.95;
/// The weight of a new context in a merged one, from the design this follows: the context follows a
/// change in wording, but no single request moves it far.
const NEWEST: f32 = 0.2;
/// The lessons kept per context. With twice as many, votes would differ by a few hundredths.
const MAX_RECORDS: usize = 16;
/// A lesson's weight halves in this time, so that a change of habit shows within weeks.
const HALF_LIFE_DAYS: f32 = 30.0;
const DAY_MS: f32 = 86_400_000.0;

#[derive(Debug, Clone)]
pub(super) struct Association {
    pub(super) tool: Arc<str>,
    pub(super) context: Arc<[f32]>,
    /// In order of arrival.
    pub(super) records: Vec<LessonRecord>,
}

/// A lesson without its context.
#[derive(Debug, Clone, Copy)]
pub(super) struct LessonRecord {
    pub(super) id: i64,
    pub(super) signal: Signal,
    pub(super) at: Timestamp,
    pub(super) session: u64,
}

impl Association {
    pub(super) fn new(tool: Arc<str>, lesson: &Lesson) -> Self {
        Self {
            tool,
            context: lesson.context.clone(),
            records: vec![LessonRecord::from_lesson(lesson)],
        }
    }

    /// Returns the cosine with the most similar of these contexts.
    pub(super) fn max_similarity(&self, contexts: &[&[f32]]) -> f32 {
        let cosines = contexts.iter().map(|it| similarity(&self.context, it));
        cosines.fold(0.0, f32::max)
    }

    pub(super) fn matches_context(&self, lesson: &Lesson) -> bool {
        similarity(&self.context, &lesson.context) >= SAME
    }

    /// Adds a lesson, and returns the id of the lesson that was dropped for it, if any.
    pub(super) fn merge_lesson(&mut self, lesson: &Lesson, now: Timestamp) -> Option<i64> {
        self.context = blend(&self.context, &lesson.context);
        self.records.push(LessonRecord::from_lesson(lesson));
        if self.records.len() <= MAX_RECORDS {
            return None;
        }
        let lightest = self.find_lightest(now);
        Some(self.records.remove(lightest).id)
    }

    /// Returns the position of the lesson with the least weight; the older one of equals.
    fn find_lightest(&self, now: Timestamp) -> usize {
        let weights = self.records.iter().map(|record| record.weight(now).abs());
        let lightest = weights.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        lightest.map_or(0, |(position, _)| position)
    }

    /// The total weight of its lessons, good or bad.
    pub(super) fn total_weight(&self, now: Timestamp) -> f32 {
        self.records.iter().map(|it| it.weight(now).abs()).sum()
    }

    pub(super) fn last_seen_at(&self) -> Timestamp {
        let times = self.records.iter().map(|record| record.at);
        times.max().unwrap_or_default()
    }
}

impl LessonRecord {
    fn from_lesson(lesson: &Lesson) -> Self {
        Self {
            id: lesson.id,
            signal: lesson.signal,
            at: lesson.at,
            session: lesson.session,
        }
    }

    pub(super) fn weight(&self, now: Timestamp) -> f32 {
        let days = (now.0 - self.at.0).max(0) as f32 / DAY_MS;
        self.signal.weight() * (-days / HALF_LIFE_DAYS).exp2()
    }
}

/// Moves the older context a little towards the newer one, at length one.
fn blend(older: &[f32], newer: &[f32]) -> Arc<[f32]> {
    let pairs = older.iter().zip(newer);
    let sum: Vec<f32> = pairs
        .map(|(older, newer)| (1.0 - NEWEST) * older + NEWEST * newer)
        .collect();
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    sum.into_iter().map(|x| x / length).collect()
}
