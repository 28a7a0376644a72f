//! What waits for a person's confirmation, in memory: secrets among it are not sent back to the
//! browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use kitbag_gateway::state::random_ids::random_token;
use kitbag_launch_review::Review;

use crate::cli::servers::add::ServerToAdd;

/// Time to read a review.
const KEPT_FOR: Duration = Duration::from_secs(30 * 60);
const MAX_PENDING: usize = 50;

/// Servers that are added once a person confirms them.
#[derive(Default)]
pub(in crate::pages) struct PendingAdditions(Mutex<HashMap<String, (Instant, Arc<Addition>)>>);

pub(super) enum Addition {
    Registered {
        server: Box<Mutex<Option<ServerToAdd>>>,
        review: Review,
    },
    /// The text of a client's file. What it adds depends on the configuration at that time.
    Pasted(String),
}

impl PendingAdditions {
    /// Stores an addition and returns its id.
    pub(super) fn add(&self, addition: Addition) -> String {
        let mut pending = lock(&self.0);
        pending.retain(|_, (since, _)| since.elapsed() < KEPT_FOR);
        if pending.len() >= MAX_PENDING {
            let oldest = pending.iter().min_by_key(|(_, (since, _))| *since);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                pending.remove(&oldest);
            }
        }
        let id = random_token();
        pending.insert(id.clone(), (Instant::now(), Arc::new(addition)));
        id
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Addition>> {
        let pending = lock(&self.0);
        let (since, addition) = pending.get(id)?;
        (since.elapsed() < KEPT_FOR).then(|| addition.clone())
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.0).remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_addition_gives_way() {
        let pending = PendingAdditions::default();
        let first = pending.add(Addition::Pasted("{}".to_owned()));
        assert!(pending.find(&first).is_some() && pending.find("other").is_none());
        for _ in 0..MAX_PENDING {
            pending.add(Addition::Pasted("{}".to_owned()));
        }
        assert!(pending.find(&first).is_none());
    }
}
