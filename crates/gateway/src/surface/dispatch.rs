//! The always-on tools that only inquire: searches, catalog lookups, and changes of groups.

use std::time::Instant;

use kitbag_domain::text::strip_invisible;
use kitbag_domain::{InquiryKind, Outcome, Surface};
use kitbag_wire::{Raw, RawObject};

use super::parse_arguments::parse_arguments;
use super::tool_answer::{add_correction_note, record_tokens, text_result, truncate_to_budget};
use super::tools::AlwaysOnTool;
use super::{discover, groups, search};
use crate::call::failure::Failure;
use crate::telemetry::audit::queries::{AuditedQuery, QueryOutcome};
use crate::turn::Turn;
use crate::turn::view::View;

/// Answers, and writes an audit row.
pub(super) async fn dispatch_audited(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOnTool,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let started = Instant::now();
    let answer = dispatch(turn, surface, tool, params).await;
    if let Some(kind) = inquiry_kind(tool) {
        let arguments = params.get("arguments").map_or("{}", |it| it.get());
        let query = AuditedQuery {
            kind,
            subject: &inquiry_subject(tool, params),
            arguments,
            started,
        };
        query.record(turn.into(), &query_outcome(&answer));
    }
    answer
}

fn inquiry_kind(tool: AlwaysOnTool) -> Option<InquiryKind> {
    match tool {
        AlwaysOnTool::Search => Some(InquiryKind::Search),
        AlwaysOnTool::Discover => Some(InquiryKind::Discovery),
        AlwaysOnTool::EnableGroup => Some(InquiryKind::GroupChange),
        AlwaysOnTool::Call
        | AlwaysOnTool::Batch
        | AlwaysOnTool::RunIntent
        | AlwaysOnTool::RunCode => None,
    }
}

/// Returns the name that is looked up. For a search, whose text is not a name, returns the tool's
/// own name.
fn inquiry_subject(tool: AlwaysOnTool, params: &RawObject) -> String {
    let named = ["tool", "provider", "group"].into_iter().find_map(|name| {
        let value = RawObject::peek_member(params.get("arguments")?, name)?;
        serde_json::from_str::<String>(value.get()).ok()
    });
    named
        .filter(|_| tool != AlwaysOnTool::Search)
        .unwrap_or_else(|| tool.name().to_owned())
}

fn query_outcome(answer: &Result<Raw, Failure>) -> QueryOutcome {
    QueryOutcome {
        outcome: answer
            .as_ref()
            .map_or_else(Failure::audit_outcome, |_| Outcome::Ok),
        tokens: answer
            .as_ref()
            .ok()
            .map(|it| kitbag_budget::estimate_result_tokens(it.get())),
        found: None,
    }
}

async fn dispatch(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOnTool,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let given = params.get("arguments");
    let (answer, correction) = match tool {
        AlwaysOnTool::Search => {
            let (arguments, correction) =
                parse_arguments(&turn.gateway.services.checker, tool, given)?;
            (search::search_tools(turn, arguments).await, correction)
        }
        AlwaysOnTool::Discover => {
            let (arguments, correction) =
                parse_arguments(&turn.gateway.services.checker, tool, given)?;
            (discover::discover_apis(turn, arguments).await?, correction)
        }
        AlwaysOnTool::EnableGroup if surface == Surface::Adaptive => {
            let (arguments, correction) =
                parse_arguments(&turn.gateway.services.checker, tool, given)?;
            (groups::enable_group(turn, &arguments)?, correction)
        }
        AlwaysOnTool::EnableGroup => {
            return Err(Failure::bad_params(
                "this endpoint lists no groups; call their tools with call_api, or connect to /mcp/adaptive",
            ));
        }
        AlwaysOnTool::Call
        | AlwaysOnTool::Batch
        | AlwaysOnTool::RunIntent
        | AlwaysOnTool::RunCode => {
            return Err(Failure::bad_params(format!(
                "call `{0}` directly, not through call_api",
                tool.name()
            )));
        }
    };
    let result = truncate_to_budget(
        turn,
        text_result(&strip_invisible(&answer)),
        turn.gateway.surfaces.result_tokens,
    );
    Ok(add_correction_note(result, correction.as_ref()))
}

/// Handles an always-on tool that was called as if it were a server's tool.
pub(super) async fn call_nested(
    turn: &Turn,
    tool: AlwaysOnTool,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let surface = match turn.view {
        View::Merged(surface) => surface,
        View::Server(_) => Surface::Search,
    };
    record_tokens(
        turn,
        tool.name(),
        dispatch_audited(turn, surface, tool, params).await,
    )
}
