//! A tool and one context in which it was seen, merged from the lessons of like contexts.

use std::sync::Arc;

use kitbag_domain::Timestamp;

use super::lesson::{Lesson, Signal};
use crate::dense::similarity;

/// Contexts of one tool that are as alike as this say the same in other words, or with another
/// name or number.
const SAME: f32 = 0.95;
/// The part that a new context has in a merged one: the value of the design this follows, enough to
/// move with a change in wording and too little for one request to carry it away.
const NEWEST: f32 = 0.2;
/// The number of lessons that a context keeps: the vote of twice as many would differ by a few
/// hundredths.
const KEPT: usize = 16;
/// After this time a lesson weighs half: a month, so that a change of habit shows within weeks.
const HALF_LIFE_DAYS: f32 = 30.0;
const DAY_MS: f32 = 86_400_000.0;

#[derive(Debug, Clone)]
pub(super) struct Association {
    pub(super) tool: Arc<str>,
    pub(super) context: Arc<[f32]>,
    /// In the order of their arrival.
    pub(super) marks: Vec<Mark>,
}

/// A lesson without its context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) id: i64,
    pub(super) signal: Signal,
    pub(super) at: Timestamp,
    pub(super) session: u64,
}

impl Association {
    pub(super) fn of(tool: Arc<str>, lesson: &Lesson) -> Self {
        Self {
            tool,
            context: lesson.context.clone(),
            marks: vec![Mark::of(lesson)],
        }
    }

    /// Returns the cosine with the context it is most like.
    pub(super) fn likeness(&self, contexts: &[&[f32]]) -> f32 {
        let cosines = contexts.iter().map(|it| similarity(&self.context, it));
        cosines.fold(0.0, f32::max)
    }

    pub(super) fn is_about(&self, lesson: &Lesson) -> bool {
        similarity(&self.context, &lesson.context) >= SAME
    }

    /// Takes a lesson in, and returns the number of the one that gave way to it, if one had to.
    pub(super) fn absorb(&mut self, lesson: &Lesson, now: Timestamp) -> Option<i64> {
        self.context = blended(&self.context, &lesson.context);
        self.marks.push(Mark::of(lesson));
        if self.marks.len() <= KEPT {
            return None;
        }
        let lightest = self.lightest(now);
        Some(self.marks.remove(lightest).id)
    }

    /// Returns the position of the lesson that says least; the older of two that say the same.
    fn lightest(&self, now: Timestamp) -> usize {
        let weights = self.marks.iter().map(|mark| mark.weight(now).abs());
        let lightest = weights.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        lightest.map_or(0, |(position, _)| position)
    }

    /// The worth of keeping it: the weight of its lessons, good or bad.
    pub(super) fn worth(&self, now: Timestamp) -> f32 {
        self.marks.iter().map(|it| it.weight(now).abs()).sum()
    }

    pub(super) fn latest(&self) -> Timestamp {
        let times = self.marks.iter().map(|mark| mark.at);
        times.max().unwrap_or_default()
    }
}

impl Mark {
    fn of(lesson: &Lesson) -> Self {
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

/// Returns the older context moved a little towards the newer one, of length one again.
fn blended(older: &[f32], newer: &[f32]) -> Arc<[f32]> {
    let pairs = older.iter().zip(newer);
    let sum: Vec<f32> = pairs
        .map(|(older, newer)| (1.0 - NEWEST) * older + NEWEST * newer)
        .collect();
    let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
    sum.into_iter().map(|x| x / length).collect()
}
