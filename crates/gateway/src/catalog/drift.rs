//! Compares servers' lists with the lock file, and logs each difference once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use kitbag_config::{Lock, LockState, OnDrift, ServerLock};
use kitbag_domain::sync::lock;
use kitbag_domain::text::strip_to_one_line;
use kitbag_domain::{DefinitionKind, ExposedName, ServerName};
use kitbag_lockfile::{
    Drift, DriftedDefinition, Judgement, ListedDefinition, ListedOffer, ReportedDrift,
    UnapprovedEntries, UnapprovedReason,
};
use kitbag_store::ApprovedDefinition;
use kitbag_upstream::Listing;
use kitbag_wire::Raw;

use crate::state::clock::now;

/// Decides for each entry of a server's lists whether callers may use it.
pub(crate) fn judge_listing(lock: &Lock, server: &ServerName, listing: &Listing) -> Judgement {
    let offer = listed_offer(listing);
    let judgement = match lock.server_lock(server) {
        ServerLock::Unlocked => return Judgement::default(),
        ServerLock::Locked(locked) => Judgement::against_lock(locked, offer),
        ServerLock::Unreadable => {
            Judgement::of_nothing_approved(&UnapprovedReason::UnreadableLock, offer)
        }
    };
    match lock.requires_approval(server) {
        true => judgement,
        false => judgement.only_reported(),
    }
}

pub(crate) fn listed_offer(listing: &Listing) -> ListedOffer<'_> {
    ListedOffer {
        tools: &listing.tools,
        prompts: &listing.prompts,
        resource_templates: &listing.templates,
        skills: &listing.skills,
        resources: &listing.resources,
        unmasked: &listing.unmasked,
    }
}

/// Returns the hash that identifies a definition in the lock file.
pub(crate) fn hash_definition(kind: DefinitionKind, definition: &Raw) -> Option<String> {
    Some(ListedDefinition::parse(kind, definition)?.hash.to_string())
}

/// Returns the lock-file row for a definition approved now.
pub fn approved_definition(listed: ListedDefinition) -> ApprovedDefinition {
    ApprovedDefinition {
        hash: *listed.hash.as_bytes(),
        body: listed.text,
        approved_at: now(),
    }
}

/// Logs drift in a serving gateway. A command prints drift itself.
#[derive(Debug, Default)]
pub(crate) struct DriftLog {
    is_on: AtomicBool,
    logged: Mutex<ReportedDrift>,
}

/// The most changes logged one by one; an updated server may change everything.
const MAX_LOGGED: usize = 20;

impl DriftLog {
    pub(crate) fn enable(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn log_drift(&self, policy: &Lock, unapproved: &UnapprovedEntries) {
        if !self.is_on.load(Ordering::Relaxed) {
            return;
        }
        let mut logged_drift = lock(&self.logged);
        let unreadable = match &policy.state {
            LockState::Unreadable(error) => Some(error.to_string()),
            LockState::Absent | LockState::Read(_) => None,
        };
        if let Some(error) = logged_drift.take_new_problem(unreadable) {
            let follows = match policy.on_drift {
                OnDrift::Hold => "everything that servers list is unapproved",
                OnDrift::Report => "definitions cannot be compared with the approved ones",
            };
            let remedy = "fix the file, or remove it and run `kitbag lock`";
            tracing::error!(remedy, "{error}; {follows}");
        }
        for (server, news) in logged_drift.take_new(&unapproved.drifted) {
            log_server_drift(policy.on_drift, server, &news);
        }
    }
}

fn log_server_drift(on_drift: OnDrift, server: &ServerName, fresh: &[&DriftedDefinition]) {
    for it in fresh.iter().take(MAX_LOGGED) {
        log_definition_drift(on_drift, server, it);
    }
    if fresh.len() > MAX_LOGGED {
        let more = fresh.len() - MAX_LOGGED;
        let remedy = format!("list all with `kitbag lock diff {server}`");
        tracing::warn!(%server, more, remedy, "further definitions differ from the approved ones");
    }
}

fn log_definition_drift(on_drift: OnDrift, server: &ServerName, drifted: &DriftedDefinition) {
    let (kind, name) = (drifted.kind.as_str(), strip_to_one_line(&drifted.name));
    // A URI is not typed as it is: its server chose it, and a shell may read it as a command.
    let exposed = match drifted.kind.has_uri() {
        true => server.to_string(),
        false => ExposedName::new(server, &drifted.name).to_string(),
    };
    let remedy = format!(
        "review it with `kitbag lock diff {exposed}`, then run `kitbag lock approve {exposed}`"
    );
    match (&drifted.drift, on_drift) {
        (Drift::Gone, _) => {
            tracing::info!(%server, remedy, "the approved {kind} `{name}` is no longer listed");
        }
        (drift, OnDrift::Hold) => {
            let drift = drift.as_str();
            tracing::warn!(%server, drift, remedy, "the {kind} `{name}` is unapproved: it differs from its approved definition");
        }
        (drift, OnDrift::Report) => {
            let drift = drift.as_str();
            tracing::warn!(%server, drift, remedy, "the {kind} `{name}` differs from its approved definition");
        }
    }
}
