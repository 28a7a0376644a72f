//! The remainders of truncated results, available for an hour to the caller that got the beginning.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_budget::Pages;
use kitbag_domain::Caller;

use crate::state::random_ids::random_token;
use kitbag_domain::fairness::largest_holder;
use kitbag_domain::sync::lock;

const LIFETIME: Duration = Duration::from_secs(3600);
/// The most bytes stored per caller; above it, the caller's oldest results are dropped.
const MOST_BYTES_EACH: usize = 32 << 20;
const MOST_BYTES: usize = 256 << 20;
/// Short, because a model pays for each character of the id. The caller is checked, too.
const ID_LENGTH: usize = 12;

#[derive(Default)]
pub(crate) struct Remainders {
    /// Oldest first.
    results: Mutex<VecDeque<Remainder>>,
}

struct Remainder {
    id: String,
    caller: Caller,
    pages: Arc<Pages>,
    since: Instant,
}

impl Remainder {
    fn bytes(&self) -> usize {
        self.pages.full_text().len()
    }
}

impl Remainders {
    /// Stores a result, and returns its id.
    pub(crate) fn insert(&self, caller: &Caller, pages: Pages) -> String {
        let id: String = random_token()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(ID_LENGTH)
            .collect();
        let item = Remainder {
            id: id.clone(),
            caller: caller.clone(),
            pages: Arc::new(pages),
            since: Instant::now(),
        };
        let mut results = lock(&self.results);
        results.push_back(item);
        results.retain(|it| it.since.elapsed() < LIFETIME);
        evict_until_below(&mut results, MOST_BYTES_EACH, |it| it.caller == *caller);
        while let Some(holder) = caller_to_evict(&results) {
            evict_oldest(&mut results, |it| it.caller == holder);
        }
        id
    }

    pub(crate) fn find(&self, caller: &Caller, id: &str) -> Option<Arc<Pages>> {
        let results = lock(&self.results);
        let found = results
            .iter()
            .find(|it| it.id == id && it.caller == *caller);
        found
            .filter(|it| it.since.elapsed() < LIFETIME)
            .map(|it| it.pages.clone())
    }
}

/// Returns the caller with the most bytes, if the total is too large.
fn caller_to_evict(results: &VecDeque<Remainder>) -> Option<Caller> {
    let all: usize = results.iter().map(Remainder::bytes).sum();
    if all <= MOST_BYTES {
        return None;
    }
    largest_holder(results.iter().map(|it| (&it.caller, it.bytes()))).cloned()
}

/// Removes the oldest matching result, and returns its size.
fn evict_oldest(
    results: &mut VecDeque<Remainder>,
    is_match: impl Fn(&Remainder) -> bool,
) -> Option<usize> {
    let oldest = results.iter().position(is_match)?;
    results.remove(oldest).map(|gone| gone.bytes())
}

/// Removes the oldest matching results until the rest is small enough.
fn evict_until_below(
    results: &mut VecDeque<Remainder>,
    most: usize,
    is_match: impl Fn(&Remainder) -> bool,
) {
    let mut bytes: usize = results
        .iter()
        .filter(|it| is_match(it))
        .map(Remainder::bytes)
        .sum();
    while bytes > most
        && let Some(gone) = evict_oldest(results, &is_match)
    {
        bytes -= gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(tenant: &str) -> Caller {
        Caller {
            tenant: tenant.parse().unwrap(),
            ..Caller::local()
        }
    }

    #[test]
    fn a_result_is_found_only_by_its_caller() {
        let remainders = Remainders::default();
        let id = remainders.insert(&caller("acme"), Pages::new("the rest"));
        assert_eq!(
            remainders.find(&caller("acme"), &id).unwrap().full_text(),
            "the rest"
        );
        assert_eq!(remainders.find(&caller("globex"), &id), None);
        assert_eq!(remainders.find(&caller("acme"), "nothing"), None);
    }

    #[test]
    fn one_caller_cannot_crowd_out_another() {
        let remainders = Remainders::default();
        let small = remainders.insert(&caller("acme"), Pages::new("small"));
        let large = Pages::new(&"x".repeat(MOST_BYTES_EACH / 2));
        let ids: Vec<_> = (0..4)
            .map(|_| remainders.insert(&caller("globex"), large.clone()))
            .collect();
        let found = |id: &String| remainders.find(&caller("globex"), id).is_some();
        assert_eq!(
            ids.iter().map(found).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        assert!(remainders.find(&caller("acme"), &small).is_some());
    }

    #[test]
    fn many_callers_together_do_not_evict_a_small_one() {
        let remainders = Remainders::default();
        let small = remainders.insert(&caller("acme"), Pages::new("small"));
        let large = Pages::new(&"x".repeat(MOST_BYTES_EACH - 1));
        for number in 0..MOST_BYTES / MOST_BYTES_EACH + 2 {
            remainders.insert(&caller(&format!("globex{number}")), large.clone());
        }
        assert!(remainders.find(&caller("acme"), &small).is_some());
    }
}
