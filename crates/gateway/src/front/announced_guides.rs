//! Remembers each caller's last guide, so that clients are notified only when their guide changes.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kitbag_domain::Caller;

use crate::state::per_caller::PerCaller;

#[derive(Default)]
pub(crate) struct AnnouncedGuides(PerCaller<u64>);

impl AnnouncedGuides {
    /// Records the guide of a list. An earlier guide stays recorded, because clients with the
    /// earlier list have yet to be notified.
    pub(crate) fn remember_first(&self, caller: &Caller, guide: Option<&str>) {
        self.0.get_or_compute(caller, || hash_guide(guide));
    }

    /// Records the current guide. Returns true if the caller had another one before.
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
