//! A tool call on a surface: to one of the always-on tools, or straight to the tool it names;
//! and every answer made to fit a context.

use kitbag_domain::Surface;

use kitbag_budget::{Fitted, fit, notice};
use kitbag_domain::ExposedName;
use kitbag_domain::text::visible;
use kitbag_wire::{Raw, RawObject, raw};
use serde_json::json;

use super::own::arguments;
use super::request::Request;
use super::tools::AlwaysOn;
use super::{batch, discover, groups, search, shown};
use crate::bridge;
use crate::failure::Failure;
use crate::front::reply;
use crate::gateway::Gateway;
use crate::hidden;
use crate::pipeline::{self, Call, CallMethod, required};
use crate::schema::{Misfit, Taken};
use crate::turn::{Turn, View};

/// Serves `tools/call`. On a frugal surface whatever goes wrong is told to the model, which
/// can mend it, rather than to the client, which cannot.
pub(crate) async fn call(turn: &Turn, params: RawObject) -> Result<Raw, Failure> {
    let name = required(&params, "name")?;
    let surface = match &turn.view {
        View::Merged(surface) if surface.is_frugal() => *surface,
        View::Merged(_) => return metered(turn, &name, straight(turn, params).await),
        View::One(server) => {
            let exposed = ExposedName::new(server, &name);
            return metered(turn, exposed.as_str(), straight(turn, params).await);
        }
    };
    let answer = match AlwaysOn::named(&name) {
        // What these return belongs to the tools they were asked for.
        Some(tool @ (AlwaysOn::Call | AlwaysOn::Batch)) => {
            always_on(turn, surface, tool, params).await
        }
        Some(tool) => metered(turn, &name, always_on(turn, surface, tool, params).await),
        None => one(turn, params, turn.gateway.surfaces.result_tokens).await,
    };
    match answer {
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
        Err(failure) => Ok(reply::tool_result(&failure, turn.client.era)),
        Ok(result) => Ok(bridge::in_era(turn.client.era, result)),
    }
}

/// Puts what a client is answered on the bill of the tool of this name.
pub(super) fn metered(
    turn: &Turn,
    name: &str,
    answer: Result<Raw, Failure>,
) -> Result<Raw, Failure> {
    turn.gateway.services.meter.answered(turn, name, &answer);
    answer
}

/// Calls a tool by its own name, and cuts what comes back to a number of tokens.
pub(super) async fn one(turn: &Turn, mut params: RawObject, tokens: usize) -> Result<Raw, Failure> {
    let name = required(&params, "name")?;
    let taken = as_meant(&turn.gateway, &name, &mut params);
    let answer = straight(turn, params).await.map(|result| {
        shown::used(turn, &name);
        let broken = broken_promise(&turn.gateway, &name, &result);
        let result = fitted(turn, result, tokens);
        let result = match broken {
            Some(misfit) => with_remark(result, &misfit),
            None => result,
        };
        with_taken(result, taken.as_ref())
    });
    metered(turn, &name, answer)
}

/// Reads arguments that do not fit as they were meant, where they can only have been meant in one
/// way.
pub(crate) fn as_meant(gateway: &Gateway, name: &str, params: &mut RawObject) -> Option<Taken> {
    let catalog = gateway.catalog();
    let taken = gateway
        .services
        .checker
        .taken(&catalog.tool(name)?.definition, params.get("arguments")?)?;
    params.set("arguments", taken.arguments.clone());
    Some(taken)
}

/// Tells the model how its arguments were read.
pub(crate) fn with_taken(result: Raw, taken: Option<&Taken>) -> Raw {
    match taken {
        // A question, or the ticket of a task, is not for the model.
        Some(taken) if RawObject::peek(&result, "content").is_some() => {
            with_text(result, &format!("[{taken}]"))
        }
        _ => result,
    }
}

/// Cuts a result that is too long, and keeps the whole of it for this caller.
pub(super) fn fitted(turn: &Turn, result: Raw, tokens: usize) -> Raw {
    if bridge::is_input_required(&result).is_some() {
        return result;
    }
    match fit(result.get(), tokens) {
        Fitted::Whole => result,
        Fitted::Cut(cut) => {
            let id = turn
                .gateway
                .services
                .kept
                .keep(&turn.client.caller, cut.pages.clone());
            let notice = notice::cut(&cut, |offset| read_on(&id, offset));
            cut.answer(&notice)
        }
    }
}

pub(super) fn read_on(result: &str, offset: usize) -> String {
    format!("call_api(result: \"{result}\", offset: {offset})")
}

/// A result that is only text, as the always-on tools give it.
pub(super) fn text(text: &str) -> Raw {
    raw(&json!({ "content": [{ "type": "text", "text": text }] }))
}

/// What is wrong with a result that its tool's own output schema forbids.
fn broken_promise(gateway: &Gateway, name: &str, result: &Raw) -> Option<Misfit> {
    let structured = RawObject::peek(result, "structuredContent")?;
    let catalog = gateway.catalog();
    let misfit = gateway
        .services
        .checker
        .check_output(&catalog.tool(name)?.definition, structured)
        .err()?;
    tracing::warn!(
        tool = name,
        "the result does not fit the tool's own output schema: {misfit}"
    );
    Some(misfit)
}

/// The result stays as it is; whoever reads it should know not to rely on its shape.
fn with_remark(result: Raw, misfit: &Misfit) -> Raw {
    with_text(
        result,
        &format!("[This result does not fit the tool's own output schema:\n{misfit}]"),
    )
}

/// A result with one more text in it.
fn with_text(result: Raw, text: &str) -> Raw {
    let Ok(mut object) = RawObject::open(&result) else {
        return result;
    };
    let mut content: Vec<Raw> = object.read("content").unwrap_or_default();
    content.push(raw(&json!({ "type": "text", "text": text })));
    object.put("content", &content);
    object.to_raw()
}

async fn always_on(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOn,
    params: RawObject,
) -> Result<Raw, Failure> {
    hidden::known_tenant(turn)?;
    match tool {
        AlwaysOn::Call => {
            let (asked, taken) = arguments(
                &turn.gateway.services.checker,
                tool,
                params.get("arguments"),
            )?;
            let request = Request::read(asked)?;
            let answer = request
                .run(turn, params, turn.gateway.surfaces.result_tokens)
                .await;
            answer.map(|result| with_taken(result, taken.as_ref()))
        }
        AlwaysOn::Batch => {
            let (asked, taken) = arguments(
                &turn.gateway.services.checker,
                tool,
                params.get("arguments"),
            )?;
            let answer = batch::run(turn, asked, params).await;
            answer.map(|result| with_taken(result, taken.as_ref()))
        }
        AlwaysOn::Search | AlwaysOn::Discover | AlwaysOn::EnableGroup => {
            looking(turn, surface, tool, &params).await
        }
    }
}

/// The always-on tools that only look around, or change what is listed.
async fn looking(
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
            (discover::discover(turn, asked)?, taken)
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
        AlwaysOn::Call | AlwaysOn::Batch => {
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

async fn straight(turn: &Turn, params: RawObject) -> Result<Raw, Failure> {
    pipeline::run(
        turn,
        Call {
            method: CallMethod::CallTool,
            params,
        },
    )
    .await
}
