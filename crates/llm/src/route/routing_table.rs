//! The models that the current routing table selects for a prompt.

use kitbag_tool_files::dated::{RouteRequest, RouteRow};

use crate::route::ranking::{RouteCandidate, rank_routes};
use crate::route::request::RouteCriteria;
use crate::route::{ChosenBy, ModelCandidate, ModelKnowledge, ModelPrompt, PromptError};

pub(crate) fn choose_routed(
    wish: &RouteCriteria,
    prompt: &ModelPrompt,
    known: &ModelKnowledge<'_>,
) -> Result<Vec<ModelCandidate>, PromptError> {
    let request = RouteRequest {
        needs_web: wish.needs_web,
        intent: wish.intent.clone(),
        quality: wish.quality.clone(),
        // A caller's own count is better than the estimate.
        context_tokens: wish.context_tokens.or(Some(known.prompt_tokens)),
    };
    let routes = known.day.routes(&request);
    let routes = routes.iter().map(|row| RouteCandidate {
        candidate: route_candidate(row, &request, known),
        is_stand_in: row.stand_in,
    });
    let ranked = rank_routes(routes.collect(), prompt, known);
    match ranked.is_empty() {
        true => Err(PromptError::NoRoute),
        false => Ok(ranked),
    }
}

fn route_candidate(
    row: &RouteRow,
    request: &RouteRequest,
    known: &ModelKnowledge<'_>,
) -> ModelCandidate {
    let chosen_by = ChosenBy::Route(row.name.clone());
    let found = ModelCandidate::new(known.day, &row.provider, &row.model, chosen_by);
    ModelCandidate {
        action: row.action.clone(),
        why: matching_condition(row, request),
        ..found
    }
}

/// Describes the condition of the route that the request meets.
fn matching_condition(row: &RouteRow, request: &RouteRequest) -> String {
    if row.needs_web && request.needs_web {
        return "the answer needs the web".to_owned();
    }
    if let Some(intent) = find_match(&row.intents, request.intent.as_ref()) {
        return format!("the intent is `{intent}`");
    }
    if let Some(quality) = find_match(&row.qualities, request.quality.as_ref()) {
        return format!("the quality is `{quality}`");
    }
    match row.more_context_than {
        Some(most) => format!("the prompt has more than {most} tokens"),
        None => "no other route matches".to_owned(),
    }
}

fn find_match<'r>(words: &[String], word: Option<&'r String>) -> Option<&'r String> {
    word.filter(|word| words.contains(word))
}
