//! The tools that may carry out a request, for the model to choose from.

use kitbag_domain::text::visible_line;
use kitbag_relevance::Options;
use kitbag_schema::DeclarationSize;

use super::{Attempt, IntentRequest};
use crate::find::{UNSURE, find};
use crate::signature::request as api_request;
use crate::surface::code::declared;
use crate::surface::shown;

/// Most tasks need three to five tools.
const MOST: usize = 5;

pub(super) async fn attempt(request: &IntentRequest) -> Attempt {
    let turn = &request.turn;
    let options = Options {
        top_k: MOST,
        tenant: Some(turn.caller().tenant.clone()),
        ..Options::default()
    };
    let found = find(&turn.gateway, turn.caller(), &request.words, &options).await;
    let names: Vec<&str> = found
        .candidates
        .iter()
        .map(|it| it.entry.tool_name.as_str())
        .collect();
    let lines: Vec<String> = names
        .iter()
        .filter_map(|name| match found.catalog.tool(name) {
            Some(entry) => Some(visible_line(&declared(entry, DeclarationSize::Short))),
            None => Some(api_request(
                turn.gateway.providers.get(&name.parse().ok()?)?.spec(),
            )),
        })
        .collect();
    if lines.is_empty() {
        return Attempt::Nothing;
    }
    shown::found(turn, names.into_iter());
    turn.gateway
        .services
        .intents
        .heard(&turn.client.id, &request.words);
    let head = match found.confident {
        Some(false) => format!("{UNSURE}; the nearest there is, for run_code:"),
        _ => "Tools for this, for run_code:".to_owned(),
    };
    Attempt::told(&format!("{head}\n{}", lines.join("\n")))
}
