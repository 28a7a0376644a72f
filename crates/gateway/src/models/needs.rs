//! Collects the tools that a request needs, by reason.

use kitbag_llm::trim::{DialogueUpdate, Mentions, ToolNeeds, rank_by_shared_words};

use super::request_tools::RequestTools;
use crate::catalog::Catalog;
use crate::state::gateway::Gateway;
use crate::surface::tools::AlwaysOnTool;

/// A result may mention hundreds of tools. More than these would crowd out the tools relevant to
/// the user's text.
const MAX_MENTIONED: usize = 10;

/// Returns the needs of Kitbag's tools, without relevant tools, which need a search.
pub(super) fn own_needs<'r>(
    gateway: &Gateway,
    catalog: &Catalog,
    tools: &RequestTools<'r>,
    update: &DialogueUpdate<'_>,
) -> ToolNeeds<'r> {
    let demanded = tools.request.demanded.iter();
    let calls = tools.dialogue().calls.iter().rev();
    ToolNeeds {
        demanded: demanded
            .filter_map(|name| tools.own_name_for(name))
            .collect(),
        always_on: tools
            .all_own()
            .filter(|name| AlwaysOnTool::from_name(name).is_some())
            .collect(),
        used: calls.filter_map(|name| tools.own_name_for(name)).collect(),
        pinned: tools
            .all_own()
            .filter(|name| {
                catalog
                    .tool(name)
                    .is_some_and(|entry| gateway.is_pinned(entry))
            })
            .collect(),
        relevant: None,
        mentioned: mentioned_tools(&Mentions::new(tools.spellings()), update),
    }
}

/// Returns the needs of foreign tools. They are not in the index, so shared words rank them.
pub(super) fn foreign_needs<'r>(
    tools: &RequestTools<'r>,
    update: &DialogueUpdate<'_>,
) -> ToolNeeds<'r> {
    let demanded = tools.request.demanded.iter();
    let calls = tools.dialogue().calls.iter().rev();
    let definitions = tools.foreign_definitions();
    let names = definitions
        .iter()
        .filter_map(|it| it.function.as_deref())
        .map(|name| (name, name));
    ToolNeeds {
        demanded: demanded
            .filter_map(|name| tools.find_foreign(name))
            .collect(),
        used: calls.filter_map(|name| tools.find_foreign(name)).collect(),
        relevant: update
            .are_words_new
            .then(|| rank_by_shared_words(&tools.dialogue().words, &definitions)),
        mentioned: mentioned_tools(&Mentions::new(names), update),
        ..ToolNeeds::default()
    }
}

/// Returns the mentioned tools: those in the latest text first, and within a text in order, because
/// lists begin with the best.
fn mentioned_tools<'r>(names: &Mentions<'r>, update: &DialogueUpdate<'_>) -> Vec<&'r str> {
    let texts = update.texts.iter().rev();
    let named: Vec<&'r str> = texts
        .flat_map(|text| names.in_text(text).collect::<Vec<_>>())
        .collect();
    let mut first = Vec::new();
    for name in named {
        if first.len() < MAX_MENTIONED && !first.contains(&name) {
            first.push(name);
        }
    }
    first
}
