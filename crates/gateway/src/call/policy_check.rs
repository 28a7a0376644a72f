//! Decides how much a caller learns about capabilities that it may not use.
//!
//! The local user sees which rule applied. For a caller with a key a hidden capability does not
//! exist: the error has exactly the wording for something that no server offers, and only the log
//! and the audit contain the rule.

use kitbag_domain::{Capability, Decision, Kind};
use kitbag_upstream::CallError;
use kitbag_wire::Raw;
use kitbag_wire::meta::code;

use crate::call::CallSubject;
use crate::call::failure::Failure;
use crate::call::resolve;
use crate::turn::Turn;
use crate::turn::view::View;

/// Rejects every request with a key whose tenant is not in the configuration. The error says so,
/// because it reveals no server and the operator has to add the tenant.
pub(crate) fn check_known_tenant(turn: &Turn) -> Result<(), Failure> {
    match turn.policy().unknown_tenant_reason(turn.caller()) {
        None => Ok(()),
        Some(reason) => Err(Failure::Denied { reason }),
    }
}

/// Denies what rules forbid; a caller with a key gets the error `unknown` instead.
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
        "denied: {reason}"
    );
    Err(if caller.is_local() {
        Failure::Denied { reason }
    } else {
        Failure::Hidden {
            visible: Box::new(unknown()),
        }
    })
}

/// True if the gateway may ask the server for this tool or prompt. On a server's own route names
/// are forwarded unchecked, and the server's error for an unknown name would differ from the
/// gateway's error for a hidden one. So where rules hide any of the server's tools and prompts, the
/// gateway forwards only names that the server lists.
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

/// Replaces a server's own error for a missing resource by the gateway's, for the same reason.
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
