//! Keeps tools and prompts from callers that are not as a person approved them.
//!
//! The catalog has no entry of them, so that no list and no search shows one; the names lead here
//! instead, so that a caller reads why.

use std::sync::Arc;

use kitbag_config::ServerLock;
use kitbag_domain::{Capability, Kind};
use kitbag_lockfile::{HeldReason, ListedDefinition};
use kitbag_upstream::{CallError, CurrentLists, Listing};
use kitbag_wire::Raw;

use crate::announce::Changes;
use crate::call::CallSubject;
use crate::drift::{judge, offer};
use crate::failure::Failure;
use crate::resolve::{self, McpTarget};
use crate::turn::Turn;

/// Refuses a tool or prompt that is not as it was approved. Names that a client made up or remembers
/// are refused, too: no person approved what a server does not list.
pub(crate) fn permit(
    turn: &Turn,
    subject: &CallSubject,
    capability: &Capability,
) -> Result<(), Failure> {
    if capability.kind == Kind::Resource || !turn.gateway.lock.holds(&capability.server) {
        return Ok(());
    }
    let catalog = &turn.catalog;
    match catalog.held.reason(capability).cloned() {
        Some(reason) => Err(refusal(subject, reason)),
        None if catalog.has(capability) => still_listed(turn, subject, capability),
        None => Err(unlisted(turn, subject, capability)),
    }
}

/// A program may run for longer than the catalog that it began with holds.
fn still_listed(
    turn: &Turn,
    subject: &CallSubject,
    capability: &Capability,
) -> Result<(), Failure> {
    let server = turn.gateway.upstreams.get(&capability.server);
    let listing = server
        .filter(|_| turn.run.is_some())
        .and_then(|it| it.listing());
    match listing.and_then(|listing| reason_in(turn, capability, &listing)) {
        Some(reason) => Err(refusal(subject, reason)),
        None => Ok(()),
    }
}

fn reason_in(turn: &Turn, capability: &Capability, listing: &Listing) -> Option<HeldReason> {
    let judgement = judge(&turn.gateway.lock, &capability.server, listing);
    judgement.reason(offer(listing), capability)
}

/// Looks once more at a server whose lists are not those that the catalog was built of: its program
/// may be another one since, and then a model has read a definition that no longer holds.
pub(crate) async fn still_approved(
    turn: &Turn,
    target: &McpTarget,
    capability: &Capability,
) -> Result<(), Failure> {
    let is_named =
        matches!(capability.kind, Kind::Tool | Kind::Prompt) && !capability.name.is_empty();
    if !is_named || !turn.gateway.lock.holds(&capability.server) {
        return Ok(());
    }
    let judged = turn.catalog.listing(&capability.server);
    let listing = current_listing(target, judged).await?;
    if judged.is_some_and(|judged| Arc::ptr_eq(judged, &listing)) {
        return Ok(());
    }
    match reason_in(turn, capability, &listing) {
        Some(reason) => Err(refusal(&target.subject, reason)),
        None => Ok(()),
    }
}

/// Returns the lists of the program that runs. Other lists than were judged go into the catalog, too.
async fn current_listing(
    target: &McpTarget,
    judged: Option<&Arc<Listing>>,
) -> Result<Arc<Listing>, Failure> {
    let listing = match Box::pin(target.server.current_lists()).await? {
        CurrentLists::Known(listing) => return Ok(listing),
        CurrentLists::ReadNow(listing) => listing,
    };
    if judged.is_none_or(|judged| Changes::between(Some(judged), &listing).any()) {
        target.server.doubt_lists();
    }
    Ok(listing)
}

fn refusal(subject: &CallSubject, reason: HeldReason) -> Failure {
    let (kind, name) = subject.kind_and_name();
    let name = name.to_owned();
    Failure::Held { kind, name, reason }
}

/// A caller with a key must not be able to tell what rules hide from what a server does not list.
fn unlisted(turn: &Turn, subject: &CallSubject, capability: &Capability) -> Failure {
    let server = turn.gateway.upstreams.get(&capability.server);
    if server.is_some_and(|server| server.listing().is_none()) {
        return match server.and_then(|server| server.trouble()) {
            Some(trouble) => CallError::Start((*trouble).clone()).into(),
            None => refusal(subject, HeldReason::NotListedYet),
        };
    }
    match turn.caller().is_local() {
        true => refusal(subject, HeldReason::Unlisted),
        false => resolve::unknown(turn, subject),
    }
}

/// The refusal for a tool that the catalog left out, if the caller may know of it.
pub(crate) fn held_tool(turn: &Turn, exposed: &str) -> Option<Failure> {
    let held = &turn.catalog.held;
    told(turn, exposed, held.tool(exposed)?)
}

pub(crate) fn held_prompt(turn: &Turn, exposed: &str) -> Option<Failure> {
    let held = &turn.catalog.held;
    told(turn, exposed, held.prompt(exposed)?)
}

fn told(turn: &Turn, exposed: &str, capability: &Capability) -> Option<Failure> {
    let reason = turn.catalog.held.reason(capability)?;
    turn.sees(capability).then(|| Failure::Held {
        kind: capability.kind,
        name: exposed.to_owned(),
        reason: reason.clone(),
    })
}

/// True for an entry of a list that a server has just given and that is not approved. If the catalog
/// took it for approved, the server has changed it since, and is listed again.
pub(crate) fn is_held_entry(turn: &Turn, capability: &Capability, entry: &Raw) -> bool {
    let is_held = !is_approved_entry(turn, capability, entry);
    if is_held
        && turn.catalog.held.reason(capability).is_none()
        && let Some(server) = turn.gateway.upstreams.get(&capability.server)
    {
        server.doubt_lists();
    }
    is_held
}

fn is_approved_entry(turn: &Turn, capability: &Capability, entry: &Raw) -> bool {
    let Capability { server, kind, .. } = capability;
    if *kind == Kind::Resource || !turn.gateway.lock.holds(server) {
        return true;
    }
    match (
        turn.gateway.lock.of(server),
        ListedDefinition::read(*kind, entry),
    ) {
        (ServerLock::Locked(locked), Some(listed)) => locked.is_approved(&listed),
        _ => false,
    }
}
