//! Reports which tables have changed, including changes by other processes and gateways.
//!
//! - `postgres`: notifications sent by triggers of the tables
//! - `sqlite`: counters incremented by triggers of the tables, read twice a second

mod postgres;
mod sqlite;

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Store;
use crate::engine::Engine;

/// Counters that rise when a table may have changed. All of them rise when changes may have been
/// missed, for example because the database connection was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    pub keys: u64,
    pub secrets: u64,
    pub logins: u64,
    pub listings: u64,
    pub learned_templates: u64,
    pub priors: u64,
    pub lessons: u64,
    pub credentials: u64,
}

/// The watched tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchedTable {
    Keys,
    Secrets,
    Logins,
    Listings,
    LearnedTemplates,
    Priors,
    Lessons,
    Credentials,
}

/// Follows the tables from the first request until the last handle to the store is dropped or the
/// store is closed.
pub(crate) struct ChangeFeed {
    state: Arc<ChangeState>,
    task: OnceLock<AbortHandle>,
}

/// The part of the feed that its task writes.
#[derive(Debug)]
struct ChangeState {
    counts: watch::Sender<ChangeCounts>,
    /// Every change up to this time has been received.
    current_at: Mutex<Option<Instant>>,
}

impl Store {
    /// Follows the tables. A change is received at once on PostgreSQL, and within half a second on
    /// SQLite. Requires a Tokio runtime.
    pub fn watch_changes(&self) -> watch::Receiver<ChangeCounts> {
        self.feed.start(&self.engine);
        self.feed.state.counts.subscribe()
    }
}

impl ChangeFeed {
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::new(ChangeState {
                counts: watch::Sender::default(),
                current_at: Mutex::default(),
            }),
            task: OnceLock::new(),
        }
    }

    pub(crate) fn start(&self, engine: &Engine) {
        self.task
            .get_or_init(|| spawn_follower(engine, &self.state));
    }

    pub(crate) fn stop(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        *lock(&self.state.current_at) = None;
    }

    /// The number of received changes of keys.
    pub(crate) fn key_change_count(&self) -> u64 {
        self.state.counts.borrow().keys
    }

    /// True if every change older than this has been received.
    pub(crate) fn is_current(&self, within: Duration) -> bool {
        let current_at = *lock(&self.state.current_at);
        current_at.is_some_and(|at| at.elapsed() < within)
    }
}

fn spawn_follower(engine: &Engine, state: &Arc<ChangeState>) -> AbortHandle {
    let state = state.clone();
    let task = match engine.clone() {
        Engine::Sqlite(sqlite) => tokio::spawn(sqlite::follow_changes(sqlite, state)),
        Engine::Postgres(postgres) => tokio::spawn(postgres::follow_changes(postgres, state)),
    };
    task.abort_handle()
}

impl Drop for ChangeFeed {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for ChangeFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeFeed").finish_non_exhaustive()
    }
}

impl ChangeState {
    fn count_change(&self, table: WatchedTable) {
        self.counts
            .send_modify(|counts| *counts.counter_mut(table) += 1);
    }

    fn count_all_changes(&self) {
        for table in WatchedTable::ALL {
            self.count_change(table);
        }
    }

    /// Every change before that time has been received.
    fn set_current_at(&self, at: Instant) {
        *lock(&self.current_at) = Some(at);
    }
}

impl ChangeCounts {
    fn counter_mut(&mut self, table: WatchedTable) -> &mut u64 {
        match table {
            WatchedTable::Keys => &mut self.keys,
            WatchedTable::Secrets => &mut self.secrets,
            WatchedTable::Logins => &mut self.logins,
            WatchedTable::Listings => &mut self.listings,
            WatchedTable::LearnedTemplates => &mut self.learned_templates,
            WatchedTable::Priors => &mut self.priors,
            WatchedTable::Lessons => &mut self.lessons,
            WatchedTable::Credentials => &mut self.credentials,
        }
    }
}

impl WatchedTable {
    const ALL: [Self; 8] = [
        Self::Keys,
        Self::Secrets,
        Self::Logins,
        Self::Listings,
        Self::LearnedTemplates,
        Self::Priors,
        Self::Lessons,
        Self::Credentials,
    ];

    fn from_table_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|table| table.table_name() == name)
    }

    fn table_name(self) -> &'static str {
        match self {
            Self::Keys => "api_keys",
            Self::Secrets => "secrets",
            Self::Logins => "logins",
            Self::Listings => "listings",
            Self::LearnedTemplates => "learned_templates",
            Self::Priors => "priors_runs",
            Self::Lessons => "lessons",
            Self::Credentials => "credentials",
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_domain::{Tenant, Timestamp};

    use super::*;
    use crate::test_store::{TestPlace, each_engine};
    use crate::{KeySpec, PriorsRun, Secret, StoredListing, StoredTemplate};

    each_engine!(a_change_of_a_table_is_received_elsewhere_and_others_stay_quiet);

    async fn a_change_of_a_table_is_received_elsewhere_and_others_stay_quiet(place: TestPlace) {
        let (here, elsewhere) = (place.open().await, place.open().await);
        settle(&here, &elsewhere).await;
        let before = *here.watch_changes().borrow();
        let spec = KeySpec::user(Tenant::local());
        let key = elsewhere.create_key(&spec, Timestamp(1)).await.unwrap();
        let after = wait_for_change(&here, |it| it.keys > before.keys).await;
        assert_eq!(
            (after.secrets, after.logins),
            (before.secrets, before.logins)
        );
        elsewhere.revoke_key(&key.id, Timestamp(2)).await.unwrap();
        wait_for_change(&here, |it| it.keys > after.keys).await;

        let (vault, secret) = (elsewhere.vault(None), Secret::new("1"));
        let name = "token".parse().unwrap();
        vault
            .put_secret(&name, &secret, Timestamp(1))
            .await
            .unwrap();
        wait_for_change(&here, |it| it.secrets > before.secrets).await;
        let server = "docs".parse().unwrap();
        vault
            .put_login(&server, &secret, Timestamp(1))
            .await
            .unwrap();
        wait_for_change(&here, |it| it.logins > before.logins).await;
        let mut template = StoredTemplate {
            tenant: Tenant::local(),
            id: "1".to_owned(),
            revision: 0,
            body: "{}".to_owned(),
            updated_at: Timestamp(1),
        };
        for revision in 0..2 {
            template.revision = revision;
            let known = here.watch_changes().borrow().learned_templates;
            assert!(elsewhere.put_learned_template(&template).await.unwrap());
            wait_for_change(&here, |it| it.learned_templates > known).await;
        }
        let known = here.watch_changes().borrow().priors;
        let run = PriorsRun {
            counted_to: 1,
            counted_at: Timestamp(1),
        };
        elsewhere.replace_priors("tools", run, &[]).await.unwrap();
        wait_for_change(&here, |it| it.priors > known).await;
    }

    async fn wait_for_change(
        store: &Store,
        wanted: impl Fn(&ChangeCounts) -> bool,
    ) -> ChangeCounts {
        let mut changes = store.watch_changes();
        let waiting = changes.wait_for(|counts| wanted(counts));
        let found = tokio::time::timeout(Duration::from_secs(5), waiting).await;
        *found.expect("the change is heard of").unwrap()
    }

    /// Waits until the feed follows: listings are written until one is received.
    async fn settle(here: &Store, elsewhere: &Store) {
        let mut changes = here.watch_changes();
        let listing = StoredListing {
            server: "git".parse().unwrap(),
            fingerprint: String::new(),
            body: String::new(),
            listed_at: Timestamp(1),
        };
        loop {
            elsewhere.put_listing(&listing).await.unwrap();
            let heard = tokio::time::timeout(Duration::from_millis(700), changes.changed()).await;
            if heard.is_ok() && changes.borrow().listings > 1 {
                return;
            }
        }
    }
}
