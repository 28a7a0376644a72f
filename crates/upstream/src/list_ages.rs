//! Tracks whether a server's lists may be out of date: its announcements and the times of reads.

use std::sync::Mutex;
use std::time::Duration;

use kitbag_domain::DefinitionKind;
use kitbag_domain::sync::lock;
use tokio::time::Instant;

/// The tools and the prompts of one server. A read covers every announcement that arrived before it
/// began.
#[derive(Debug, Default)]
pub(crate) struct ListAges(Mutex<Ages>);

#[derive(Debug, Default)]
struct Ages {
    /// Counts announcements and reads, so that each has its own number.
    clock: u64,
    tools: ListAge,
    prompts: ListAge,
}

#[derive(Debug, Default)]
struct ListAge {
    /// The last event that may have changed the list.
    doubted: u64,
    /// The last read that began.
    begun: u64,
    /// The read that the known list is from.
    read: u64,
    read_at: Option<Instant>,
}

/// The beginning of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    number: u64,
    at: Instant,
}

/// A point in time that covers all earlier hints of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doubt(u64);

const BOTH: [DefinitionKind; 2] = [DefinitionKind::Tool, DefinitionKind::Prompt];

impl ListAges {
    /// Records that a list may have changed.
    pub(crate) fn mark_doubtful(&self, kind: DefinitionKind) {
        let mut ages = lock(&self.0);
        let now = ages.tick();
        if let Some(age) = ages.get_mut(kind) {
            age.doubted = now;
        }
    }

    pub(crate) fn mark_all_doubtful(&self) {
        BOTH.into_iter().for_each(|kind| self.mark_doubtful(kind));
    }

    /// Returns the last doubt about a list. Only a read that begins later settles it.
    pub(crate) fn last_doubt(&self, kind: DefinitionKind) -> Doubt {
        let mut ages = lock(&self.0);
        Doubt(ages.get_mut(kind).map_or(0, |age| age.doubted))
    }

    /// Begins to read these lists.
    pub(crate) fn begin_reading(&self, kinds: &[DefinitionKind]) -> Reading {
        let mut ages = lock(&self.0);
        let number = ages.tick();
        for kind in kinds {
            if let Some(age) = ages.get_mut(*kind) {
                age.begun = number;
            }
        }
        Reading {
            number,
            at: Instant::now(),
        }
    }

    /// Ends a failed read: its lists still have to be read.
    pub(crate) fn fail_reading(&self, kinds: &[DefinitionKind]) {
        let mut ages = lock(&self.0);
        for kind in kinds {
            if let Some(age) = ages.get_mut(*kind) {
                age.begun = age.read;
            }
        }
    }

    /// Records that the list of this read is now the known one. Returns false if the known one is
    /// from a later read.
    pub(crate) fn finish_reading(&self, kind: DefinitionKind, reading: Reading) -> bool {
        let mut ages = lock(&self.0);
        let Some(age) = ages.get_mut(kind) else {
            return true;
        };
        if reading.number < age.read {
            return false;
        }
        age.read = reading.number;
        age.read_at = Some(reading.at);
        true
    }

    /// True if the known list was read after that doubt, and is not older than `max_age`.
    pub(crate) fn is_settled(&self, kind: DefinitionKind, doubt: Doubt, max_age: Duration) -> bool {
        let mut ages = lock(&self.0);
        ages.get_mut(kind).is_some_and(|age| {
            let is_young = age.read_at.is_some_and(|at| at.elapsed() <= max_age);
            age.read > doubt.0 && is_young
        })
    }

    /// True if a list is in doubt and no read of it has begun since.
    pub(crate) fn wants_reading(&self) -> bool {
        let mut ages = lock(&self.0);
        BOTH.into_iter().any(|kind| {
            ages.get_mut(kind)
                .is_some_and(|age| age.doubted >= age.begun)
        })
    }
}

impl Ages {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Other lists are not tracked.
    fn get_mut(&mut self, kind: DefinitionKind) -> Option<&mut ListAge> {
        match kind {
            DefinitionKind::Tool => Some(&mut self.tools),
            DefinitionKind::Prompt => Some(&mut self.prompts),
            DefinitionKind::ResourceTemplate | DefinitionKind::Skill | DefinitionKind::Resource => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn only_a_reading_that_began_after_a_doubt_settles_it() {
        let ages = ListAges::default();
        let settled = |doubt| ages.is_settled(DefinitionKind::Tool, doubt, LONG);
        assert!(ages.wants_reading());
        assert!(
            !settled(ages.last_doubt(DefinitionKind::Tool)),
            "never read"
        );
        let reading = ages.begin_reading(&BOTH);
        assert!(!ages.wants_reading(), "a reading is under way");
        let before = ages.last_doubt(DefinitionKind::Tool);
        ages.mark_doubtful(DefinitionKind::Tool);
        let after = ages.last_doubt(DefinitionKind::Tool);
        assert!(
            ages.finish_reading(DefinitionKind::Tool, reading)
                && ages.finish_reading(DefinitionKind::Prompt, reading)
        );
        assert!(settled(before) && !settled(after) && ages.wants_reading());
        assert!(ages.is_settled(
            DefinitionKind::Prompt,
            ages.last_doubt(DefinitionKind::Prompt),
            LONG
        ));

        let reading = ages.begin_reading(&[DefinitionKind::Tool]);
        assert!(ages.finish_reading(DefinitionKind::Tool, reading) && settled(after));
        tokio::time::advance(LONG + Duration::from_secs(1)).await;
        assert!(!settled(after), "it was read too long ago");
    }

    #[test]
    fn a_reading_that_began_earlier_does_not_replace_a_later_one() {
        let ages = ListAges::default();
        let (slow, fast) = (
            ages.begin_reading(&BOTH),
            ages.begin_reading(&[DefinitionKind::Tool]),
        );
        assert!(ages.finish_reading(DefinitionKind::Tool, fast));
        assert!(
            !ages.finish_reading(DefinitionKind::Tool, slow)
                && ages.finish_reading(DefinitionKind::Prompt, slow)
        );
    }

    #[test]
    fn a_reading_that_failed_is_still_to_be_made() {
        let ages = ListAges::default();
        let reading = ages.begin_reading(&BOTH);
        assert!(
            BOTH.into_iter()
                .all(|kind| ages.finish_reading(kind, reading))
        );
        ages.mark_doubtful(DefinitionKind::Prompt);
        ages.begin_reading(&BOTH);
        assert!(!ages.wants_reading());
        ages.fail_reading(&BOTH);
        assert!(ages.wants_reading());
    }
}
