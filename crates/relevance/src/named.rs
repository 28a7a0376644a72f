//! Finds the tools that a request names. A model that knows the name of a tool searches by that name,
//! and must not conclude from the answer that the tool is gone.
//!
//! Only names that are written as names count: `create_issue` names a tool, "create an issue" does not.

use crate::index::{Document, Index};

/// Returns the tools that the text names, by their positions in the index; each name has a group of
/// its own, in the order of the text.
pub(crate) fn named(index: &Index, text: &str) -> Vec<Vec<usize>> {
    identifiers(text)
        .map(|identifier| tools_of(index, identifier))
        .filter(|tools| !tools.is_empty())
        .collect()
}

/// More names than this are no request but a list.
const MOST_NAMES: usize = 10;

fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "_-./:`(".contains(c)));
    let written = words.filter(|word| is_written_as_name(word));
    written
        .map(bare)
        .filter(|it| !it.is_empty())
        .take(MOST_NAMES)
}

fn bare(word: &str) -> &str {
    let name = word.split('(').next().unwrap_or_default();
    name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_')
}

/// True for `create_issue`, `createIssue`, `create-issue`, `create()` and anything between backticks.
fn is_written_as_name(word: &str) -> bool {
    let name = bare(word);
    let letters = name.as_bytes();
    let is_joined = name.contains(['_', '-']);
    let is_camel = letters
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    is_joined || is_camel || word.contains('`') || word.ends_with('(') && word.len() > 1
}

/// The tool that clients call by this name; or else the tools that have it on their own servers. A
/// client may have put a prefix before the name, such as `mcp__kitbag__`.
fn tools_of(index: &Index, identifier: &str) -> Vec<usize> {
    let mut endings = endings(identifier);
    if let Some(exact) = endings.find_map(|ending| index.position(ending)) {
        return vec![exact];
    }
    let documents = index.documents.iter().enumerate();
    let matching = documents.filter(|(_, it)| is_called(it, identifier));
    matching.map(|(position, _)| position).collect()
}

/// The identifier, and what is left of it behind each `__`.
fn endings(identifier: &str) -> impl Iterator<Item = &str> {
    let cuts = identifier
        .match_indices("__")
        .map(|(at, cut)| at + cut.len());
    std::iter::once(0)
        .chain(cuts)
        .map(|start| &identifier[start..])
        .filter(|ending| ending.contains("__"))
}

/// True for the own name, alone or behind that of the server: `github.create_issue`.
fn is_called(document: &Document, identifier: &str) -> bool {
    let Some(before) = identifier.strip_suffix(document.name.as_str()) else {
        return false;
    };
    let separators = ["__", ".", "/", ":"];
    let owner = separators.iter().find_map(|it| before.strip_suffix(it));
    before.is_empty() || owner.is_some_and(|owner| owner.ends_with(&document.entry.provider))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{IndexedTool, Intent, Options, retrieve};

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

    fn document((provider, name, description): (&str, &str, &str)) -> Document {
        let entry = IndexedTool {
            tool_name: format!("{provider}__{name}"),
            description: description.to_owned(),
            provider: provider.to_owned(),
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
        let named: Vec<&str> = named(&index, request)
            .into_iter()
            .flatten()
            .map(|position| index.documents[position].entry.tool_name.as_str())
            .collect();
        assert_eq!(named, expect, "{request}");
    }

    #[test]
    fn a_name_that_is_written_as_one_is_recognised() {
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
    fn a_named_tool_is_first_whatever_else_sounds_like_the_request() {
        let text = "send an issue of the newsletter to readers of a repository: list_issues";
        let intent = Intent {
            text,
            vector: None,
            steps: &[],
            votes: None,
        };
        let found = retrieve(&index(), intent, &Options::default(), |_| true).candidates;
        assert_eq!(found[0].entry.tool_name, "github__list_issues");
        assert!(found[0].score > found[1].score && found[0].parts.named > 0.0);
        let found = retrieve(&index(), intent, &Options::default(), |at| at != 2).candidates;
        assert_eq!(
            found[0].entry.tool_name, "mail__send",
            "what is hidden stays hidden"
        );
    }
}
