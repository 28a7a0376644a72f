//! Ranks tools that are not Kitbag's by the words they share with a text. The index does not
//! contain them, so words are the only evidence.

use std::collections::HashSet;

use crate::trim::ListedTool;

/// Shorter words, such as articles, are in every description.
const SHORTEST: usize = 3;

/// Returns the names of the tools, most shared words first. Ties keep their order.
pub fn rank_by_shared_words<'a>(text: &str, tools: &[&'a ListedTool<'_>]) -> Vec<&'a str> {
    let wanted = word_set(text);
    let mut ranked: Vec<(usize, &str)> = tools
        .iter()
        .filter_map(|tool| Some((count_shared(&wanted, tool), tool.function.as_deref()?)))
        .collect();
    ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    ranked.into_iter().map(|(_, name)| name).collect()
}

fn count_shared(wanted: &HashSet<String>, tool: &ListedTool<'_>) -> usize {
    let name = tool.function.as_deref().unwrap_or_default();
    let own = word_set(&format!("{name} {}", tool.description));
    wanted.intersection(&own).count()
}

fn word_set(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= SHORTEST)
        .map(str::to_lowercase)
        .collect()
}
