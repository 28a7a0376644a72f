//! Each client's state on the adaptive surface: the tools it last found and used, and the groups it
//! enabled.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::Caller;
use kitbag_domain::sync::lock;
use kitbag_relevance::MAX_TOP_K;

use kitbag_domain::fairness::entry_to_evict;

/// How long favourites stay unchanged, so that a list does not change all the time.
const FAVOURITES_CACHE_TIME: Duration = Duration::from_secs(600);
/// Above this many clients, the least recently seen client of the caller with the most clients is
/// dropped.
const MOST_LISTS: usize = 10_000;

/// The state of each client that uses the adaptive surface.
#[derive(Default)]
pub(crate) struct ClientLists {
    by_holder: Mutex<HashMap<ListHolder, ClientList>>,
    favourites: Mutex<HashMap<Caller, ListedFavourites>>,
}

/// The tools that a credential used most, at one time.
#[derive(Debug, Clone)]
pub(crate) struct ListedFavourites {
    pub(crate) tools: Arc<[String]>,
    /// How many of them are enough for the credential, once that is known.
    pub(crate) enough: Option<usize>,
    since: Instant,
}

/// The owner of a list: a legacy session, or all clients with the same credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ListHolder {
    Session(Arc<str>),
    Credential(Caller),
}

pub(crate) struct ClientList {
    caller: Caller,
    groups: Vec<String>,
    /// Latest first.
    recent: VecDeque<String>,
    seen: Instant,
}

impl ClientLists {
    /// Returns the tools that a credential used most, as of a few minutes ago.
    pub(crate) fn favourites(
        &self,
        caller: &Caller,
        fresh: impl FnOnce() -> ListedFavourites,
    ) -> ListedFavourites {
        let mut favourites = lock(&self.favourites);
        if let Some(known) = favourites.get(caller).filter(|it| it.are_fresh()) {
            return known.clone();
        }
        if favourites.len() >= MOST_LISTS {
            favourites.retain(|_, known| known.are_fresh());
        }
        let fresh = fresh();
        favourites.insert(caller.clone(), fresh.clone());
        fresh
    }

    pub(crate) fn list_for(&self, holder: &ListHolder) -> (Vec<String>, VecDeque<String>) {
        let mut by_holder = lock(&self.by_holder);
        let Some(list) = by_holder.get_mut(holder) else {
            return Default::default();
        };
        list.seen = Instant::now();
        (list.groups.clone(), list.recent.clone())
    }

    /// Changes the state; true if the list has changed.
    pub(crate) fn change_list(
        &self,
        holder: &ListHolder,
        caller: &Caller,
        change: impl FnOnce(&mut ClientList) -> bool,
    ) -> bool {
        let mut by_holder = lock(&self.by_holder);
        if by_holder.len() >= MOST_LISTS && !by_holder.contains_key(holder) {
            let entries = by_holder.iter().map(|(id, it)| (id, &it.caller, it.seen));
            let dropped = entry_to_evict(entries).cloned();
            dropped.map(|holder| by_holder.remove(&holder));
        }
        let list = by_holder
            .entry(holder.clone())
            .or_insert_with(|| ClientList::new(caller));
        list.seen = Instant::now();
        change(list)
    }
}

impl ListedFavourites {
    pub(crate) fn new(tools: Arc<[String]>, enough: Option<usize>) -> Self {
        Self {
            tools,
            enough,
            since: Instant::now(),
        }
    }

    fn are_fresh(&self) -> bool {
        self.since.elapsed() < FAVOURITES_CACHE_TIME
    }
}

impl ClientList {
    fn new(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            groups: Vec::new(),
            recent: VecDeque::new(),
            seen: Instant::now(),
        }
    }

    /// Moves a tool to the front; true if it was not listed before.
    pub(crate) fn move_to_front(&mut self, name: &str) -> bool {
        let before = self.recent.len();
        self.recent.retain(|it| it != name);
        let new = self.recent.len() == before;
        self.recent.push_front(name.to_owned());
        self.recent.truncate(MAX_TOP_K);
        new
    }

    /// Moves a group to the front; true if it was not first before.
    pub(crate) fn enable_group(&mut self, group: &str) -> bool {
        let was_first = self.groups.first().is_some_and(|first| first == group);
        self.groups.retain(|enabled| enabled != group);
        self.groups.insert(0, group.to_owned());
        self.groups.truncate(MAX_TOP_K);
        !was_first
    }
}
