//! A tool call on a surface: to one of the always-on tools, or straight to the tool it names.

use kitbag_domain::{ExposedName, Surface};
use kitbag_wire::{Raw, RawObject};

use super::answer::{as_meant, metered, remarked, with_taken};
use super::looking::looking;
use super::own::arguments;
use super::request::ApiRequest;
use super::tools::AlwaysOn;
use super::{batch, code, intent, shown};
use crate::call::bridge;
use crate::call::failure::Failure;
use crate::call::hidden;
use crate::call::pipeline;
use crate::call::reply;
use crate::call::resolve;
use crate::call::{Call, McpCall, required};
use crate::turn::Turn;
use crate::turn::view::View;

/// Serves `tools/call`.
pub(crate) async fn call(turn: &Turn, params: RawObject) -> Result<Raw, Failure> {
    let name = required(&params, "name")?;
    match &turn.view {
        View::Merged(surface) if surface.is_frugal() || runs_code(turn, &name) => {
            frugal(turn, *surface, name, params).await
        }
        View::Merged(_) => {
            let answer = straight(turn, name.clone(), params).await;
            metered(turn, &name, answer)
        }
        View::One(server) => {
            let exposed = ExposedName::new(server, &name);
            let answer = straight(turn, name, params).await;
            metered(turn, exposed.as_str(), answer)
        }
    }
}

/// True for a tool that runs programs. A server's own tool of that name comes first where names are
/// as the servers have them.
fn runs_code(turn: &Turn, name: &str) -> bool {
    let own = AlwaysOn::named(name);
    own.is_some_and(AlwaysOn::runs_code) && turn.catalog.tool(name).is_none()
}

async fn straight(turn: &Turn, name: String, params: RawObject) -> Result<Raw, Failure> {
    pipeline::run(turn, Call::Mcp(McpCall::tool(name, params))).await
}

/// On a frugal surface a failure is reported to the model, which can mend the call, rather than to
/// the client, which cannot.
async fn frugal(
    turn: &Turn,
    surface: Surface,
    name: String,
    params: RawObject,
) -> Result<Raw, Failure> {
    let answer = match AlwaysOn::named(&name) {
        // The results of these two tools are counted for the tools that the model asked them to
        // call.
        Some(tool @ (AlwaysOn::Call | AlwaysOn::Batch)) => {
            always_on(turn, surface, tool, params).await
        }
        Some(tool) => metered(turn, &name, always_on(turn, surface, tool, params).await),
        None => one(turn, name, params, turn.gateway.surfaces.result_tokens).await,
    };
    match answer {
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
        Err(failure) => Ok(reply::tool_result(&failure, turn.client.era)),
        Ok(result) => Ok(bridge::in_era(turn.client.era, result)),
    }
}

/// Calls a tool by its own name, and cuts what comes back to a number of tokens.
pub(super) async fn one(
    turn: &Turn,
    name: String,
    mut params: RawObject,
    tokens: usize,
) -> Result<Raw, Failure> {
    let taken = as_meant(turn, &name, &mut params);
    let answer = straight(turn, name.clone(), params).await.map(|result| {
        shown::used(turn, &name);
        with_taken(remarked(turn, &name, result, tokens), taken.as_ref())
    });
    metered(turn, &name, answer)
}

async fn always_on(
    turn: &Turn,
    surface: Surface,
    tool: AlwaysOn,
    params: RawObject,
) -> Result<Raw, Failure> {
    hidden::known_tenant(turn)?;
    if tool.runs_code() && !tool.is_on(surface, &turn.gateway.code) {
        return Err(resolve::unknown_tool(turn, tool.name()));
    }
    match tool {
        AlwaysOn::Call => {
            let (asked, taken) = arguments(
                &turn.gateway.services.checker,
                tool,
                params.get("arguments"),
            )?;
            let request = ApiRequest::read(asked)?;
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
        AlwaysOn::RunIntent => {
            let checker = &turn.gateway.services.checker;
            let (asked, _) = arguments(checker, tool, params.get("arguments"))?;
            intent::run_intent(turn, asked, &params).await
        }
        AlwaysOn::RunCode => {
            let checker = &turn.gateway.services.checker;
            let (asked, _) = arguments(checker, tool, params.get("arguments"))?;
            code::run_code(turn, asked, &params).await
        }
        AlwaysOn::Search | AlwaysOn::Discover | AlwaysOn::EnableGroup => {
            looking(turn, surface, tool, &params).await
        }
    }
}
