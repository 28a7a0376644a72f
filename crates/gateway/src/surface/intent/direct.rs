//! One tool answers a request: a simple one that the words name, or one that was found for them.

use kitbag_domain::WriteClass;
use kitbag_intents::{AutomaticIntents, DirectCall};
use kitbag_relevance::Confidence;
use kitbag_wire::raw;
use serde_json::{Map, Value};

use super::{Attempt, IntentRequest, learn};
use crate::catalog::CatalogEntry;
use crate::find::find_for;
use crate::surface::code;
use crate::surface::tools::AlwaysOn;

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
    if let Some((entry, arguments)) = instead(request) {
        return call(request, entry, arguments).await;
    }
    let found = find_for(turn, AlwaysOn::RunIntent.name(), &request.words, 1).await;
    let best = found
        .candidates
        .first()
        .filter(|_| found.confidence.is_some_and(Confidence::is_first_likely));
    let entry = best.and_then(|best| found.catalog.tool(&best.entry.tool_name));
    match entry.filter(|entry| fits(request, entry, &request.given)) {
        Some(entry) => call(request, entry, request.given.clone()).await,
        None => Attempt::Nothing,
    }
}

/// The one tool that a failed template uses, with those of its parameters that the tool has.
fn instead(request: &IntentRequest) -> Option<(&CatalogEntry, Map<String, Value>)> {
    let DirectCall { tool, arguments } = request.instead.as_ref()?;
    let entry = request.turn.catalog.tool(tool.as_str())?;
    let (schema, mut arguments) = (entry.input_schema(), arguments.clone());
    arguments.retain(|name, _| has_parameter(&schema, name));
    fits(request, entry, &arguments).then_some((entry, arguments))
}

/// True if the parameters are those of the tool. A tool that could do without any is called
/// without any only if it reads.
fn fits(request: &IntentRequest, entry: &CatalogEntry, given: &Map<String, Value>) -> bool {
    let checker = &request.turn.gateway.services.checker;
    let reads = request.turn.gateway.write_class(entry) == WriteClass::Read;
    let schema = entry.input_schema();
    let known = given.keys().all(|name| has_parameter(&schema, name));
    let checked = checker.check_arguments(&entry.definition, &raw(given));
    (reads || !given.is_empty()) && known && checked.is_ok()
}

fn has_parameter(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
}

async fn call(
    request: &IntentRequest,
    entry: &CatalogEntry,
    arguments: Map<String, Value>,
) -> Attempt {
    let turn = &request.turn;
    let ran = code::call_alone(
        turn.clone(),
        &request.words,
        entry.exposed.clone(),
        raw(&arguments),
    )
    .await;
    if !ran.has_failed() {
        learn::tool_answered(turn, entry, &request.words, &arguments).await;
    }
    Attempt::ended(ran, Some(turn.gateway.code.cache), None)
}
