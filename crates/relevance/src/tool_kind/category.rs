//! A tool's category, from its name, description and hints.

use kitbag_domain::WriteClass;
use serde::{Deserialize, Serialize};

use super::verbs::{VerbCertainty, category_of, category_of_form};
use crate::terms::split_words;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCategory {
    /// Returns several things: all, or those that match a filter.
    Query,
    /// Finds things by text.
    Search,
    /// Returns one thing.
    Read,
    Create,
    Update,
    Delete,
    /// Delivers something to other people or systems.
    Send,
    /// Starts a process or an action.
    Run,
    /// Computes something new from its input or from data.
    Analyse,
    #[default]
    Other,
}

/// The parts of a definition that determine the category.
#[derive(Debug, Clone, Copy)]
pub struct CategorySource<'a> {
    /// The tool's name without the server prefix.
    pub name: &'a str,
    pub description: &'a str,
    pub write_class: WriteClass,
}

/// The verb is among the first words of a description, if it has one.
const FIRST_WORDS: usize = 12;

impl ToolCategory {
    /// Classifies a tool by its name. The description decides if the name has no verb or
    /// contradicts a read-only hint.
    #[must_use]
    pub fn from_definition(source: CategorySource<'_>) -> Self {
        let only_reads = source.write_class == WriteClass::Read;
        let described = category_from_description(source.description);
        // A read-only tool may still be named for creating a draft or a chart.
        let helpful = described.filter(|it| !(only_reads && it.is_change()));
        match category_from_name(source.name) {
            Some(named) if only_reads && named.is_change() => helpful.unwrap_or(named),
            Some(Self::Read) if begins_with_list(source.description) => Self::Query,
            Some(named) => named,
            None => helpful.unwrap_or_else(|| Self::from_write_class(source.write_class)),
        }
    }

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Search => "search",
            Self::Read => "read",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Send => "send",
            Self::Run => "run",
            Self::Analyse => "analyse",
            Self::Other => "other",
        }
    }

    fn from_write_class(write_class: WriteClass) -> Self {
        match write_class {
            WriteClass::Read => Self::Read,
            WriteClass::Write | WriteClass::Destructive => Self::Run,
            WriteClass::Unknown => Self::Other,
        }
    }

    fn is_change(self) -> bool {
        matches!(
            self,
            Self::Create | Self::Update | Self::Delete | Self::Send | Self::Run
        )
    }
}

fn category_from_name(name: &str) -> Option<ToolCategory> {
    let words: Vec<String> = split_words(name).collect();
    let certainties = [
        VerbCertainty::Common,
        VerbCertainty::Verb,
        VerbCertainty::Ambiguous,
    ];
    let (at, category) = certainties
        .iter()
        .find_map(|certainty| find_verb(&words, *certainty))?;
    Some(match category {
        ToolCategory::Read if is_plural_object(&words[at + 1..]) => ToolCategory::Query,
        ToolCategory::Run if names_query(&words[at + 1..]) => ToolCategory::Query,
        category => category,
    })
}

/// Returns the verb of a name. It is usually first or last; one in the middle may belong to a noun.
fn find_verb(words: &[String], certainty: VerbCertainty) -> Option<(usize, ToolCategory)> {
    let last = words.len().checked_sub(1)?;
    let mut positions = [0, last].into_iter().chain(1..last);
    positions.find_map(|at| Some((at, category_of(&words[at], certainty)?)))
}

/// True for the words after `get` in `get_open_issues_of_repository`.
fn is_plural_object(words: &[String]) -> bool {
    const PREPOSITIONS: [&str; 11] = [
        "by", "for", "from", "in", "of", "on", "to", "using", "with", "at", "and",
    ];
    // Words that look plural but mean one thing.
    const SINGULAR: [&str; 15] = [
        "details",
        "stats",
        "statistics",
        "settings",
        "status",
        "contents",
        "access",
        "address",
        "analysis",
        "canvas",
        "insights",
        "instructions",
        "news",
        "progress",
        "guidelines",
    ];
    let mut things = words.iter().map(String::as_str);
    let things = things
        .by_ref()
        .take_while(|word| !PREPOSITIONS.contains(word));
    let is_all = words.first().is_some_and(|word| word == "all");
    let last = things.last().unwrap_or_default();
    let is_plural = last.ends_with('s') && !last.ends_with("ss") && !last.ends_with("us");
    is_all || (is_plural && !SINGULAR.contains(&last))
}

fn names_query(words: &[String]) -> bool {
    let query = ["query", "queries", "sql", "promql", "cypher"];
    words.iter().any(|word| query.contains(&word.as_str()))
}

fn begins_with_list(description: &str) -> bool {
    let first = split_words(description).next();
    first.is_some_and(|word| {
        category_of_form(&word, VerbCertainty::Verb) == Some(ToolCategory::Query)
    })
}

fn category_from_description(description: &str) -> Option<ToolCategory> {
    let words: Vec<String> = split_words(description).take(FIRST_WORDS).collect();
    let mut verbs = words
        .iter()
        .filter_map(|word| category_of_form(word, VerbCertainty::Verb));
    verbs.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, description: &str, expect: ToolCategory) {
        check_hinted(name, description, WriteClass::Unknown, expect);
    }

    #[track_caller]
    fn check_hinted(name: &str, description: &str, hint: WriteClass, expect: ToolCategory) {
        let source = CategorySource {
            name,
            description,
            write_class: hint,
        };
        assert_eq!(
            ToolCategory::from_definition(source),
            expect,
            "{name}: {description}"
        );
    }

    #[test]
    fn the_verb_of_the_name_decides_in_any_position() {
        for (name, expect) in [
            ("list_issues", ToolCategory::Query),
            ("search-leads", ToolCategory::Search),
            ("getTodayDate", ToolCategory::Read),
            ("sql_server_create", ToolCategory::Create),
            ("queue_update_visibility", ToolCategory::Update),
            ("uptime-check-delete", ToolCategory::Delete),
            ("reply-all-to-inbound-message", ToolCategory::Send),
            ("ha_restart", ToolCategory::Run),
            ("analyze_trace", ToolCategory::Analyse),
            ("ApiV2010--CreateUsageTrigger", ToolCategory::Create),
            ("post_message", ToolCategory::Send),
            ("list_posts", ToolCategory::Query),
        ] {
            check(name, "", expect);
        }
    }

    #[test]
    fn several_things_are_queried_and_one_is_read() {
        check("get_tasks_for_tag", "", ToolCategory::Query);
        check("get_all_links", "", ToolCategory::Query);
        check("get_task_details", "", ToolCategory::Read);
        check("get_access", "", ToolCategory::Read);
        check(
            "cluster_get",
            "List/enumerate all clusters.",
            ToolCategory::Query,
        );
        check("execute_sql", "", ToolCategory::Query);
    }

    #[test]
    fn the_description_decides_if_the_name_has_no_verb() {
        check(
            "matrix_tool",
            "Calculates travel times.",
            ToolCategory::Analyse,
        );
        check(
            "weather",
            "This tool returns the weather.",
            ToolCategory::Read,
        );
        check("weather", "", ToolCategory::Other);
    }

    #[test]
    fn a_read_only_tool_is_not_classified_as_a_change() {
        let read = WriteClass::Read;
        check_hinted(
            "cli_install",
            "Provide instructions.",
            read,
            ToolCategory::Read,
        );
        check_hinted(
            "coding-rules",
            "Call when creating code.",
            read,
            ToolCategory::Read,
        );
        check_hinted(
            "generate_chart",
            "Generate a chart.",
            read,
            ToolCategory::Create,
        );
        check_hinted("weather", "", read, ToolCategory::Read);
        check_hinted("weather", "", WriteClass::Destructive, ToolCategory::Run);
    }
}
