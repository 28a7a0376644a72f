//! The places where a request hands over to the learner what happened. None of them waits.

use std::sync::Arc;

use kitbag_domain::{Caller, Kind, Outcome, Purpose};

use crate::call::resolve::{CallTarget, Executor};
use crate::learning::ObservedUse;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::turn::Turn;
use kitbag_relevance::learned::event::{ClientKey, UseEvent, UseKind};

/// Longer arguments are contents, which say little about the intent.
const LONGEST_ARGUMENTS: usize = 8 * 1024;

/// A call that is being made: the tool by the name that clients know, and its arguments.
pub(crate) struct NotedUse {
    tool: String,
    /// As JSON.
    arguments: Option<Arc<str>>,
}

impl NotedUse {
    /// Nothing for a call that teaches nothing.
    pub(crate) fn of(turn: &Turn, target: &CallTarget) -> Option<Self> {
        if !learns(turn) || target.capability.kind != Kind::Tool {
            return None;
        }
        match &target.executor {
            Executor::Mcp(_) | Executor::Declared(_) => {
                let entry = turn.catalog.tool_of(&target.capability)?;
                let arguments = target.arguments();
                let arguments = arguments.filter(|it| it.len() <= LONGEST_ARGUMENTS);
                Some(Self {
                    tool: entry.exposed.clone(),
                    arguments: arguments.map(Into::into),
                })
            }
            Executor::Api(_) => Some(Self {
                tool: target.capability.server.to_string(),
                arguments: None,
            }),
        }
    }
}

/// A call has ended.
pub(crate) fn called(turn: &Turn, noted: NotedUse, outcome: Outcome) {
    let NotedUse { tool, arguments } = noted;
    let what = UseKind::Called {
        tool,
        arguments,
        outcome,
    };
    happened(turn, what);
}

/// The client said what the calls of this run are to do.
pub(crate) fn said(turn: &Turn, words: &str) {
    if learns(turn) {
        let words = words.into();
        happened(turn, UseKind::Said { words });
    }
}

/// A search of the client found these tools, best first.
pub(crate) fn searched<'a>(turn: &Turn, words: &str, found: impl Iterator<Item = &'a str>) {
    if learns(turn) {
        let words = words.into();
        let found = found.map(str::to_owned).collect();
        happened(turn, UseKind::Searched { words, found });
    }
}

/// The client was shown these tools, without having searched for them.
pub(crate) fn surfaced<'a>(turn: &Turn, tools: impl Iterator<Item = &'a str>) {
    if learns(turn) {
        let tools = tools.map(str::to_owned).collect();
        happened(turn, UseKind::Surfaced { tools });
    }
}

/// Words came in beside the protocol, for all clients of a credential.
pub(crate) fn said_by(gateway: &Gateway, caller: &Caller, words: &str, found: Arc<[String]>) {
    let words = words.into();
    let what = UseKind::Searched { words, found };
    hand_over(gateway, ClientKey::of_credential(caller), None, what);
}

fn learns(turn: &Turn) -> bool {
    turn.gateway.learning.enabled && turn.purpose == Purpose::Use
}

fn happened(turn: &Turn, what: UseKind) {
    let client = ClientKey {
        caller: turn.caller().clone(),
        id: Some(turn.client.id.clone()),
    };
    let run = turn.run.as_ref().map(|run| run.id.as_str().into());
    hand_over(&turn.gateway, client, run, what);
}

/// Hands over an event, if the operator wants anything to be learned.
pub(crate) fn hand_over(
    gateway: &Gateway,
    client: ClientKey,
    run: Option<Arc<str>>,
    what: UseKind,
) {
    let settings = gateway.learning;
    if settings.enabled {
        let at = now();
        let event = UseEvent {
            client,
            run,
            at,
            what,
        };
        gateway
            .services
            .learner
            .observe(ObservedUse { event, settings });
    }
}
