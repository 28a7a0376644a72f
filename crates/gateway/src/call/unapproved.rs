//! Withholds what differs from its approved definition.
//!
//! The catalog has no entry for it, so no list and no search shows it; its name or URI leads to an
//! error that states the reason.

use std::sync::Arc;

use kitbag_config::{Lock, ServerLock};
use kitbag_domain::{Capability, DefinitionKind, Kind};
use kitbag_lockfile::{ListedDefinition, UnapprovedReason};
use kitbag_upstream::{Approval, CallError, Listing, mask_json};
use kitbag_wire::{Raw, RawObject};

use crate::call::CallSubject;
use crate::call::failure::Failure;
use crate::call::resolve::{self, McpTarget};
use crate::call::skill_digests::has_approved_content;
use crate::catalog::drift::{judge_listing, listed_offer};
use crate::catalog::unapproved_uris::UnapprovedUri;
use crate::turn::Turn;

/// Rejects what is not approved. Names that a client invented or remembers are rejected, too: nobody
/// approved a tool that the server does not list.
pub(crate) fn check_approved(
    turn: &Turn,
    subject: &CallSubject,
    capability: &Capability,
) -> Result<(), Failure> {
    if !turn.gateway.lock.requires_approval(&capability.server) {
        return Ok(());
    }
    if capability.kind == Kind::Resource {
        return check_uri_approved(turn, subject, capability);
    }
    let catalog = &turn.catalog;
    match catalog.unapproved.reason(capability).cloned() {
        Some(reason) => Err(unapproved_failure(subject, reason)),
        None if catalog.contains(capability) => Ok(()),
        None => Err(unlisted_failure(turn, subject, capability)),
    }
}

/// Rejects a URI that leads to an unapproved definition. One that no definition describes is data,
/// except as a skill.
fn check_uri_approved(
    turn: &Turn,
    subject: &CallSubject,
    capability: &Capability,
) -> Result<(), Failure> {
    let Capability { server, name, .. } = capability;
    let (lock, catalog) = (&turn.gateway.lock, &turn.catalog);
    let locks = |kind| lock.locks_kind(server, kind);
    if catalog.listing(server).is_none()
        && DefinitionKind::ALL
            .iter()
            .any(|it| it.has_uri() && locks(*it))
    {
        return Err(unlisted_failure(turn, subject, capability));
    }
    let unapproved = match subject {
        CallSubject::Directory(_) => catalog.unapproved_uris.find_directory(server, name),
        _ => catalog.unapproved_uris.find(server, name),
    };
    let is_unlisted_skill = matches!(subject, CallSubject::Skill(_))
        && locks(DefinitionKind::Skill)
        && !catalog.has_skill(capability);
    match unapproved {
        Some(unapproved) => Err(unapproved_uri_failure(unapproved)),
        None if is_unlisted_skill => Err(unlisted_failure(turn, subject, capability)),
        None => Ok(()),
    }
}

/// Rejects a skill whose definition in the server's answer is not the approved one, and a file of a
/// skill with another digest. Removes files of unapproved skills from a directory.
pub(crate) fn check_answer(
    turn: &Turn,
    target: &McpTarget,
    capability: &Capability,
    result: Raw,
) -> Result<Raw, Failure> {
    let server = &capability.server;
    if !turn.gateway.lock.requires_approval(server) {
        return Ok(result);
    }
    match target.subject {
        CallSubject::Skill(_) => {
            let skill = RawObject::peek_member(&result, "skill");
            let skill = skill.map(ToOwned::to_owned);
            let kind = DefinitionKind::Skill;
            match skill.is_some_and(|it| is_unapproved_entry(turn, kind, capability, &it)) {
                true => Err(unapproved_failure(
                    &target.subject,
                    UnapprovedReason::Changed,
                )),
                false => Ok(result),
            }
        }
        CallSubject::Resource(_)
            if turn.gateway.lock.locks_kind(server, DefinitionKind::Skill)
                && !has_approved_content(&turn.catalog, capability, &result) =>
        {
            target.server.mark_lists_doubtful();
            Err(unapproved_failure(
                &target.subject,
                UnapprovedReason::OtherContent,
            ))
        }
        CallSubject::Directory(_) => {
            let is_approved = |entry: &Raw| {
                let uri = RawObject::peek_member(entry, "uri");
                let uri: Option<String> = uri.and_then(|it| serde_json::from_str(it.get()).ok());
                uri.is_none_or(|uri| turn.catalog.unapproved_uris.find(server, &uri).is_none())
            };
            Ok(retain_members(result, "resources", is_approved))
        }
        _ => Ok(result),
    }
}

fn retain_members(result: Raw, member: &str, keep: impl Fn(&Raw) -> bool) -> Raw {
    let Ok(mut object) = RawObject::open(&result) else {
        return result;
    };
    let Some(mut entries) = object.read::<Vec<Raw>>(member) else {
        return result;
    };
    let all = entries.len();
    entries.retain(keep);
    if entries.len() == all {
        return result;
    }
    object.put(member, &entries);
    object.to_raw()
}

/// Returns the approval required to send a request for a tool or prompt to a locked server. The
/// catalog has the server's last listing, which may have changed by now.
pub(crate) fn approval_for(turn: &Turn, capability: &Capability) -> Option<Approval> {
    let list = match capability.kind {
        Kind::Tool => DefinitionKind::Tool,
        Kind::Prompt => DefinitionKind::Prompt,
        // The server answers with data, or with a definition that is compared itself.
        Kind::Resource => return None,
    };
    let lock = &turn.gateway.lock;
    if capability.name.is_empty() || !lock.requires_approval(&capability.server) {
        return None;
    }
    let judged = turn.catalog.listing(&capability.server).cloned();
    let (gateway, capability) = (turn.gateway.clone(), capability.clone());
    let accepts = move |listing: &Arc<Listing>| {
        let is_judged = judged.as_ref().is_some_and(|it| Arc::ptr_eq(it, listing));
        is_judged || unapproved_reason(&gateway.lock, list, &capability, listing).is_none()
    };
    Some(Approval {
        list,
        max_age: lock.recheck_after,
        accepts: Arc::new(accepts),
    })
}

fn unapproved_reason(
    lock: &Lock,
    list: DefinitionKind,
    capability: &Capability,
    listing: &Listing,
) -> Option<UnapprovedReason> {
    let judgement = judge_listing(lock, &capability.server, listing);
    judgement.reason_for(listed_offer(listing), list, &capability.name)
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
            let (listing, lock) = (target.server.listing(), &turn.gateway.lock);
            let (list, _) = definition_of(&target.subject);
            let reason = listing.and_then(|it| unapproved_reason(lock, list, capability, &it));
            reason.unwrap_or(UnapprovedReason::Changed)
        }
        Failure::Upstream(CallError::Unlisted { .. }) => UnapprovedReason::NotCompared,
        _ => return failure,
    };
    unapproved_failure(&target.subject, reason)
}

fn unapproved_failure(subject: &CallSubject, reason: UnapprovedReason) -> Failure {
    let (kind, name) = definition_of(subject);
    let name = name.to_owned();
    Failure::Unapproved { kind, name, reason }
}

fn definition_of(subject: &CallSubject) -> (DefinitionKind, &str) {
    let (kind, name) = subject.kind_and_name();
    let kind = match kind {
        Kind::Tool => DefinitionKind::Tool,
        Kind::Prompt => DefinitionKind::Prompt,
        Kind::Resource if matches!(subject, CallSubject::Skill(_)) => DefinitionKind::Skill,
        Kind::Resource => DefinitionKind::Resource,
    };
    (kind, name)
}

fn unapproved_uri_failure(unapproved: &UnapprovedUri) -> Failure {
    Failure::Unapproved {
        kind: unapproved.kind,
        name: unapproved.capability.name.clone(),
        reason: unapproved.reason.clone(),
    }
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
    failure_if_visible(
        turn,
        exposed,
        DefinitionKind::Tool,
        unapproved.tool(exposed)?,
    )
}

pub(crate) fn unapproved_prompt(turn: &Turn, exposed: &str) -> Option<Failure> {
    let unapproved = &turn.catalog.unapproved;
    failure_if_visible(
        turn,
        exposed,
        DefinitionKind::Prompt,
        unapproved.prompt(exposed)?,
    )
}

fn failure_if_visible(
    turn: &Turn,
    exposed: &str,
    kind: DefinitionKind,
    capability: &Capability,
) -> Option<Failure> {
    let reason = turn.catalog.unapproved.reason(capability)?;
    turn.can_see(capability).then(|| Failure::Unapproved {
        kind,
        name: exposed.to_owned(),
        reason: reason.clone(),
    })
}

/// Returns the error for a URI that leads nowhere, because the definition is withheld.
pub(crate) fn unapproved_uri(turn: &Turn, uri: &str) -> Option<Failure> {
    let unapproved = &turn.catalog.unapproved_uris;
    let found = unapproved.find_visible(uri, |it| turn.can_see(it))?;
    let is_required = turn
        .gateway
        .lock
        .requires_approval(&found.capability.server);
    is_required.then(|| unapproved_uri_failure(found))
}

/// True for an unapproved definition that a server has just returned. If the catalog considers it
/// approved, the server has changed it since, and is listed again.
pub(crate) fn is_unapproved_entry(
    turn: &Turn,
    kind: DefinitionKind,
    capability: &Capability,
    entry: &Raw,
) -> bool {
    let is_unapproved = !is_approved_entry(turn, kind, capability, entry);
    if is_unapproved
        && known_reason(turn, kind, capability).is_none()
        && let Some(server) = turn.gateway.upstreams.get(&capability.server)
    {
        server.mark_lists_doubtful();
    }
    is_unapproved
}

fn known_reason<'t>(
    turn: &'t Turn,
    kind: DefinitionKind,
    capability: &Capability,
) -> Option<&'t UnapprovedReason> {
    match kind.has_uri() {
        true => turn.catalog.unapproved_uris.reason(kind, capability),
        false => turn.catalog.unapproved.reason(capability),
    }
}

fn is_approved_entry(
    turn: &Turn,
    kind: DefinitionKind,
    capability: &Capability,
    entry: &Raw,
) -> bool {
    let (lock, server) = (&turn.gateway.lock, &capability.server);
    if !lock.requires_approval(server) || !lock.locks_kind(server, kind) {
        return true;
    }
    match (
        lock.server_lock(server),
        listed_definition(turn, kind, capability, entry),
    ) {
        (ServerLock::Locked(locked), Some(listed)) => {
            listed.name == capability.name && locked.is_approved(&listed)
        }
        _ => false,
    }
}

/// Returns the entry's definition as the lock file stores it: masked, with the hash from before
/// masking.
fn listed_definition(
    turn: &Turn,
    kind: DefinitionKind,
    capability: &Capability,
    entry: &Raw,
) -> Option<ListedDefinition> {
    let listed = ListedDefinition::parse(kind, entry)?;
    let server = turn.gateway.upstreams.get(&capability.server)?;
    match mask_json(entry, &server.secrets()) {
        None => Some(listed),
        Some(masked) => Some(ListedDefinition {
            unmasked: Some(listed.hash),
            ..ListedDefinition::parse(kind, &masked)?
        }),
    }
}
