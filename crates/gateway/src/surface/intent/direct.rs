//! One tool answers a request: a simple one that the words name, or one that was found for them.

use kitbag_domain::WriteClass;
use kitbag_intents::{AutomaticIntents, DirectCall};
use kitbag_relevance::Options;
use kitbag_wire::{RawObject, raw};
use serde_json::{Map, Value};

use super::{Attempt, IntentRequest, learn};
use crate::catalog::CatalogEntry;
use crate::find::find;
use crate::run::MadeCall;
use crate::surface::code::{self, RanProgram};

/// A simple reading tool whose name the words are.
pub(super) async fn simple(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let automatic: &AutomaticIntents = turn
        .catalog
        .automatic(|entry| turn.gateway.write_class(entry));
    let usable = |name: &kitbag_domain::ExposedName| {
        let entry = turn.catalog.tool(name.as_str());
        entry.is_some_and(|entry| turn.sees(&entry.capability))
    };
    let found = automatic.find(&request.words, &request.given, usable);
    let Some(DirectCall { tool, arguments }) = found else {
        return Attempt::Nothing;
    };
    match turn.catalog.tool(tool.as_str()) {
        Some(entry) => call(request, entry, arguments).await,
        None => Attempt::Nothing,
    }
}

/// The best tool that is found for the words, if it is likely to do and the parameters fit it.
pub(super) async fn attempt(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let options = Options {
        top_k: 1,
        tenant: Some(turn.caller().tenant.clone()),
        ..Options::default()
    };
    let found = find(&turn.gateway, turn.caller(), &request.words, &options).await;
    let best = found
        .candidates
        .first()
        .filter(|_| found.confident == Some(true));
    let entry = best.and_then(|best| found.catalog.tool(&best.entry.tool_name));
    match entry.filter(|entry| fits(request, entry)) {
        Some(entry) => call(request, entry, request.given.clone()).await,
        None => Attempt::Nothing,
    }
}

/// True if the parameters are those of the tool. A tool that could do without any is called
/// without any only if it reads.
fn fits(request: &IntentRequest, entry: &CatalogEntry) -> bool {
    let checker = &request.turn.gateway.services.checker;
    let arguments = raw(&request.given);
    let reads = request.turn.gateway.write_class(entry) == WriteClass::Read;
    let known = request.given.keys().all(|name| has_parameter(entry, name));
    (reads || !request.given.is_empty())
        && known
        && checker
            .check_arguments(&entry.definition, &arguments)
            .is_ok()
}

fn has_parameter(entry: &CatalogEntry, name: &str) -> bool {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    schema["properties"].get(name).is_some()
}

async fn call(
    request: &IntentRequest,
    entry: &CatalogEntry,
    arguments: Map<String, Value>,
) -> Attempt {
    let turn = &request.turn;
    let RanProgram {
        answer,
        failed,
        run,
        ..
    } = code::call_alone(turn.clone(), entry.exposed.clone(), raw(&arguments)).await;
    let calls = run.calls();
    if failed {
        return Attempt::Failed {
            answer,
            may_have_written: calls.iter().any(MadeCall::may_have_written),
        };
    }
    learn::tool_answered(turn, entry, &request.words, &arguments).await;
    let servers = vec![entry.capability.server.clone()];
    let reads = calls.iter().all(|call| !call.writes);
    let keep = reads.then_some((turn.gateway.code.cache, servers));
    Attempt::Done { answer, keep }
}
