//! The evaluation set `evals/p0` contains the tools of the catalog as declared in their files, and
//! their intents.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use kitbag_tool_files::{ToolCatalog, ToolFile, definition};
use serde_json::{Value, json};

/// If set, these tests write the lines of the catalog instead of comparing them.
const WRITE: &str = "KITBAG_WRITE_P0";
const FEWEST_INTENTS: usize = 3;

#[test]
fn the_tools_of_the_catalog_are_in_the_set_as_their_files_declare_them() {
    let catalog = ToolCatalog::built_in();
    let names: BTreeSet<&str> = catalog.tools().iter().map(|it| it.name.as_str()).collect();
    let others = lines("tools.jsonl").into_iter();
    let others = others.filter(|line| !names.contains(read(line)["id"].as_str().unwrap()));
    let ours = catalog.tools().iter().map(|tool| tool_line(tool));
    hold("tools.jsonl", &ours.chain(others).collect::<Vec<_>>());
}

#[test]
fn every_intent_of_the_catalog_is_a_request_of_the_set() {
    let catalog = ToolCatalog::built_in();
    // Requests that several tools answer, and requests for other tools, were written for the set
    // itself.
    let mut expected = lines("queries.jsonl");
    expected.retain(|line| !is_of_catalog(&read(line)));
    for tool in catalog.tools() {
        assert!(tool.intents.len() >= FEWEST_INTENTS, "{}", tool.id);
        expected.extend((1..).zip(&tool.intents).map(|it| query_line(tool, it)));
    }
    hold("queries.jsonl", &expected);
}

fn tool_line(tool: &ToolFile) -> String {
    let definition = definition(tool);
    let mut line = json!({
        "id": tool.name.as_str(),
        "server": tool.provider,
        "group": tool.provider,
        "name": tool.name.as_str(),
        "description": tool.description,
        "schema": definition["inputSchema"],
        "tags": tool.tags,
    });
    if !tool.scopes.is_empty() {
        line["scopes"] = json!(tool.scopes);
    }
    line.to_string()
}

fn query_line(tool: &ToolFile, (number, intent): (usize, &String)) -> String {
    let id = format!("{FROM_CATALOG}{}-{number}", tool.id);
    json!({ "id": id, "query": intent, "relevant": [tool.name.as_str()] }).to_string()
}

/// The prefix of the ids of requests that come from tool files.
const FROM_CATALOG: &str = "catalog-";

fn is_of_catalog(query: &Value) -> bool {
    query["id"].as_str().unwrap().starts_with(FROM_CATALOG)
}

fn read(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../evals/p0")).join(file)
}

fn lines(file: &str) -> Vec<String> {
    let text = fs::read_to_string(path(file)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Compares a file with its expected lines, or writes them.
fn hold(file: &str, expected: &[String]) {
    if std::env::var_os(WRITE).is_some() {
        fs::write(path(file), expected.join("\n") + "\n").unwrap();
        return;
    }
    let differs = lines(file).iter().zip(expected).any(|(a, b)| a != b);
    assert!(
        !differs && lines(file).len() == expected.len(),
        "evals/p0/{file} differs from the catalog; rewrite it: {WRITE}=1 cargo test -p kitbag-tool-files --test p0"
    );
}
