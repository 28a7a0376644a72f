//! Modern clients' requests in progress by key, so that they end when the key does.
//!
//! Legacy clients have sessions for that; modern requests are independent, and one that listens for
//! changes may last for days.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use kitbag_domain::{Caller, KeyId};
use tokio_util::sync::CancellationToken;

use kitbag_domain::sync::lock;

#[derive(Debug, Default)]
pub(crate) struct RequestsByKey {
    running: Mutex<RunningRequests>,
}

#[derive(Debug, Default)]
struct RunningRequests {
    next: u64,
    requests: HashMap<u64, (KeyId, CancellationToken)>,
}

/// Counts a request as in progress until it is dropped.
pub(crate) struct KeyRequestGuard {
    holders: Arc<RequestsByKey>,
    number: u64,
}

impl RequestsByKey {
    /// Returns `None` for a caller without a key.
    pub(crate) fn register(
        self: &Arc<Self>,
        caller: &Caller,
        cancelled: &CancellationToken,
    ) -> Option<KeyRequestGuard> {
        let key = caller.key.clone()?;
        let mut running = lock(&self.running);
        let number = running.next;
        running.next += 1;
        running.requests.insert(number, (key, cancelled.clone()));
        Some(KeyRequestGuard {
            holders: self.clone(),
            number,
        })
    }

    pub(crate) fn keys(&self) -> HashSet<KeyId> {
        lock(&self.running)
            .requests
            .values()
            .map(|(key, _)| key.clone())
            .collect()
    }

    pub(crate) fn cancel_for_keys(&self, ended: &[KeyId]) {
        for (key, cancelled) in lock(&self.running).requests.values() {
            if ended.contains(key) {
                cancelled.cancel();
            }
        }
    }
}

/// True if the caller used one of these ended keys.
pub(crate) fn has_ended_key(caller: &Caller, ended: &[KeyId]) -> bool {
    caller.key.as_ref().is_some_and(|key| ended.contains(key))
}

impl Drop for KeyRequestGuard {
    fn drop(&mut self) {
        lock(&self.holders.running).requests.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_a_key_affects_only_its_requests() {
        let holders = Arc::new(RequestsByKey::default());
        let caller = |key: &str| Caller::user("acme".parse().unwrap(), KeyId(key.to_owned()));
        let tokens: Vec<_> = (0..3).map(|_| CancellationToken::new()).collect();
        let guards: Vec<_> = ["one", "one", "two"]
            .into_iter()
            .zip(&tokens)
            .filter_map(|(key, token)| holders.register(&caller(key), token))
            .collect();
        assert!(holders.register(&Caller::local(), &tokens[0]).is_none());
        holders.cancel_for_keys(&[KeyId("one".to_owned())]);
        let cancelled: Vec<_> = tokens.iter().map(CancellationToken::is_cancelled).collect();
        assert_eq!(
            (cancelled, holders.keys().len()),
            (vec![true, true, false], 2)
        );
        drop(guards);
        assert!(holders.keys().is_empty());
    }
}
