//! Finds tools that a query names. A model that knows a tool's name searches for it, and must not
//! conclude from the results that the tool is gone.
//!
//! Only names written as names count: `create_issue` names a tool, "create an issue" does not.

use crate::index::{Document, Index};

/// Returns the positions of the tools that the text names, one group per name, in the order of the
/// text.
pub(crate) fn find_named_tools(index: &Index, text: &str) -> Vec<Vec<usize>> {
    find_identifiers(text)
        .map(|identifier| find_tools(index, identifier))
        .filter(|tools| !tools.is_empty())
        .collect()
}

/// A text with more names is a list, not a query.
const MAX_NAMES: usize = 10;

fn find_identifiers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_-./:`(".contains(c)));
    let written = words.filter(|word| is_written_as_name(word));
    written
        .map(strip_punctuation)
        .filter(|it| !it.is_empty())
        .take(MAX_NAMES)
}

fn strip_punctuation(word: &str) -> &str {
    let name = word.split('(').next().unwrap_or_default();
    name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_')
}

/// True for `create_issue`, `createIssue`, `create-issue`, `create()` and text in backticks.
fn is_written_as_name(word: &str) -> bool {
    let name = strip_punctuation(word);
    let letters = name.as_bytes();
    let is_joined = name.contains(['_', '-']);
    let is_camel = letters
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    is_joined || is_camel || word.contains('`') || word.ends_with('(') && word.len() > 1
}

/// Finds the tool with this exposed name, else the tools that have it as their own name. A client
/// may have added a prefix such as `mcp__kitbag__`.
fn find_tools(index: &Index, identifier: &str) -> Vec<usize> {
    let mut suffixes = name_suffixes(identifier);
    if let Some(exact) = suffixes.find_map(|ending| index.position(ending)) {
        return vec![exact];
    }
    let documents = index.documents.iter().enumerate();
    let matching = documents.filter(|(_, it)| is_called(it, identifier));
    matching.map(|(position, _)| position).collect()
}

/// Returns the identifier and its suffixes after each `__`.
fn name_suffixes(identifier: &str) -> impl Iterator<Item = &str> {
    let cuts = identifier
        .match_indices("__")
        .map(|(at, cut)| at + cut.len());
    std::iter::once(0)
        .chain(cuts)
        .map(|start| &identifier[start..])
        .filter(|ending| ending.contains("__"))
}

/// True for the tool's own name, with or without the server: `github.create_issue`.
fn is_called(document: &Document, identifier: &str) -> bool {
    let Some(before) = identifier.strip_suffix(document.name.as_str()) else {
        return false;
    };
    let separators = ["__", ".", "/", ":"];
    let owner = separators.iter().find_map(|it| before.strip_suffix(it));
    before.is_empty() || owner.is_some_and(|owner| owner.ends_with(&document.entry.server))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IndexedTool, Options, Query, retrieve};

    const TOOLS: [(&str, &str, &str); 6] = [
        ("github", "create_issue", "Opens an issue in a repository."),
        ("gitlab", "create_issue", "Opens an issue in a project."),
        ("github", "list_issues", "Lists the issues of a repository."),
        ("notes", "createNote", "Writes a note down."),
        ("notion", "API-post-page", "Create a page."),
        (
            "mail",
            "send",
            "Sends an issue of the newsletter to a repository of readers, or creates one.",
        ),
    ];

    fn index() -> Index {
        Index::build(TOOLS.map(document).to_vec())
    }

    fn document((server, name, description): (&str, &str, &str)) -> Document {
        let entry = IndexedTool {
            tool_name: format!("{server}__{name}"),
            description: description.to_owned(),
            server: server.to_owned(),
            ..IndexedTool::default()
        };
        Document {
            entry: Arc::new(entry),
            name: name.to_owned(),
            parameters: Vec::new(),
            twin: None,
            vector: None,
        }
    }

    #[track_caller]
    fn check(request: &str, expect: &[&str]) {
        let index = index();
        let named: Vec<&str> = find_named_tools(&index, request)
            .into_iter()
            .flatten()
            .map(|position| index.documents[position].entry.tool_name.as_str())
            .collect();
        assert_eq!(named, expect, "{request}");
    }

    #[test]
    fn a_name_that_is_written_as_one_is_recognized() {
        check("github__create_issue", &["github__create_issue"]);
        check(
            "mcp__kitbag__github__create_issue",
            &["github__create_issue"],
        );
        check("call `github.create_issue` now", &["github__create_issue"]);
        check(
            "run create_issue, please.",
            &["github__create_issue", "gitlab__create_issue"],
        );
        check(
            "createNote(\"x\") then list_issues",
            &["notes__createNote", "github__list_issues"],
        );
        check("API-post-page", &["notion__API-post-page"]);
        check(
            "use `send` for it, or send() it",
            &["mail__send", "mail__send"],
        );
    }

    #[test]
    fn words_that_are_not_written_as_names_are_only_words() {
        check("create an issue and send it", &[]);
        check("send the follow-up to GitHub (soon)", &[]);
        check("other__create_issue_two", &[]);
        check("", &[]);
    }

    #[test]
    fn a_named_tool_is_first_whatever_else_matches_the_request() {
        let text = "send an issue of the newsletter to readers of a repository: list_issues";
        let query = Query {
            text,
            vector: None,
            steps: &[],
            votes: None,
        };
        let found = retrieve(&index(), query, &Options::default(), |_| true).candidates;
        assert_eq!(found[0].entry.tool_name, "github__list_issues");
        assert!(found[0].score > found[1].score && found[0].parts.named > 0.0);
        let found = retrieve(&index(), query, &Options::default(), |at| at != 2).candidates;
        assert_eq!(
            found[0].entry.tool_name, "mail__send",
            "what is hidden stays hidden"
        );
    }
}
