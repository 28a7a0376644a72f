//! Searches among equivalent tools of different servers.
#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

mod support;

use std::sync::Arc;

use kitbag_domain::WriteClass;
use kitbag_relevance::{
    Candidate, Document, Index, IndexedTool, Options, Query, find_equivalents, retrieve,
};

use support::{ENCODER, document};

/// Server, tool and description.
const TOOLS: [(&str, &str, &str); 6] = [
    (
        "gitlab-acme",
        "create_issue",
        "Create a new issue in a project",
    ),
    (
        "gitlab-zebra",
        "create_issue",
        "Create a new issue in a project.",
    ),
    (
        "gitlab-zebra",
        "create_issue_note",
        "Add a note to an issue",
    ),
    ("files", "read_file", "Read a file"),
    ("disk", "delete_file", "Delete a file"),
    ("weather", "get_forecast", "Weather forecast for a place"),
];

/// The tools that share the first slot, the leading one first.
fn first_slot(tools: &[Document], text: &str) -> Vec<String> {
    let vector = ENCODER.embed(text);
    let query = Query {
        text,
        vector: Some(&vector),
        steps: &[],
        votes: None,
    };
    let index = Index::build(tools.to_vec());
    let found = retrieve(&index, query, &Options::default(), |_| true);
    names(&found.candidates[0])
}

fn names(candidate: &Candidate) -> Vec<String> {
    let tools = std::iter::once(&candidate.entry).chain(&candidate.copies);
    tools.map(|it| it.tool_name.clone()).collect()
}

fn tools() -> Vec<Document> {
    TOOLS
        .map(|(server, name, text)| document(server, name, text))
        .to_vec()
}

/// The same tool with a changed entry.
fn change_document(document: &Document, change: impl FnOnce(&mut IndexedTool)) -> Document {
    let mut entry = IndexedTool::clone(&document.entry);
    change(&mut entry);
    Document {
        entry: Arc::new(entry),
        ..document.clone()
    }
}

#[test]
fn tools_that_do_the_same_share_a_slot() {
    let slot = first_slot(&tools(), "open an issue about the login bug");
    assert_eq!(slot.len(), 2, "{slot:?}");
    assert!(
        slot.iter().all(|it| it.ends_with("__create_issue")),
        "{slot:?}"
    );
}

#[test]
fn a_request_that_names_a_server_keeps_its_tools_apart() {
    for (text, first) in [
        (
            "open an issue at gitlab zebra",
            "gitlab-zebra__create_issue",
        ),
        ("open an issue at gitlab acme", "gitlab-acme__create_issue"),
    ] {
        assert_eq!(first_slot(&tools(), text), [first], "{text}");
    }
    let slot = first_slot(&tools(), "open an issue at gitlab");
    assert_eq!(slot.len(), 2, "the word is in both names: {slot:?}");
}

#[test]
fn tools_with_other_effects_do_not_do_the_same() {
    let mut tools = tools();
    tools[0] = change_document(&tools[0], |it| it.write_class = WriteClass::Read);
    tools[1] = change_document(&tools[1], |it| it.write_class = WriteClass::Write);
    let slot = first_slot(&tools, "open an issue about the login bug");
    assert_eq!(slot.len(), 1, "{slot:?}");
}

#[test]
fn the_equivalent_tool_with_the_better_record_is_first() {
    let plain = tools();
    for better in [0, 1] {
        let mut tools = plain.clone();
        tools[better] = change_document(&plain[better], |it| it.success_rate = Some(1.0));
        tools[1 - better] = change_document(&plain[1 - better], |it| it.success_rate = Some(0.2));
        let slot = first_slot(&tools, "open an issue about the login bug");
        assert_eq!(slot[0], plain[better].entry.tool_name);
        assert_eq!(slot.len(), 2, "{slot:?}");
    }
}

#[test]
fn equivalents_of_a_tool_include_itself_and_tools_of_other_servers() {
    let index = Index::build(tools());
    assert_eq!(
        find_equivalents(&index, "gitlab-acme__create_issue"),
        [0, 1]
    );
    assert_eq!(find_equivalents(&index, "weather__get_forecast"), [5]);
    assert!(find_equivalents(&index, "nothing").is_empty());
}
