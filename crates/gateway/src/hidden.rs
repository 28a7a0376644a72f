//! What a caller is told of things it may not use.
//!
//! The person at this machine reads which rule it was. For a caller with a key a hidden thing does
//! not exist: it is refused in exactly the words for something that nobody offers, and the rule
//! stands in the log and the audit only.

use kitbag_domain::{Capability, Decision};
use kitbag_upstream::CallError;
use kitbag_wire::Raw;
use kitbag_wire::meta::code;

use crate::failure::Failure;
use crate::pipeline::{Call, CallMethod, unknown_task, unknown_tool};
use crate::turn::{Turn, View};

/// What a call is about, by the name its caller used.
pub(crate) enum Asked {
    Tool(String),
    Prompt(String),
    Resource(String),
    Task(String),
}

impl Asked {
    /// To be read before the name is replaced by the server's own.
    pub(crate) fn of(call: &Call) -> Self {
        let text = |key: &str| call.params.read(key).unwrap_or_default();
        match call.method {
            CallMethod::CallTool | CallMethod::List(_) => Self::Tool(text("name")),
            CallMethod::GetPrompt => Self::Prompt(text("name")),
            CallMethod::ReadResource => Self::Resource(text("uri")),
            CallMethod::Task(_) => Self::Task(text("taskId")),
            CallMethod::Complete => {
                let reference = call.params.object("ref").unwrap_or_default();
                match reference.read::<String>("type").as_deref() {
                    Some("ref/prompt") => Self::Prompt(reference.read("name").unwrap_or_default()),
                    _ => Self::Resource(reference.read("uri").unwrap_or_default()),
                }
            }
        }
    }

    /// As if nobody offered it.
    pub(crate) fn unknown(&self, turn: &Turn) -> Failure {
        match self {
            Self::Tool(name) => unknown_tool(turn, name.clone()),
            Self::Prompt(name) => Failure::UnknownPrompt { name: name.clone() },
            Self::Resource(uri) => Failure::UnknownResource { uri: uri.clone() },
            Self::Task(id) => unknown_task(id),
        }
    }
}

/// Refuses everything to a key whose tenant nobody has named. It says so plainly, because this tells
/// of no server, and somebody has to write the table.
pub(crate) fn known_tenant(turn: &Turn) -> Result<(), Failure> {
    match turn.policy().unknown_tenant(turn.caller()) {
        None => Ok(()),
        Some(reason) => Err(Failure::Denied { reason }),
    }
}

/// Refuses what rules forbid; `unknown` is what a caller with a key reads then.
pub(crate) fn permit(
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

/// Whether a server has to be asked to know that it offers this. On its own route names go through
/// unread, and its words for one it does not have would differ from ours for one that is hidden; so
/// where rules hide anything of its tools and prompts, only what it lists is asked for.
pub(crate) fn is_listed(turn: &Turn, asked: &Asked, capability: &Capability) -> bool {
    let (View::One(server), Asked::Tool(_) | Asked::Prompt(_)) = (&turn.view, asked) else {
        return true;
    };
    let listing = turn
        .gateway
        .upstreams
        .get(server)
        .and_then(|server| server.listing());
    if listing.is_none() || !hides(turn) {
        return true;
    }
    turn.catalog
        .of_server(server)
        .any(|entry| entry.capability == *capability)
}

/// A server's own words for a resource that it does not have, replaced by ours for the same reason.
pub(crate) fn in_our_words(
    turn: &Turn,
    asked: &Asked,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    const MISSING: [i64; 2] = [code::LEGACY_RESOURCE_NOT_FOUND, code::INVALID_PARAMS];
    match answer {
        Err(Failure::Upstream(CallError::Refused { error, .. }))
            if matches!(asked, Asked::Resource(_))
                && MISSING.contains(&error.code)
                && hides(turn) =>
        {
            Err(asked.unknown(turn))
        }
        other => other,
    }
}

fn hides(turn: &Turn) -> bool {
    !turn.caller().is_local() && turn.policy().judges_tools(turn.caller())
}
