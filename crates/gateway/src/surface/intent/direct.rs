//! One tool answers a request: a simple one that the words name, or one that was found for them.

use std::cmp::Reverse;
use std::sync::LazyLock;

use kitbag_domain::text::visible_line;
use kitbag_domain::{ExposedName, WriteClass};
use kitbag_intents::arguments::zones::{self, ZoneNames};
use kitbag_intents::arguments::{Binding, BoundCall, DescribedTool, bind};
use kitbag_intents::{AutomaticIntents, DirectCall};
use kitbag_wire::{RawObject, raw};
use serde_json::{Map, Value};

use super::{Attempt, IntentRequest, learn};
use crate::catalog::CatalogEntry;
use crate::surface::code;
use crate::surface::find::{DEFAULT_LIMIT, Findings, find_audited};
use crate::surface::tools::AlwaysOnTool;

/// A simple reading tool whose name the words are.
pub(super) async fn simple(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let automatic: &AutomaticIntents = turn
        .catalog
        .automatic(|entry| turn.gateway.write_class(entry));
    let usable = |name: &ExposedName| {
        let entry = turn.catalog.tool(name.as_str());
        entry.is_some_and(|entry| turn.sees(&entry.capability))
    };
    let found = automatic.find(&request.words, &request.given, usable);
    let Some(DirectCall { tool, arguments }) = found else {
        return Attempt::Nothing;
    };
    match turn.catalog.tool(tool.as_str()) {
        Some(entry) if fits(request, entry, &arguments) => call(request, entry, arguments).await,
        _ => Attempt::Nothing,
    }
}

/// The best of the tools that are found for the words of which the words say all arguments.
pub(super) async fn attempt(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    if let Some((entry, arguments)) = instead(request) {
        return call(request, entry, arguments).await;
    }
    let found = find_audited(
        turn,
        AlwaysOnTool::RunIntent.name(),
        &request.words,
        DEFAULT_LIMIT,
    )
    .await;
    match choose(request, &found) {
        Choice::Call(entry, arguments) => call(request, entry, arguments).await,
        Choice::Incomplete(note) => Attempt::Incomplete { note },
        Choice::None => Attempt::Nothing,
    }
}

enum Choice<'a> {
    Call(&'a CatalogEntry, Map<String, Value>),
    /// The best tool needs something that the words lack.
    Incomplete(String),
    None,
}

/// A tool with the arguments that the words have for it.
struct BoundTool<'a> {
    entry: &'a CatalogEntry,
    call: BoundCall,
}

fn choose<'a>(request: &IntentRequest, found: &'a Findings) -> Choice<'a> {
    let mut incomplete = None;
    let mut bound = Vec::new();
    for (rank, candidate) in found.candidates.iter().enumerate() {
        let Some(entry) = found.catalog.tool(&candidate.entry.tool_name) else {
            continue;
        };
        match binding(request, entry) {
            Binding::Complete(call) if fits(request, entry, &call.arguments) => {
                bound.push(BoundTool { entry, call });
            }
            Binding::Incomplete(names) if rank == 0 => incomplete = Some(missing(entry, &names)),
            _ => {}
        }
    }
    // Of tools that explain the words alike, the one whose name has most of them comes first.
    bound.sort_by_key(|it| {
        let BoundCall {
            unexplained, named, ..
        } = it.call;
        (unexplained, is_deprecated(it.entry), Reverse(named))
    });
    match bound.into_iter().next() {
        Some(best) if is_sure(request, found, &best) => {
            Choice::Call(best.entry, best.call.arguments)
        }
        _ => incomplete.map_or(Choice::None, Choice::Incomplete),
    }
}

/// True if a call is likely to be what was asked for. More is wanted of one that may write.
fn is_sure(request: &IntentRequest, found: &Findings, bound: &BoundTool<'_>) -> bool {
    let BoundCall {
        named, unexplained, ..
    } = bound.call;
    let reads = request.turn.gateway.write_class(bound.entry) == WriteClass::Read;
    if !reads {
        return unexplained == 0 && named > 0;
    }
    let near = found.is_confident() != Some(false);
    unexplained == 0 && (named > 0 || near)
}

fn binding(request: &IntentRequest, entry: &CatalogEntry) -> Binding {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    let tool = DescribedTool {
        server: entry.capability.server.as_str(),
        name: &entry.capability.name,
        description: &description,
        class: request.turn.gateway.write_class(entry),
        schema: &entry.input_schema(),
    };
    bind(&request.words, &request.given, &tool, zone_names())
}

fn is_deprecated(entry: &CatalogEntry) -> bool {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    description.to_lowercase().contains("deprecated")
}

fn missing(entry: &CatalogEntry, names: &[String]) -> String {
    let schema = entry.input_schema();
    let told = names.iter().map(|name| {
        let description = schema["properties"][name.as_str()]["description"].as_str();
        match description.map(visible_line).filter(|it| !it.is_empty()) {
            Some(description) => format!("{name} ({})", kitbag_domain::text::summary(&description)),
            None => name.clone(),
        }
    });
    let told: Vec<String> = told.collect();
    format!(
        "`{}` seems to do this, and the words lack {}.",
        entry.exposed,
        visible_line(&told.join(", "))
    )
}

/// The time zones that this machine knows.
pub(super) fn zone_names() -> &'static ZoneNames {
    static ZONES: LazyLock<ZoneNames> = LazyLock::new(|| {
        let names = jiff::tz::db().available();
        ZoneNames::of(names.map(|name| name.as_str().to_owned()))
    });
    &ZONES
}

/// The one tool that a failed template uses, with those of its parameters that the tool has.
fn instead(request: &IntentRequest) -> Option<(&CatalogEntry, Map<String, Value>)> {
    let DirectCall { tool, arguments } = request.instead.as_ref()?;
    let entry = request.turn.catalog.tool(tool.as_str())?;
    let (schema, mut arguments) = (entry.input_schema(), arguments.clone());
    arguments.retain(|name, _| has_parameter(&schema, name));
    fits(request, entry, &arguments).then_some((entry, arguments))
}

/// True if the arguments are those of the tool, and their values are what its schema and its
/// description allow.
fn fits(request: &IntentRequest, entry: &CatalogEntry, arguments: &Map<String, Value>) -> bool {
    let checker = &request.turn.gateway.services.checker;
    let reads = request.turn.gateway.write_class(entry) == WriteClass::Read;
    let schema = entry.input_schema();
    let known = arguments.keys().all(|name| has_parameter(&schema, name));
    let zones = zone_names();
    let placed = zones.is_empty() || zones::settle(&schema, &mut arguments.clone(), zones).is_ok();
    let checked = checker.check_arguments(&entry.definition, &raw(arguments));
    (reads || !arguments.is_empty()) && known && placed && checked.is_ok()
}

fn has_parameter(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
}

async fn call(
    request: &IntentRequest,
    entry: &CatalogEntry,
    mut arguments: Map<String, Value>,
) -> Attempt {
    let turn = &request.turn;
    // `fits` has seen that every zone can be settled.
    let _ = zones::settle(&entry.input_schema(), &mut arguments, zone_names());
    let ran = code::run_single_call(
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
