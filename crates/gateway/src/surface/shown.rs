//! What the adaptive surface lists beside the always-on tools: never more than twenty.
//!
//! All, where there are no more. Otherwise first what configuration pinned, then the groups the client enabled, then what it found or
//! used last, then what its credential used most. A modern client's list may depend on its
//! credential and on time alone, so what it finds from call to call does not move it.

use kitbag_domain::Surface;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kitbag_domain::{Caller, Capability, Timestamp};
use kitbag_relevance::MAX_TOP_K;
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Notification};

use super::groups;
use crate::catalog::Entry;
use crate::clock::now;
use crate::fairness::largest_holder;
use crate::gateway::Gateway;
use crate::turn::{Turn, View};
use kitbag_domain::sync::lock;

/// How far back use counts towards the favourites.
const FAVOURED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long favourites are taken as they were, so that a list does not move all the time.
const FAVOURITES_KEPT: Duration = Duration::from_secs(600);
/// Beyond this many clients the longest unseen is forgotten, of the caller who has most.
const MOST_CONTEXTS: usize = 10_000;

/// What is remembered of each client that uses the adaptive surface.
#[derive(Default)]
pub(crate) struct Contexts {
    by_holder: Mutex<HashMap<Holder, Context>>,
    favourites: Mutex<HashMap<Caller, Favourites>>,
}

/// What a credential used most, as it was at one time.
#[derive(Clone)]
struct Favourites {
    tools: Arc<[Capability]>,
    since: Instant,
}

/// Whose list it is: a legacy session's own, or that of everybody with the same credential.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    Session(Arc<str>),
    Credential(Caller),
}

struct Context {
    caller: Caller,
    groups: Vec<String>,
    /// The latest first.
    recent: VecDeque<String>,
    seen: Instant,
}

/// The tools a client's list shows.
pub(crate) async fn listed(turn: &Turn) -> Vec<&Entry> {
    let (caller, catalog) = (turn.caller(), &turn.catalog);
    let visible: Vec<&Entry> = groups::visible(turn).collect();
    // What is built in is there for everybody, so it is listed for those who turn to it.
    let own: Vec<&Entry> = visible
        .iter()
        .copied()
        .filter(|it| !turn.gateway.is_built_in(&it.capability.server))
        .collect();
    let all_own = if own.len() <= MAX_TOP_K {
        own
    } else {
        Vec::new()
    };
    let favourites = favourites(&turn.gateway, caller).await;
    let (groups, recent) = turn.gateway.services.contexts.of(&holder(turn));
    let pinned = visible.iter().copied().filter(|it| {
        turn.gateway
            .surfaces
            .pinned
            .iter()
            .any(|pin| pin.covers(&it.capability))
    });
    let enabled = groups
        .iter()
        .filter_map(|group| groups::tools(turn, group).ok())
        .flatten();
    let recent = recent.iter().filter_map(|name| catalog.tool(name));
    let favoured = favourites.iter().filter_map(|it| {
        visible
            .iter()
            .copied()
            .find(|entry| entry.capability == *it)
    });
    let mut seen = HashSet::new();
    all_own
        .into_iter()
        .chain(pinned)
        .chain(enabled)
        .chain(recent.filter(|it| turn.sees(&it.capability)))
        .chain(favoured)
        .filter(|entry| seen.insert(entry.exposed.as_str()))
        .take(MAX_TOP_K)
        .collect()
}

/// A search came upon these tools.
pub(super) fn found<'a>(turn: &Turn, names: impl DoubleEndedIterator<Item = &'a str>) {
    if moves(turn) {
        change(turn, |context| {
            let mut moved = false;
            for name in names.rev() {
                moved |= context.bring_up(name);
            }
            moved
        });
    }
}

/// A tool was called.
pub(super) fn used(turn: &Turn, name: &str) {
    if moves(turn) && turn.catalog.tool(name).is_some() {
        change(turn, |context| context.bring_up(name));
    }
}

/// The client asked for a group; the latest comes first.
pub(super) fn enable(turn: &Turn, group: &str) {
    change(turn, |context| {
        let first = context.groups.first().is_some_and(|it| it == group);
        context.groups.retain(|it| it != group);
        context.groups.insert(0, group.to_owned());
        context.groups.truncate(MAX_TOP_K);
        !first
    });
}

/// Whether the list follows what the client does.
fn moves(turn: &Turn) -> bool {
    turn.view == View::Merged(Surface::Adaptive) && turn.client.era == Era::Legacy
}

fn change(turn: &Turn, change: impl FnOnce(&mut Context) -> bool) {
    let holder = holder(turn);
    if turn
        .gateway
        .services
        .contexts
        .change(&holder, &turn.client.caller, change)
    {
        announce(turn, &holder);
    }
}

/// Tells everybody who has this list that it is another one now.
fn announce(turn: &Turn, holder: &Holder) {
    let changed = || Message::from(Notification::new(method::TOOLS_CHANGED, None));
    match holder {
        Holder::Session(_) => turn.back.announce(changed()),
        Holder::Credential(caller) => {
            let concerned = |view: &View| *view == View::Merged(Surface::Adaptive);
            for it in turn.gateway.services.sessions.subscribers() {
                if it.caller == *caller && concerned(&it.view) && it.filter().tools {
                    it.mailbox.put(changed());
                }
            }
        }
    }
}

fn holder(turn: &Turn) -> Holder {
    match turn.client.era {
        Era::Legacy => Holder::Session(turn.client.id.clone()),
        Era::Modern => Holder::Credential(turn.client.caller.clone()),
    }
}

/// What the credential used most, as of a few minutes ago.
async fn favourites(gateway: &Gateway, caller: &Caller) -> Arc<[Capability]> {
    let known = lock(&gateway.services.contexts.favourites)
        .get(caller)
        .cloned();
    if let Some(known) = known.filter(Favourites::are_fresh) {
        return known.tools;
    }
    let back = i64::try_from(FAVOURED_FOR.as_millis()).unwrap_or(i64::MAX);
    let since = Timestamp(now().0.saturating_sub(back));
    let fresh: Arc<[Capability]> = match gateway
        .services
        .store
        .favourites(caller, since, MAX_TOP_K)
        .await
    {
        Ok(found) => found.into(),
        Err(error) => {
            tracing::warn!(%error, "what was used most cannot be read");
            Arc::default()
        }
    };
    let mut favourites = lock(&gateway.services.contexts.favourites);
    if favourites.len() >= MOST_CONTEXTS {
        favourites.retain(|_, known| known.are_fresh());
    }
    favourites.insert(
        caller.clone(),
        Favourites {
            tools: fresh.clone(),
            since: Instant::now(),
        },
    );
    fresh
}

impl Contexts {
    fn of(&self, holder: &Holder) -> (Vec<String>, VecDeque<String>) {
        let mut by_holder = lock(&self.by_holder);
        let Some(context) = by_holder.get_mut(holder) else {
            return Default::default();
        };
        context.seen = Instant::now();
        (context.groups.clone(), context.recent.clone())
    }

    /// Changes what is remembered; tells whether that moved anything.
    fn change(
        &self,
        holder: &Holder,
        caller: &Caller,
        change: impl FnOnce(&mut Context) -> bool,
    ) -> bool {
        let mut by_holder = lock(&self.by_holder);
        if by_holder.len() >= MOST_CONTEXTS && !by_holder.contains_key(holder) {
            let payer = largest_holder(by_holder.values().map(|it| (&it.caller, 1)));
            let theirs = by_holder.iter().filter(|(_, it)| Some(&it.caller) == payer);
            let oldest = theirs
                .min_by_key(|(_, it)| it.seen)
                .map(|(it, _)| it.clone());
            oldest.map(|oldest| by_holder.remove(&oldest));
        }
        let context = by_holder
            .entry(holder.clone())
            .or_insert_with(|| Context::new(caller));
        context.seen = Instant::now();
        change(context)
    }
}

impl Favourites {
    fn are_fresh(&self) -> bool {
        self.since.elapsed() < FAVOURITES_KEPT
    }
}

impl Context {
    fn new(caller: &Caller) -> Self {
        Self {
            caller: caller.clone(),
            groups: Vec::new(),
            recent: VecDeque::new(),
            seen: Instant::now(),
        }
    }

    /// Puts a tool first; tells whether it was not among the listed ones before.
    fn bring_up(&mut self, name: &str) -> bool {
        let before = self.recent.len();
        self.recent.retain(|it| it != name);
        let new = self.recent.len() == before;
        self.recent.push_front(name.to_owned());
        self.recent.truncate(MAX_TOP_K);
        new
    }
}
