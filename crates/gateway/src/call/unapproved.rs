//! Keeps tools and prompts from callers that are not as a person approved them.
//!
//! The catalog has no entry of them, so that no list and no search shows one; the names lead here
//! instead, so that a caller reads why.

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

/// Refuses a tool or prompt that is not as it was approved. Names that a client made up or remembers
/// are refused, too: no person approved what a server does not list.
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

/// Returns the judgement without which no request for a tool or prompt of a locked server is sent.
/// The catalog shows what the server listed last; by now it may list something else.
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
    let of = move |listing: &Arc<Listing>| {
        let is_judged = judged.as_ref().is_some_and(|it| Arc::ptr_eq(it, listing));
        is_judged || unapproved_reason(&gateway.lock, &capability, listing).is_none()
    };
    Some(Approval {
        list,
        longest: lock.recheck_after,
        accepts: Arc::new(of),
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

/// Returns the refusal for a request that was not sent because what the server lists is not approved
/// or not known.
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

/// A caller with a key must not be able to tell what rules hide from what a server does not list.
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

/// The refusal for a tool that the catalog left out, if the caller may know of it.
pub(crate) fn unapproved_tool(turn: &Turn, exposed: &str) -> Option<Failure> {
    let held = &turn.catalog.unapproved;
    failure_if_visible(turn, exposed, held.tool(exposed)?)
}

pub(crate) fn unapproved_prompt(turn: &Turn, exposed: &str) -> Option<Failure> {
    let held = &turn.catalog.unapproved;
    failure_if_visible(turn, exposed, held.prompt(exposed)?)
}

fn failure_if_visible(turn: &Turn, exposed: &str, capability: &Capability) -> Option<Failure> {
    let reason = turn.catalog.unapproved.reason(capability)?;
    turn.can_see(capability).then(|| Failure::Unapproved {
        kind: capability.kind,
        name: exposed.to_owned(),
        reason: reason.clone(),
    })
}

/// True for an entry of a list that a server has just given and that is not approved. If the catalog
/// took it for approved, the server has changed it since, and is listed again.
pub(crate) fn is_unapproved_entry(turn: &Turn, capability: &Capability, entry: &Raw) -> bool {
    let is_held = !is_approved_entry(turn, capability, entry);
    if is_held
        && turn.catalog.unapproved.reason(capability).is_none()
        && let Some(server) = turn.gateway.upstreams.get(&capability.server)
    {
        server.mark_lists_doubtful();
    }
    is_held
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

/// Reads an entry to the letter as the lock file knows it: without secrets, or from before they were
/// masked.
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
