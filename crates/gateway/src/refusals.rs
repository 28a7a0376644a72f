//! Keys that were refused, for the audit: enough rows to see an attack, too few to be one.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use kitbag_domain::{Action, Event, Origin, ShortText};

use crate::clock::now;
use crate::front::auth::Refused;
use crate::gateway::Gateway;
use kitbag_domain::sync::lock;

/// Anybody can be refused as often as they like; so many rows in a row are written all the same.
const BURST: u32 = 20;
/// After that, one for each of these; together with the burst about 30,000 a day.
const ONE_EVERY: Duration = Duration::from_secs(3);

#[derive(Default)]
pub(crate) struct Refusals {
    budget: Mutex<Budget>,
}

#[derive(Default)]
struct Budget {
    spent: u32,
    since: Option<Instant>,
    untold: u64,
}

impl Refusals {
    /// Records that a key was refused, where from and why; never the key.
    pub(crate) fn note(&self, gateway: &Gateway, refused: &Refused, origin: Origin) {
        let Some(fault) = refused.fault_of_key() else {
            return;
        };
        let Some(untold) = lock(&self.budget).spend(Instant::now()) else {
            return;
        };
        let more = (untold > 0).then(|| format!("{untold} more since the row before this one"));
        gateway.services.audit.note(Event {
            origin,
            key: refused.key().cloned(),
            detail: more.map(|text| ShortText::cut(&text)),
            ..Event::new(now(), Action::KeyRefused, fault)
        });
    }
}

impl Budget {
    /// Whether a row may be written, and how many were not since the last.
    fn spend(&mut self, at: Instant) -> Option<u64> {
        let since = *self.since.get_or_insert(at);
        let regained = u32::try_from(at.duration_since(since).as_secs() / ONE_EVERY.as_secs())
            .unwrap_or(u32::MAX);
        if regained > 0 {
            self.spent = self.spent.saturating_sub(regained);
            self.since = Some(since + ONE_EVERY * regained);
        }
        if self.spent >= BURST {
            self.untold += 1;
            return None;
        }
        self.spent += 1;
        Some(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refused_keys_leaves_few_rows_and_is_counted() {
        let (mut budget, start) = (Budget::default(), Instant::now());
        let told = (0..1000)
            .filter_map(|_| budget.spend(start))
            .collect::<Vec<_>>();
        assert_eq!(told, [0; BURST as usize]);
        assert_eq!(budget.spend(start + ONE_EVERY), Some(980));
        assert_eq!(budget.spend(start + ONE_EVERY), None);
        let later = start + ONE_EVERY * 100;
        assert_eq!(budget.spend(later), Some(1));
        let told = (0..1000).filter_map(|_| budget.spend(later)).count();
        assert_eq!(told, BURST as usize - 1);
    }
}
