//! Remembers what each caller was told stands behind the search, so that clients hear of a change of
//! those words and of nothing else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kitbag_domain::Caller;

use crate::state::per_caller::PerCaller;

#[derive(Default)]
pub(crate) struct AnnouncedGuides(PerCaller<u64>);

impl AnnouncedGuides {
    /// Notes what a list said. The words of an earlier list stay, because clients that have that list
    /// are still to hear of the change.
    pub(crate) fn remember_first(&self, caller: &Caller, guide: Option<&str>) {
        self.0.get_or_make(caller, || hash_guide(guide));
    }

    /// Takes over the words of now. Returns true if the caller was told others before.
    pub(crate) fn replace(&self, caller: &Caller, guide: Option<&str>) -> bool {
        let now = hash_guide(guide);
        let before = self.0.replace(caller, now);
        before.is_some_and(|before| before != now)
    }
}

fn hash_guide(guide: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    guide.hash(&mut hasher);
    hasher.finish()
}
