//! Answers a request with one tool: a simple one that the text names, or one found by a search.

use std::cmp::Reverse;
use std::sync::LazyLock;

use kitbag_domain::text::strip_to_one_line;
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

/// Tries a simple reading tool whose name matches the text.
pub(super) async fn try_automatic_intent(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let automatic: &AutomaticIntents = turn
        .catalog
        .automatic_intents(|entry| turn.gateway.write_class(entry));
    let usable = |name: &ExposedName| {
        let entry = turn.catalog.tool(name.as_str());
        entry.is_some_and(|entry| turn.can_see(&entry.capability))
    };
    let found = automatic.find(&request.intent, &request.params, usable);
    let Some(DirectCall { tool, arguments }) = found else {
        return Attempt::Nothing;
    };
    match turn.catalog.tool(tool.as_str()) {
        Some(entry) if can_call(request, entry, &arguments) => {
            run_tool(request, entry, arguments).await
        }
        _ => Attempt::Nothing,
    }
}

/// Tries the best found tool for which the text contains all arguments.
pub(super) async fn try_direct_call(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    if let Some((entry, arguments)) = call_instead_of_template(request) {
        return run_tool(request, entry, arguments).await;
    }
    let found = find_audited(
        turn,
        AlwaysOnTool::RunIntent.name(),
        &request.intent,
        DEFAULT_LIMIT,
    )
    .await;
    match choose_tool(request, &found) {
        Choice::Call(entry, arguments) => run_tool(request, entry, arguments).await,
        Choice::Incomplete(note) => Attempt::Incomplete { note },
        Choice::None => Attempt::Nothing,
    }
}

enum Choice<'a> {
    Call(&'a CatalogEntry, Map<String, Value>),
    /// The best tool needs an argument that the text lacks.
    Incomplete(String),
    None,
}

/// A tool with the arguments extracted from the text.
struct BoundTool<'a> {
    entry: &'a CatalogEntry,
    call: BoundCall,
}

fn choose_tool<'a>(request: &IntentRequest, found: &'a Findings) -> Choice<'a> {
    let mut incomplete = None;
    let mut bound = Vec::new();
    for (rank, candidate) in found.candidates.iter().enumerate() {
        let Some(entry) = found.catalog.tool(&candidate.entry.tool_name) else {
            continue;
        };
        match bind_arguments(request, entry) {
            Binding::Complete(call) if can_call(request, entry, &call.arguments) => {
                bound.push(BoundTool { entry, call });
            }
            Binding::Incomplete(names) if rank == 0 => {
                incomplete = Some(missing_arguments_note(entry, &names));
            }
            _ => {}
        }
    }
    // Of tools that explain the text equally, the one whose name contains most of it comes first.
    bound.sort_by_key(|it| {
        let BoundCall {
            unexplained, named, ..
        } = it.call;
        (unexplained, is_deprecated(it.entry), Reverse(named))
    });
    match bound.into_iter().next() {
        Some(best) if is_clear_choice(request, found, &best) => {
            Choice::Call(best.entry, best.call.arguments)
        }
        _ => incomplete.map_or(Choice::None, Choice::Incomplete),
    }
}

/// True if a call is probably what the request asks for. A call that may write needs more
/// confidence.
fn is_clear_choice(request: &IntentRequest, found: &Findings, bound: &BoundTool<'_>) -> bool {
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

fn bind_arguments(request: &IntentRequest, entry: &CatalogEntry) -> Binding {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    let tool = DescribedTool {
        server: entry.capability.server.as_str(),
        name: &entry.capability.name,
        description: &description,
        class: request.turn.gateway.write_class(entry),
        schema: &entry.input_schema(),
    };
    bind(&request.intent, &request.params, &tool, zone_names())
}

fn is_deprecated(entry: &CatalogEntry) -> bool {
    let definition = RawObject::open(&entry.definition).unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    description.to_lowercase().contains("deprecated")
}

fn missing_arguments_note(entry: &CatalogEntry, names: &[String]) -> String {
    let schema = entry.input_schema();
    let described = names.iter().map(|name| {
        let description = schema["properties"][name.as_str()]["description"].as_str();
        match description
            .map(strip_to_one_line)
            .filter(|it| !it.is_empty())
        {
            Some(description) => format!(
                "{name} ({})",
                kitbag_domain::text::first_sentence(&description)
            ),
            None => name.clone(),
        }
    });
    let described: Vec<String> = described.collect();
    format!(
        "`{}` seems to do this, but the request lacks {}.",
        entry.exposed,
        strip_to_one_line(&described.join(", "))
    )
}

/// Returns the time zones known to this machine.
pub(super) fn zone_names() -> &'static ZoneNames {
    static ZONES: LazyLock<ZoneNames> = LazyLock::new(|| {
        let names = jiff::tz::db().available();
        ZoneNames::new(names.map(|name| name.as_str().to_owned()))
    });
    &ZONES
}

/// Returns the only tool that a failed template uses, with the template's parameters that the tool
/// has.
fn call_instead_of_template(
    request: &IntentRequest,
) -> Option<(&CatalogEntry, Map<String, Value>)> {
    let DirectCall { tool, arguments } = request.instead.as_ref()?;
    let entry = request.turn.catalog.tool(tool.as_str())?;
    let (schema, mut arguments) = (entry.input_schema(), arguments.clone());
    arguments.retain(|name, _| has_parameter(&schema, name));
    can_call(request, entry, &arguments).then_some((entry, arguments))
}

/// True if the arguments belong to the tool, and their values are allowed by its schema and its
/// description.
fn can_call(request: &IntentRequest, entry: &CatalogEntry, arguments: &Map<String, Value>) -> bool {
    let checker = &request.turn.gateway.services.checker;
    let reads = request.turn.gateway.write_class(entry) == WriteClass::Read;
    let schema = entry.input_schema();
    let known = arguments.keys().all(|name| has_parameter(&schema, name));
    let zones = zone_names();
    let has_valid_zones =
        zones.is_empty() || zones::resolve_zones(&schema, &mut arguments.clone(), zones).is_ok();
    let checked = checker.check_arguments(&entry.definition, &raw(arguments));
    (reads || !arguments.is_empty()) && known && has_valid_zones && checked.is_ok()
}

fn has_parameter(schema: &Value, name: &str) -> bool {
    schema["properties"].get(name).is_some()
}

async fn run_tool(
    request: &IntentRequest,
    entry: &CatalogEntry,
    mut arguments: Map<String, Value>,
) -> Attempt {
    let turn = &request.turn;
    // `can_call` has checked that every zone is valid.
    let _ = zones::resolve_zones(&entry.input_schema(), &mut arguments, zone_names());
    let ran = code::run_single_call(
        turn.clone(),
        &request.intent,
        entry.exposed.clone(),
        raw(&arguments),
    )
    .await;
    if !ran.has_failed() {
        learn::learn_from_call(turn, entry, &request.intent, &arguments).await;
    }
    Attempt::from_program(ran, Some(turn.gateway.code.cache), None)
}
