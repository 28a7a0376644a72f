//! The memory of each client on the adaptive surface: the tools it found and used, the groups it
//! enabled, and the favourites of its credential.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::sync::lock;
use kitbag_domain::{Caller, Capability, Timestamp};
use kitbag_relevance::MAX_TOP_K;
use kitbag_store::Store;

use crate::clock::now;
use crate::fairness::entry_to_drop;

/// The time for which the use of a tool counts towards the favourites.
const FAVOURED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// The time for which favourites stay as they are, so that a list does not change all the time.
const FAVOURITES_KEPT: Duration = Duration::from_secs(600);
/// Beyond this many clients, the gateway forgets the longest unseen client of the caller who has
/// most.
const MOST_CONTEXTS: usize = 10_000;

/// The memory of each client that uses the adaptive surface.
#[derive(Default)]
pub(crate) struct Contexts {
    by_holder: Mutex<HashMap<ListHolder, ClientContext>>,
    favourites: Mutex<HashMap<Caller, Favourites>>,
}

/// The tools that a credential used most, as of one time.
#[derive(Clone)]
struct Favourites {
    tools: Arc<[Capability]>,
    since: Instant,
}

/// The holder of a list: a legacy session, or all clients with the same credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ListHolder {
    Session(Arc<str>),
    Credential(Caller),
}

pub(crate) struct ClientContext {
    caller: Caller,
    groups: Vec<String>,
    /// The latest first.
    recent: VecDeque<String>,
    seen: Instant,
}

impl Contexts {
    /// The tools that a credential used most, as of a few minutes ago.
    pub(crate) async fn favourites(&self, store: &Store, caller: &Caller) -> Arc<[Capability]> {
        let known = lock(&self.favourites).get(caller).cloned();
        if let Some(known) = known.filter(Favourites::are_fresh) {
            return known.tools;
        }
        let tools = read_favourites(store, caller).await;
        let fresh = Favourites {
            tools: tools.clone(),
            since: Instant::now(),
        };
        let mut favourites = lock(&self.favourites);
        if favourites.len() >= MOST_CONTEXTS {
            favourites.retain(|_, known| known.are_fresh());
        }
        favourites.insert(caller.clone(), fresh);
        tools
    }

    pub(crate) fn of(&self, holder: &ListHolder) -> (Vec<String>, VecDeque<String>) {
        let mut by_holder = lock(&self.by_holder);
        let Some(context) = by_holder.get_mut(holder) else {
            return Default::default();
        };
        context.seen = Instant::now();
        (context.groups.clone(), context.recent.clone())
    }

    /// Changes the memory; true if that moved anything.
    pub(crate) fn change(
        &self,
        holder: &ListHolder,
        caller: &Caller,
        change: impl FnOnce(&mut ClientContext) -> bool,
    ) -> bool {
        let mut by_holder = lock(&self.by_holder);
        if by_holder.len() >= MOST_CONTEXTS && !by_holder.contains_key(holder) {
            let entries = by_holder.iter().map(|(id, it)| (id, &it.caller, it.seen));
            let dropped = entry_to_drop(entries).cloned();
            dropped.map(|holder| by_holder.remove(&holder));
        }
        let context = by_holder
            .entry(holder.clone())
            .or_insert_with(|| ClientContext::new(caller));
        context.seen = Instant::now();
        change(context)
    }
}

async fn read_favourites(store: &Store, caller: &Caller) -> Arc<[Capability]> {
    let back = i64::try_from(FAVOURED_FOR.as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp(now().0.saturating_sub(back));
    match store.favourites(caller, since, MAX_TOP_K).await {
        Ok(found) => found.into(),
        Err(error) => {
            tracing::warn!(%error, "the tools that were used most cannot be read");
            Arc::default()
        }
    }
}

impl Favourites {
    fn are_fresh(&self) -> bool {
        self.since.elapsed() < FAVOURITES_KEPT
    }
}

impl ClientContext {
    fn new(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            groups: Vec::new(),
            recent: VecDeque::new(),
            seen: Instant::now(),
        }
    }

    /// Puts a tool first; true if it was not among the listed ones before.
    pub(crate) fn bring_up(&mut self, name: &str) -> bool {
        let before = self.recent.len();
        self.recent.retain(|it| it != name);
        let new = self.recent.len() == before;
        self.recent.push_front(name.to_owned());
        self.recent.truncate(MAX_TOP_K);
        new
    }

    /// Puts a group first; true if it was not first before.
    pub(crate) fn enable_group(&mut self, group: &str) -> bool {
        let was_first = self.groups.first().is_some_and(|first| first == group);
        self.groups.retain(|enabled| enabled != group);
        self.groups.insert(0, group.to_owned());
        self.groups.truncate(MAX_TOP_K);
        !was_first
    }
}
