//! Reports what happens in a request to the learner. No function here waits.

use std::sync::Arc;

use kitbag_domain::{Caller, Kind, Outcome, Purpose};

use crate::call::resolve::{CallTarget, Executor};
use crate::learning::ObservedUse;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::turn::Turn;
use kitbag_relevance::learning::event::{ClientKey, UseEvent, UseKind};

/// Longer arguments are usually file contents, which say little about the intent.
const LONGEST_ARGUMENTS: usize = 8 * 1024;

/// A call in progress: the tool by the name that clients know, and its arguments.
pub(crate) struct ToolUse {
    tool: String,
    /// As JSON.
    arguments: Option<Arc<str>>,
}

impl ToolUse {
    /// Returns `None` for a call from which nothing is learned.
    pub(crate) fn for_call(turn: &Turn, target: &CallTarget) -> Option<Self> {
        if !is_learning(turn) || target.capability.kind != Kind::Tool {
            return None;
        }
        match &target.executor {
            Executor::Mcp(_) | Executor::ToolFile(_) => {
                let entry = turn.catalog.find_tool(&target.capability)?;
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

/// Reports that a call has ended.
pub(crate) fn report_call(turn: &Turn, tool_use: ToolUse, outcome: Outcome) {
    let ToolUse { tool, arguments } = tool_use;
    let what = UseKind::Called {
        tool,
        arguments,
        outcome,
    };
    report_event(turn, what);
}

/// Reports the purpose that the client gave for the calls of this run.
pub(crate) fn report_run_purpose(turn: &Turn, purpose: &str) {
    if is_learning(turn) {
        let words = purpose.into();
        report_event(turn, UseKind::Said { words });
    }
}

/// Reports the tools that a client's search found, best first.
pub(crate) fn report_search<'a>(turn: &Turn, query: &str, found: impl Iterator<Item = &'a str>) {
    if is_learning(turn) {
        let words = query.into();
        let found = found.map(str::to_owned).collect();
        report_event(turn, UseKind::Searched { words, found });
    }
}

/// Reports the tools that the client was shown without searching.
pub(crate) fn report_surfaced_tools<'a>(turn: &Turn, tools: impl Iterator<Item = &'a str>) {
    if is_learning(turn) {
        let tools = tools.map(str::to_owned).collect();
        report_event(turn, UseKind::Surfaced { tools });
    }
}

/// Reports a prompt received outside the protocol; it counts for all clients of the credential.
pub(crate) fn report_prompt(
    gateway: &Gateway,
    caller: &Caller,
    prompt: &str,
    found: Arc<[String]>,
) {
    let words = prompt.into();
    let what = UseKind::Searched { words, found };
    send_event(gateway, ClientKey::for_credential(caller), None, what);
}

fn is_learning(turn: &Turn) -> bool {
    turn.gateway.learning.enabled && turn.purpose == Purpose::Use
}

fn report_event(turn: &Turn, what: UseKind) {
    let client = ClientKey {
        caller: turn.caller().clone(),
        id: Some(turn.client.id.clone()),
    };
    let run = turn.run.as_ref().map(|run| run.id.as_str().into());
    send_event(&turn.gateway, client, run, what);
}

/// Sends an event to the learner, if learning is enabled.
pub(crate) fn send_event(
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
