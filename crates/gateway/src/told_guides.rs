//! Remembers what each caller was told stands behind the search, so that clients hear of a change of
//! those words and of nothing else.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;

use kitbag_domain::Caller;
use kitbag_domain::sync::lock;

/// Beyond this many callers all are forgotten; each is noted again with its next list.
const MOST_CALLERS: usize = 10_000;

#[derive(Default)]
pub(crate) struct ToldGuides {
    by_caller: Mutex<HashMap<Caller, u64>>,
}

impl ToldGuides {
    /// Notes what a list said. The words of an earlier list stay, because clients that have that list
    /// are still to hear of the change.
    pub(crate) fn note(&self, caller: &Caller, guide: Option<&str>) {
        let mut by_caller = lock(&self.by_caller);
        if by_caller.contains_key(caller) {
            return;
        }
        if by_caller.len() >= MOST_CALLERS {
            by_caller.clear();
        }
        by_caller.insert(caller.clone(), hash(guide));
    }

    /// Takes over the words of now. Returns true if the caller was told others before.
    pub(crate) fn renew(&self, caller: &Caller, guide: Option<&str>) -> bool {
        let now = hash(guide);
        match lock(&self.by_caller).get_mut(caller) {
            Some(told) => std::mem::replace(told, now) != now,
            None => false,
        }
    }
}

fn hash(guide: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    guide.hash(&mut hasher);
    hasher.finish()
}
