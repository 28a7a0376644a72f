//! Handles notifications from servers: forwards resource updates, and lists a server again when it
//! announces changed lists (debounced).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kitbag_domain::ServerName;
use kitbag_upstream::{Notice, NoticeKind};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::front::announce::{ListChanges, announce_update};
use crate::state::background::relist_server;
use crate::state::host::GatewayHost;

/// Debounce time: changes that come this close together cause one new listing.
const DEBOUNCE: Duration = Duration::from_millis(50);
/// A server that keeps announcing changes is listed this long after its first announcement.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// Receives notifications from servers until the gateway closes.
pub(crate) async fn follow_notices(host: Arc<GatewayHost>, mut notices: mpsc::Receiver<Notice>) {
    let mut announced = PendingRelists::default();
    loop {
        let due = announced.next_due();
        tokio::select! {
            notice = notices.recv() => match notice {
                None => return,
                Some(Notice { server, kind: NoticeKind::ResourceUpdated(params) }) => {
                    announce_update(&host.gateway(), &server, &params);
                }
                Some(Notice { server, kind }) => announced.add_notice(server, &kind, Instant::now()),
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                announced.relist_due(Instant::now(), |server, changes| relist_server(&host, server, changes));
            }
        }
    }
}

/// The servers that must be listed again.
#[derive(Default)]
struct PendingRelists {
    waiting: HashMap<ServerName, PendingRelist>,
    /// At most one listing per server at a time, so that a slow server does not accumulate several.
    under_way: HashMap<ServerName, JoinHandle<()>>,
}

struct PendingRelist {
    changes: ListChanges,
    due: Instant,
    /// The latest time at which the server is listed, whatever it announces until then.
    latest: Instant,
}

impl PendingRelists {
    fn add_notice(&mut self, server: ServerName, kind: &NoticeKind, now: Instant) {
        let waiting = self.waiting.entry(server).or_insert_with(|| PendingRelist {
            changes: ListChanges::default(),
            due: now,
            latest: now + LONGEST_WAIT,
        });
        waiting.changes.add(kind);
        waiting.due = waiting.latest.min(now + DEBOUNCE);
    }

    fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|it| it.due).min()
    }

    fn relist_due(
        &mut self,
        now: Instant,
        relist: impl Fn(&ServerName, ListChanges) -> Option<JoinHandle<()>>,
    ) {
        self.under_way.retain(|_, listing| !listing.is_finished());
        let mut due = Vec::new();
        for (server, waiting) in self.waiting.iter_mut().filter(|(_, it)| it.due <= now) {
            match self.under_way.contains_key(server) {
                // Also moves the latest time, or the next announcement would make it due at once.
                true => (waiting.due, waiting.latest) = (now + DEBOUNCE, now + DEBOUNCE),
                false => due.push((server.clone(), waiting.changes)),
            }
        }
        for (server, changes) in due {
            self.waiting.remove(&server);
            if let Some(listing) = relist(&server, changes) {
                self.under_way.insert(server, listing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const TOOLS: NoticeKind = NoticeKind::ToolsChanged;

    /// Returns the milliseconds at which a server is listed if it announces a change at each of the
    /// given ones.
    fn listed_at(announcements: &[u64], last: u64) -> Vec<u64> {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut announced = PendingRelists::default();
        let listed: RefCell<Vec<u64>> = RefCell::default();
        for ms in 0..=last {
            if announcements.contains(&ms) {
                announced.add_notice("a".parse().unwrap(), &TOOLS, at(ms));
            }
            announced.relist_due(at(ms), |_, changes| {
                assert!(changes.has_any());
                listed.borrow_mut().push(ms);
                None
            });
        }
        assert!(announced.next_due().is_none_or(|due| due > at(last)));
        listed.into_inner()
    }

    #[test]
    fn a_server_is_listed_after_a_pause_or_a_maximum_delay() {
        assert_eq!(listed_at(&[10], 200), [60]);
        assert_eq!(listed_at(&[10, 40, 80], 200), [130]);
        let flood: Vec<u64> = (0..2_000).collect();
        assert_eq!(listed_at(&flood, 1_600), [500, 1001, 1502]);
    }

    #[tokio::test]
    async fn a_server_is_not_listed_again_before_it_has_answered() {
        let begin = Instant::now();
        let (mut announced, listings) = (PendingRelists::default(), RefCell::new(0));
        let (answer, answered) = tokio::sync::oneshot::channel::<()>();
        let waits = RefCell::new(Some(tokio::spawn(async { drop(answered.await) })));
        let relist = |_: &ServerName, _| {
            *listings.borrow_mut() += 1;
            waits.borrow_mut().take()
        };
        for second in 1..10 {
            let now = begin + Duration::from_secs(second);
            announced.add_notice("a".parse().unwrap(), &TOOLS, now);
            announced.relist_due(now + DEBOUNCE, relist);
        }
        assert_eq!(*listings.borrow(), 1);
        drop(answer);
        while !announced.under_way.values().all(JoinHandle::is_finished) {
            tokio::task::yield_now().await;
        }
        announced.relist_due(begin + Duration::from_secs(20), relist);
        assert_eq!((*listings.borrow(), announced.next_due()), (2, None));
    }
}
