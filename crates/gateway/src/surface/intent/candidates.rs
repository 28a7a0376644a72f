//! Candidate tools for a request, for the model to choose from: the best with their types, the next
//! ones in ten tokens each.

use std::iter::repeat;

use kitbag_domain::text::strip_to_one_line;
use kitbag_relevance::Candidate;
use kitbag_schema::DeclarationSize;

use super::{Attempt, IntentRequest};
use crate::call::observe;
use crate::surface::adaptive_list;
use crate::surface::code::tool_declaration;
use crate::surface::find::{DEFAULT_LIMIT, Findings, find_audited};
use crate::surface::signature::api_signature;
use crate::surface::tools::AlwaysOnTool;

/// Further candidates for `describe`, if the best do not match the request.
const MAX_FURTHER: usize = 5;

pub(super) async fn offer_candidates(request: &IntentRequest) -> Attempt {
    match list_candidates(request).await {
        Some(tools) => {
            let note = request.note.iter().map(|note| format!(" {note}"));
            let head = format!("Nothing was run.{}", note.collect::<String>());
            Attempt::from_text(&format!("{head} {tools}"))
        }
        None => Attempt::Nothing,
    }
}

/// Returns the tools as lines, if there are any.
pub(super) async fn list_candidates(request: &IntentRequest) -> Option<String> {
    let turn = &request.turn;
    let most = DEFAULT_LIMIT + MAX_FURTHER;
    let found = find_audited(turn, AlwaysOnTool::RunIntent.name(), &request.intent, most).await;
    let best = found.candidates.iter().take(DEFAULT_LIMIT);
    // A model usually calls the first.
    let sizes = std::iter::once(DeclarationSize::Guided).chain(repeat(DeclarationSize::Short));
    let lines = best.zip(sizes);
    let lines: Vec<String> = lines
        .filter_map(|(it, size)| candidate_line(request, &found, it, size))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let names = found.candidates.iter().take(DEFAULT_LIMIT);
    let names: Vec<&str> = names.map(|it| it.entry.tool_name.as_str()).collect();
    observe::report_search(turn, &request.intent, names.iter().copied());
    adaptive_list::add_found_tools(turn, names.into_iter());
    let intents = &turn.gateway.services.intents;
    let offered = found.candidates.iter();
    let offered = offered.map(|it| it.entry.tool_name.clone()).collect();
    intents.record_unanswered(&turn.client.id, &request.intent, offered);
    let head = match found.doubt_note() {
        Some(doubt) => format!("{doubt} For run_code:"),
        None => "Tools for this, for run_code:".to_owned(),
    };
    let head = found.correction_note().into_iter().chain([head]);
    let head = head.collect::<Vec<_>>().join("\n");
    let language = found.language_note();
    let parts = language.into_iter().chain([head]).chain(lines);
    let withheld = found.withheld.counts().lines();
    let parts = parts
        .chain(further_candidates_line(request, &found))
        .chain(withheld);
    Some(parts.collect::<Vec<_>>().join("\n"))
}

/// Formats a tool with its types, or the request that reaches an HTTP API.
fn candidate_line(
    request: &IntentRequest,
    found: &Findings,
    candidate: &Candidate,
    size: DeclarationSize,
) -> Option<String> {
    let name = &candidate.entry.tool_name;
    if let Some(entry) = found.catalog.tool(name) {
        return Some(strip_to_one_line(&tool_declaration(entry, size)));
    }
    let provider = request.turn.gateway.providers.get(&name.parse().ok()?)?;
    Some(api_signature(provider.spec()))
}

/// Formats the next candidates in one line: `Also: sentry.list_issues query/simple list_errors, …`.
fn further_candidates_line(request: &IntentRequest, found: &Findings) -> Option<String> {
    let gateway = &request.turn.gateway;
    let further = found.candidates.iter().skip(DEFAULT_LIMIT);
    let further = further.map(|it| {
        let template = gateway.code_template(&found.catalog, &it.entry.tool_name);
        it.entry.light_line(template)
    });
    let further: Vec<String> = further.collect();
    (!further.is_empty()).then(|| {
        format!(
            "Also, with describe(name): {}",
            strip_to_one_line(&further.join(", "))
        )
    })
}
