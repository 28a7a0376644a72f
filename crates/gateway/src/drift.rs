//! Compares what servers list with what a person approved, for the catalog, and tells the operator.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::now;
use crate::gateway::Gateway;
use kitbag_config::{Lock, LockState, OnDrift, ServerLock};
use kitbag_domain::sync::lock;
use kitbag_domain::text::visible_line;
use kitbag_domain::{Capability, ExposedName, Kind, ServerName};
use kitbag_lockfile::{
    DefinitionHash, Drift, DriftedDefinition, HeldReason, ListedDefinition, LockedServer,
};
use kitbag_store::ApprovedDefinition;
use kitbag_upstream::Listing;
use kitbag_wire::{Raw, RawObject};

/// Everything that a catalog leaves out, and all drift that there is, held back or not.
#[derive(Debug, Default)]
pub(crate) struct HeldEntries {
    entries: HashMap<Capability, HeldReason>,
    /// By the names that clients would use.
    tools: HashMap<String, Capability>,
    prompts: HashMap<String, Capability>,
    pub(crate) drifted: BTreeMap<ServerName, Vec<DriftedDefinition>>,
}

impl HeldEntries {
    pub(crate) fn add(&mut self, capability: Capability, exposed: String, reason: HeldReason) {
        let names = match capability.kind {
            Kind::Prompt => &mut self.prompts,
            Kind::Tool | Kind::Resource => &mut self.tools,
        };
        names.insert(exposed, capability.clone());
        self.entries.insert(capability, reason);
    }

    pub(crate) fn tool(&self, exposed: &str) -> Option<&Capability> {
        self.tools.get(exposed)
    }

    pub(crate) fn prompt(&self, exposed: &str) -> Option<&Capability> {
        self.prompts.get(exposed)
    }

    pub(crate) fn reason(&self, capability: &Capability) -> Option<&HeldReason> {
        self.entries.get(capability)
    }

    pub(crate) fn of_server(&self, server: &ServerName) -> impl Iterator<Item = &Capability> {
        let all = self.entries.keys();
        all.filter(move |capability| capability.server == *server)
    }

    /// The number of things that are held back, of each server that has any.
    pub(crate) fn counts(&self) -> BTreeMap<&ServerName, usize> {
        let mut counts = BTreeMap::new();
        for capability in self.entries.keys() {
            *counts.entry(&capability.server).or_default() += 1;
        }
        counts
    }
}

/// What the lock says of one server's lists.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// The reasons to hold back each tool, in the order of the list; nothing for what passes.
    pub(crate) tools: Vec<Option<HeldReason>>,
    pub(crate) prompts: Vec<Option<HeldReason>>,
    pub(crate) drifted: Vec<DriftedDefinition>,
}

impl Judgement {
    pub(crate) fn of(lock: &Lock, server: &ServerName, listing: &Listing) -> Self {
        let mut judgement = match lock.of(server) {
            ServerLock::Free => Self::default(),
            ServerLock::Locked(locked) => Self::by(locked, listing),
            ServerLock::Unreadable => Self {
                tools: vec![Some(HeldReason::UnreadableLock); listing.tools.len()],
                prompts: vec![Some(HeldReason::UnreadableLock); listing.prompts.len()],
                drifted: Vec::new(),
            },
        };
        if !lock.holds(server) {
            judgement.tools.clear();
            judgement.prompts.clear();
        }
        // Nothing is said of what passes.
        judgement.tools.resize(listing.tools.len(), None);
        judgement.prompts.resize(listing.prompts.len(), None);
        judgement
    }

    /// The reason to hold back a tool or prompt of the list that was judged.
    pub(crate) fn reason(&self, listing: &Listing, capability: &Capability) -> Option<HeldReason> {
        let (definitions, reasons) = match capability.kind {
            Kind::Tool => (&listing.tools, &self.tools),
            Kind::Prompt => (&listing.prompts, &self.prompts),
            Kind::Resource => return None,
        };
        let mut named = definitions
            .iter()
            .zip(reasons)
            .filter(|(definition, _)| is_named(definition, &capability.name));
        match named.next() {
            Some((_, reason)) => reason.clone(),
            None => Some(HeldReason::Unlisted),
        }
    }

    fn by(locked: &LockedServer, listing: &Listing) -> Self {
        let tools = read(Kind::Tool, &listing.tools);
        let prompts = read(Kind::Prompt, &listing.prompts);
        let listed: Vec<_> = tools.iter().chain(&prompts).flatten().cloned().collect();
        let drifted = locked.drift(&listed);
        let reasons: HashMap<(Kind, &str), HeldReason> = drifted
            .iter()
            .filter_map(|it| Some(((it.kind, it.name.as_str()), HeldReason::of(&it.drift)?)))
            .collect();
        Self {
            tools: judged(locked, &reasons, &tools),
            prompts: judged(locked, &reasons, &prompts),
            drifted,
        }
    }
}

/// Returns every tool and prompt that a server lists, as the lock file knows it.
pub fn listed_definitions(listing: &Listing) -> Vec<ListedDefinition> {
    let tools = read(Kind::Tool, &listing.tools);
    let prompts = read(Kind::Prompt, &listing.prompts);
    tools.into_iter().chain(prompts).flatten().collect()
}

fn is_named(definition: &Raw, name: &str) -> bool {
    let own = RawObject::peek(definition, "name");
    own.and_then(|own| serde_json::from_str::<String>(own.get()).ok())
        .is_some_and(|own| own == name)
}

fn read(kind: Kind, definitions: &[Raw]) -> Vec<Option<ListedDefinition>> {
    let definitions = definitions.iter();
    definitions
        .map(|it| ListedDefinition::read(kind, it))
        .collect()
}

fn judged(
    locked: &LockedServer,
    reasons: &HashMap<(Kind, &str), HeldReason>,
    listed: &[Option<ListedDefinition>],
) -> Vec<Option<HeldReason>> {
    let listed = listed.iter().map(|it| {
        let it = it.as_ref().filter(|it| !locked.is_approved(it))?;
        // Of a name that is listed twice, the second is another definition than the approved one.
        let reason = reasons.get(&(it.kind, it.name.as_str()));
        Some(reason.cloned().unwrap_or(HeldReason::Changed))
    });
    listed.collect()
}

/// Keeps the texts of what was approved, also on a machine where a person did not approve it: a later
/// change can then be shown there, too.
pub(crate) async fn keep_approved(gateway: &Gateway, server: &ServerName, listing: &Listing) {
    let ServerLock::Locked(locked) = gateway.lock.of(server) else {
        return;
    };
    let approved = listed_definitions(listing);
    let approved = approved.into_iter().filter(|it| locked.is_approved(it));
    let approved: Vec<_> = approved.map(approved_definition).collect();
    if let Err(error) = gateway.services.store.put_approved(&approved).await {
        tracing::warn!(%server, %error, "the approved definitions could not be kept");
    }
}

/// Returns the row of a definition that is approved now.
pub fn approved_definition(listed: ListedDefinition) -> ApprovedDefinition {
    ApprovedDefinition {
        hash: *listed.hash.as_bytes(),
        body: listed.text,
        approved_at: now(),
    }
}

/// The drift that the log has told, so that each change is told once.
#[derive(Debug, Default)]
pub(crate) struct ToldDrift {
    /// True in a gateway that serves. A command tells its person in words of its own.
    is_on: AtomicBool,
    definitions: Mutex<HashMap<(ServerName, Kind, String), Option<DefinitionHash>>>,
    unreadable: Mutex<Option<String>>,
}

/// Changes told one by one; a server that was updated may change all it has.
const MOST_TOLD: usize = 20;

impl ToldDrift {
    /// Begins to tell.
    pub(crate) fn switch_on(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Tells the operator of drift that was not told yet.
    pub(crate) fn tell(&self, policy: &Lock, held: &HeldEntries) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        self.tell_unreadable(policy);
        let mut now = HashMap::new();
        for (server, drifted) in &held.drifted {
            for it in drifted {
                now.insert((server.clone(), it.kind, it.name.clone()), it.hash);
            }
        }
        let before = std::mem::replace(&mut *lock(&self.definitions), now);
        for (server, drifted) in &held.drifted {
            let is_new = |it: &&DriftedDefinition| {
                let key = (server.clone(), it.kind, it.name.clone());
                before.get(&key) != Some(&it.hash)
            };
            let fresh: Vec<_> = drifted.iter().filter(is_new).collect();
            tell_of_server(policy.on_drift, server, &fresh);
        }
    }

    fn tell_unreadable(&self, policy: &Lock) {
        let now = match &policy.state {
            LockState::Unreadable(error) => Some(error.to_string()),
            LockState::Absent | LockState::Read(_) => None,
        };
        let before = std::mem::replace(&mut *lock(&self.unreadable), now.clone());
        if let Some(error) = now.filter(|now| before.as_ref() != Some(now)) {
            let follows = match policy.on_drift {
                OnDrift::Hold => "the tools and prompts of all servers are held back",
                OnDrift::Report => "nothing can be compared with what was approved",
            };
            let remedy = "mend the file, or remove it and run `kitbag lock`";
            tracing::error!(remedy, "{error}; {follows}");
        }
    }
}

fn tell_of_server(on_drift: OnDrift, server: &ServerName, fresh: &[&DriftedDefinition]) {
    for it in fresh.iter().take(MOST_TOLD) {
        tell_of(on_drift, server, it);
    }
    if fresh.len() > MOST_TOLD {
        let more = fresh.len() - MOST_TOLD;
        let remedy = format!("see all with `kitbag lock diff {server}`");
        tracing::warn!(%server, more, remedy, "further definitions are not as they were approved");
    }
}

fn tell_of(on_drift: OnDrift, server: &ServerName, drifted: &DriftedDefinition) {
    let (kind, name) = (drifted.kind.as_str(), visible_line(&drifted.name));
    let exposed = ExposedName::new(server, &drifted.name);
    let remedy = format!(
        "look at it with `kitbag lock diff {exposed}`, then `kitbag lock approve {exposed}`"
    );
    match (&drifted.drift, on_drift) {
        (Drift::Gone, _) => {
            tracing::info!(%server, remedy, "the approved {kind} `{name}` is no longer listed");
        }
        (drift, OnDrift::Hold) => {
            let drift = drift.as_str();
            tracing::warn!(%server, drift, remedy, "the {kind} `{name}` is held back: it is not as it was approved");
        }
        (drift, OnDrift::Report) => {
            let drift = drift.as_str();
            tracing::warn!(%server, drift, remedy, "the {kind} `{name}` is not as it was approved");
        }
    }
}
