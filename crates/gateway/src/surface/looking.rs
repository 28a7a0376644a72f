//! The always-on tools that look around: searches, looks into the catalog, and changes of groups.

use std::time::Instant;

use kitbag_domain::text::visible;
use kitbag_domain::{InquiryKind, Outcome, Surface};
use kitbag_wire::{Raw, RawObject};

use super::answer::{fitted, metered, text, with_taken};
use super::own::arguments;
use super::tools::AlwaysOn;
use super::{discover, groups, search};
use crate::call::failure::Failure;
use crate::telemetry::audit::inquiries::{BegunInquiry, InquiryEnd};
use crate::turn::Turn;
use crate::turn::view::View;

/// Answers, and leaves a row in the audit.
pub(super) async fn looking(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOn,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let started = Instant::now();
    let answer = looked(turn, surface, tool, params).await;
    if let Some(kind) = inquiry_kind(tool) {
        let arguments = params.get("arguments").map_or("{}", |it| it.get());
        let begun = BegunInquiry {
            kind,
            subject: &subject(tool, params),
            arguments,
            started,
        };
        begun.end(turn.into(), &end(&answer));
    }
    answer
}

fn inquiry_kind(tool: AlwaysOn) -> Option<InquiryKind> {
    match tool {
        AlwaysOn::Search => Some(InquiryKind::Search),
        AlwaysOn::Discover => Some(InquiryKind::Discovery),
        AlwaysOn::EnableGroup => Some(InquiryKind::GroupChange),
        AlwaysOn::Call | AlwaysOn::Batch | AlwaysOn::RunIntent | AlwaysOn::RunCode => None,
    }
}

/// The name that is looked for. The words of a search are no name, and stand for themselves.
fn subject(tool: AlwaysOn, params: &RawObject) -> String {
    let named = ["tool", "provider", "group"].into_iter().find_map(|name| {
        let value = RawObject::peek(params.get("arguments")?, name)?;
        serde_json::from_str::<String>(value.get()).ok()
    });
    named
        .filter(|_| tool != AlwaysOn::Search)
        .unwrap_or_else(|| tool.name().to_owned())
}

fn end(answer: &Result<Raw, Failure>) -> InquiryEnd {
    InquiryEnd {
        outcome: answer
            .as_ref()
            .map_or_else(Failure::outcome, |_| Outcome::Ok),
        tokens: answer
            .as_ref()
            .ok()
            .map(|it| kitbag_budget::price(it.get())),
        found: None,
    }
}

async fn looked(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOn,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let given = params.get("arguments");
    let (answer, taken) = match tool {
        AlwaysOn::Search => {
            let (asked, taken) = arguments(&turn.gateway.services.checker, tool, given)?;
            (search::search(turn, asked).await, taken)
        }
        AlwaysOn::Discover => {
            let (asked, taken) = arguments(&turn.gateway.services.checker, tool, given)?;
            (discover::discover(turn, asked).await?, taken)
        }
        AlwaysOn::EnableGroup if surface == Surface::Adaptive => {
            let (asked, taken) = arguments(&turn.gateway.services.checker, tool, given)?;
            (groups::enable(turn, &asked)?, taken)
        }
        AlwaysOn::EnableGroup => {
            return Err(Failure::params(
                "this endpoint lists no groups; call their tools with call_api, or connect to /mcp/adaptive",
            ));
        }
        AlwaysOn::Call | AlwaysOn::Batch | AlwaysOn::RunIntent | AlwaysOn::RunCode => {
            return Err(Failure::params(format!(
                "call `{0}` directly, not through call_api",
                tool.name()
            )));
        }
    };
    let result = fitted(
        turn,
        text(&visible(&answer)),
        turn.gateway.surfaces.result_tokens,
    );
    Ok(with_taken(result, taken.as_ref()))
}

/// An always-on tool that was asked for as if it were one of those it stands in for.
pub(super) async fn inside(
    turn: &Turn,
    tool: AlwaysOn,
    params: &RawObject,
) -> Result<Raw, Failure> {
    let surface = match turn.view {
        View::Merged(surface) => surface,
        View::One(_) => Surface::Search,
    };
    metered(
        turn,
        tool.name(),
        looking(turn, surface, tool, params).await,
    )
}
