//! Decides what a caller is told of things that it may not use.
//!
//! The person at this machine reads which rule it was. For a caller with a key a hidden thing does
//! not exist: the gateway refuses it in exactly the words for something that no server offers, and
//! writes the rule into the log and the audit only.

use kitbag_domain::{Capability, Decision, Kind};
use kitbag_upstream::CallError;
use kitbag_wire::Raw;
use kitbag_wire::meta::code;

use crate::call::CallSubject;
use crate::call::failure::Failure;
use crate::call::resolve;
use crate::turn::Turn;
use crate::turn::view::View;

/// Refuses everything to a key whose tenant the configuration does not name. The refusal says so
/// plainly, because it tells of no server, and the operator has to write the table.
pub(crate) fn check_known_tenant(turn: &Turn) -> Result<(), Failure> {
    match turn.policy().unknown_tenant_reason(turn.caller()) {
        None => Ok(()),
        Some(reason) => Err(Failure::Denied { reason }),
    }
}

/// Refuses what rules forbid; `unknown` is what a caller with a key reads then.
pub(crate) fn authorize(
    turn: &Turn,
    capability: &Capability,
    unknown: impl FnOnce() -> Failure,
) -> Result<(), Failure> {
    let caller = &turn.client.caller;
    let Decision::Deny(reason) = turn.gateway.policy.decide(caller, capability) else {
        return Ok(());
    };
    tracing::info!(
        key = caller.key.as_ref().map_or("", |key| key.0.as_str()),
        "refused: {reason}"
    );
    Err(if caller.is_local() {
        Failure::Denied { reason }
    } else {
        Failure::Hidden {
            told: Box::new(unknown()),
        }
    })
}

/// True if the gateway may ask the server for this tool or prompt. On a server's own route names go
/// through unread, and the server's words for a name that it does not have would differ from the
/// gateway's words for a hidden one. So where rules hide any of the server's tools and prompts, the
/// gateway asks only for those that the server lists.
pub(crate) fn is_listed(turn: &Turn, subject: &CallSubject, capability: &Capability) -> bool {
    let (View::Server(server), CallSubject::Tool(_) | CallSubject::Prompt(_)) =
        (&turn.view, subject)
    else {
        return true;
    };
    let listing = turn
        .gateway
        .upstreams
        .get(server)
        .and_then(|server| server.listing());
    if listing.is_none() || !hides_tools(turn) {
        return true;
    }
    turn.catalog
        .entries_of_server(server)
        .any(|entry| entry.capability == *capability)
}

/// A server's own words for a resource that it does not have, replaced by ours for the same reason.
pub(crate) fn replace_missing_resource_error(
    turn: &Turn,
    subject: &CallSubject,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    const MISSING: [i64; 2] = [code::LEGACY_RESOURCE_NOT_FOUND, code::INVALID_PARAMS];
    match answer {
        Err(Failure::Upstream(CallError::Refused { error, .. }))
            if subject.kind_and_name().0 == Kind::Resource
                && MISSING.contains(&error.code)
                && hides_tools(turn) =>
        {
            Err(resolve::unknown(turn, subject))
        }
        other => other,
    }
}

fn hides_tools(turn: &Turn) -> bool {
    !turn.caller().is_local() && turn.policy().has_tool_rules(turn.caller())
}
