//! Withholds tools and prompts that differ from their approved definitions.
//!
//! The catalog has no entry for them, so no list and no search shows them; their names lead to an
//! error that states the reason.

use std::sync::Arc;

use kitbag_config::{Lock, ServerLock};
use kitbag_domain::{Capability, Kind};
use kitbag_lockfile::{ListedDefinition, UnapprovedReason};
use kitbag_upstream::{Approval, CallError, Listing, mask_json};
use kitbag_wire::Raw;

use crate::call::CallSubject;
use crate::call::failure::Failure;
use crate::call::resolve::{self, McpTarget};
use crate::catalog::drift::{judge_listing, listed_offer};
use crate::turn::Turn;

/// Rejects a tool or prompt that is not approved. Names that a client invented or remembers are
/// rejected, too: nobody approved a tool that the server does not list.
pub(crate) fn check_approved(
    turn: &Turn,
    subject: &CallSubject,
    capability: &Capability,
) -> Result<(), Failure> {
    if capability.kind == Kind::Resource || !turn.gateway.lock.requires_approval(&capability.server)
    {
        return Ok(());
    }
    let catalog = &turn.catalog;
    match catalog.unapproved.reason(capability).cloned() {
        Some(reason) => Err(unapproved_failure(subject, reason)),
        None if catalog.contains(capability) => Ok(()),
        None => Err(unlisted_failure(turn, subject, capability)),
    }
}

/// Returns the approval required to send a request for a tool or prompt to a locked server. The
/// catalog has the server's last listing, which may have changed by now.
pub(crate) fn approval_for(turn: &Turn, capability: &Capability) -> Option<Approval> {
    let is_named =
        matches!(capability.kind, Kind::Tool | Kind::Prompt) && !capability.name.is_empty();
    let lock = &turn.gateway.lock;
    if !is_named || !lock.requires_approval(&capability.server) {
        return None;
    }
    let judged = turn.catalog.listing(&capability.server).cloned();
    let (gateway, capability) = (turn.gateway.clone(), capability.clone());
    let list = capability.kind;
    let accepts = move |listing: &Arc<Listing>| {
        let is_judged = judged.as_ref().is_some_and(|it| Arc::ptr_eq(it, listing));
        is_judged || unapproved_reason(&gateway.lock, &capability, listing).is_none()
    };
    Some(Approval {
        list,
        max_age: lock.recheck_after,
        accepts: Arc::new(accepts),
    })
}

fn unapproved_reason(
    lock: &Lock,
    capability: &Capability,
    listing: &Listing,
) -> Option<UnapprovedReason> {
    let judgement = judge_listing(lock, &capability.server, listing);
    judgement.reason_for(listed_offer(listing), capability)
}

/// Returns the error for a request that was not sent because the server's current definition is
/// unapproved or unknown.
pub(crate) fn explain_failure(
    turn: &Turn,
    target: &McpTarget,
    capability: &Capability,
    failure: Failure,
) -> Failure {
    let reason = match &failure {
        Failure::Upstream(CallError::Unapproved { .. }) => {
            let listing = target.server.listing();
            let reason =
                listing.and_then(|it| unapproved_reason(&turn.gateway.lock, capability, &it));
            reason.unwrap_or(UnapprovedReason::Changed)
        }
        Failure::Upstream(CallError::Unlisted { .. }) => UnapprovedReason::NotCompared,
        _ => return failure,
    };
    unapproved_failure(&target.subject, reason)
}

fn unapproved_failure(subject: &CallSubject, reason: UnapprovedReason) -> Failure {
    let (kind, name) = subject.kind_and_name();
    let name = name.to_owned();
    Failure::Unapproved { kind, name, reason }
}

/// A caller with a key must not be able to distinguish hidden from unlisted capabilities.
fn unlisted_failure(turn: &Turn, subject: &CallSubject, capability: &Capability) -> Failure {
    let server = turn.gateway.upstreams.get(&capability.server);
    if server.is_some_and(|server| server.listing().is_none()) {
        return match server.and_then(|server| server.start_problem()) {
            Some(trouble) => CallError::Start((*trouble).clone()).into(),
            None => unapproved_failure(subject, UnapprovedReason::NotListedYet),
        };
    }
    match turn.caller().is_local() {
        true => unapproved_failure(subject, UnapprovedReason::Unlisted),
        false => resolve::unknown(turn, subject),
    }
}

/// Returns the error for a tool that the catalog omitted, if the caller may know of it.
pub(crate) fn unapproved_tool(turn: &Turn, exposed: &str) -> Option<Failure> {
    let unapproved = &turn.catalog.unapproved;
    failure_if_visible(turn, exposed, unapproved.tool(exposed)?)
}

pub(crate) fn unapproved_prompt(turn: &Turn, exposed: &str) -> Option<Failure> {
    let unapproved = &turn.catalog.unapproved;
    failure_if_visible(turn, exposed, unapproved.prompt(exposed)?)
}

fn failure_if_visible(turn: &Turn, exposed: &str, capability: &Capability) -> Option<Failure> {
    let reason = turn.catalog.unapproved.reason(capability)?;
    turn.can_see(capability).then(|| Failure::Unapproved {
        kind: capability.kind,
        name: exposed.to_owned(),
        reason: reason.clone(),
    })
}

/// True for an unapproved entry of a list that a server has just returned. If the catalog considers
/// it approved, the server has changed it since, and is listed again.
pub(crate) fn is_unapproved_entry(turn: &Turn, capability: &Capability, entry: &Raw) -> bool {
    let is_unapproved = !is_approved_entry(turn, capability, entry);
    if is_unapproved
        && turn.catalog.unapproved.reason(capability).is_none()
        && let Some(server) = turn.gateway.upstreams.get(&capability.server)
    {
        server.mark_lists_doubtful();
    }
    is_unapproved
}

fn is_approved_entry(turn: &Turn, capability: &Capability, entry: &Raw) -> bool {
    let Capability { server, kind, .. } = capability;
    if *kind == Kind::Resource || !turn.gateway.lock.requires_approval(server) {
        return true;
    }
    match (
        turn.gateway.lock.server_lock(server),
        listed_definition(turn, capability, entry),
    ) {
        (ServerLock::Locked(locked), Some(listed)) => locked.is_approved(&listed),
        _ => false,
    }
}

/// Returns the entry's definition as the lock file stores it: masked, with the hash from before
/// masking.
fn listed_definition(
    turn: &Turn,
    capability: &Capability,
    entry: &Raw,
) -> Option<ListedDefinition> {
    let listed = ListedDefinition::parse(capability.kind, entry)?;
    let server = turn.gateway.upstreams.get(&capability.server)?;
    match mask_json(entry, &server.secrets()) {
        None => Some(listed),
        Some(masked) => Some(ListedDefinition {
            unmasked: Some(listed.hash),
            ..ListedDefinition::parse(capability.kind, &masked)?
        }),
    }
}
