//! The data matches its schema, and the schema and the types reject the same mistakes.

use std::fs;
use std::path::Path;

use kitbag_agents::record::{Category, Granularity, Maturity, RecordStatus, Tier};
use kitbag_agents::{DataError, Library};
use kitbag_domain::Remedy as _;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::root;

#[test]
fn every_file_matches_the_schema_and_the_twelve_built_in_files_equal_those_on_disk() {
    let schema = schema();
    let library = Library::built_in();
    assert_eq!(library.agents.len(), 12);
    for agent in &library.agents {
        let path = root().join(format!(
            "agents/{}/capabilities/current.json",
            agent.agent.id
        ));
        let file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let wrong: Vec<String> = schema.iter_errors(&file).map(|it| it.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
    }
    let on_disk = Library::open(&root()).unwrap();
    assert_eq!(on_disk.agents, library.agents);
}

#[test]
fn the_four_first_class_agents_come_first() {
    let library = Library::built_in();
    let first: Vec<&str> = library
        .agents
        .iter()
        .filter(|it| it.agent.first_class)
        .map(|it| it.agent.id.as_str())
        .collect();
    assert_eq!(
        first,
        ["claude-code", "copilot-cli", "gemini-cli", "vscode-copilot"]
    );
    assert!(library.agents[..4].iter().all(|it| it.agent.first_class));
}

#[test]
fn the_enums_of_the_schema_equal_those_of_the_program() {
    fn check<T: DeserializeOwned + std::fmt::Debug>(place: &str) {
        // The error for an unknown word names all known ones.
        let known = serde_json::from_value::<T>(json!("?"))
            .unwrap_err()
            .to_string();
        let known: Vec<&str> = known.split('`').skip(3).step_by(2).collect();
        assert_eq!(read_schema().pointer(place), Some(&json!(known)), "{place}");
    }
    check::<Category>("/$defs/capability/properties/category/enum");
    check::<Tier>("/$defs/capability/properties/tier/enum");
    check::<Maturity>("/$defs/capability/properties/maturityLevel/enum");
    check::<RecordStatus>("/$defs/capability/properties/status/enum");
    check::<RecordStatus>("/$defs/source/properties/status/enum");
    check::<Granularity>("/$defs/source/properties/granularity/enum");
}

#[test]
fn the_schema_describes_every_field() {
    fn check(place: &str, part: &Value) {
        let Some(part) = part.as_object() else { return };
        for (name, field) in part
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            assert!(field["description"].is_string(), "{place}/{name}");
        }
        for (name, below) in part
            .get("$defs")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            check(name, below);
        }
    }
    check("", &read_schema());
}

#[test]
fn a_mistake_is_rejected_by_the_schema_and_named_by_file_entry_and_field() {
    let entry = "capabilities/0";
    let mistakes: [(&str, Value, &str); 22] = [
        (
            "agent/id",
            json!("Some Agent"),
            "field `agent.id`: an id consists of lower-case letters",
        ),
        (
            "agent/vendor",
            json!(" "),
            "field `agent.vendor`: it is empty",
        ),
        (
            "agent/lastUpdated",
            json!("2026-08-22T00:00:00Z"),
            "field `agent.lastUpdated`: `2026-08-22T00",
        ),
        (
            "agent/colour",
            json!("red"),
            "field `agent.colour`: unknown field `colour`",
        ),
        (
            "documentation/github",
            json!("ftp://x/y"),
            "field `documentation.github`: not an address that begins",
        ),
        (
            "capabilities",
            json!([]),
            "field `capabilities`: it is empty",
        ),
        (
            entry,
            json!({}),
            "entry `number 0`, field ``: missing field `name`",
        ),
        (
            "capabilities/0/category",
            json!("cooking"),
            "entry `MCP`, field `category`: unknown variant `cooking`",
        ),
        (
            "capabilities/0/available",
            json!("yes"),
            "entry `MCP`, field `available`: invalid type",
        ),
        (
            "capabilities/0/available",
            Value::Null,
            "entry `MCP`, field `status`: the status must be `unknown` if",
        ),
        (
            "capabilities/0/status",
            json!("unknown"),
            "entry `MCP`, field `status`: the status must be `unknown` if",
        ),
        (
            "capabilities/0/tier",
            json!("gold"),
            "entry `MCP`, field `tier`: unknown variant `gold`",
        ),
        (
            "capabilities/0/maturityLevel",
            json!(1),
            "entry `MCP`, field `maturityLevel`: invalid type",
        ),
        (
            "capabilities/0/description",
            json!(""),
            "entry `MCP`, field `description`: it is empty",
        ),
        (
            "capabilities/0/sources",
            json!([]),
            "entry `MCP`, field `sources`: a known capability needs a source",
        ),
        (
            "capabilities/0/implementationNotes",
            json!({ "set-up": "x" }),
            "field `implementationNotes.set-up`",
        ),
        (
            "capabilities/0/implementationNotes",
            json!({ "startUrl": "here" }),
            "field `implementationNotes.startUrl`",
        ),
        (
            "capabilities/0/implementationNotes",
            json!({ "gotchas": [""] }),
            "`implementationNotes.gotchas[0]`",
        ),
        (
            "capabilities/0/sources/0/url",
            json!("example.org"),
            "entry `MCP`, field `sources[0].url`",
        ),
        (
            "capabilities/0/sources/0/verifiedDate",
            json!("May 2026"),
            "`sources[0].verifiedDate`: `May 2026` is not",
        ),
        (
            "capabilities/0/sources/0/granularity",
            json!("excerpt"),
            "field `sources[0].excerpt`: a quotation",
        ),
        (
            "capabilities/0/sources/0/excerpt",
            json!("x".repeat(60)),
            "field `sources[0].excerpt`: a quotation",
        ),
    ];
    let schema = schema();
    assert!(schema.is_valid(&sound()));
    for (at, value, reported) in mistakes {
        let mut file = sound();
        put(&mut file, at, value.clone());
        assert!(!schema.is_valid(&file), "the schema takes {at} = {value}");
        let error = open(&file).unwrap_err().to_string();
        assert!(
            error.contains("agents/some-agent/capabilities/current.json"),
            "{error}"
        );
        assert!(
            error.contains(reported),
            "{at} = {value} is reported as: {error}"
        );
    }
}

#[test]
fn a_missing_field_is_rejected_by_the_reader_and_the_schema() {
    let fields = [
        "agent",
        "capabilities",
        "agent/version",
        "capabilities/0/available",
        "capabilities/0/status",
    ];
    let more = [
        "capabilities/0/sources",
        "capabilities/0/description",
        "capabilities/0/sources/0/verifiedDate",
    ];
    for at in fields.into_iter().chain(more) {
        let mut file = sound();
        let (parent, field) = at
            .rsplit_once('/')
            .map_or(("", at), |(parent, field)| (parent, field));
        let pointer = if parent.is_empty() {
            String::new()
        } else {
            format!("/{parent}")
        };
        file.pointer_mut(&pointer)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(field)
            .unwrap();
        assert!(!schema().is_valid(&file), "{at}");
        let error = open(&file).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn files_that_contradict_each_other_are_rejected() {
    let check = |name: &str, category: &str, reported: &str| {
        let mut other = sound();
        put(&mut other, "agent/id", json!("other"));
        put(&mut other, "capabilities/0/name", json!(name));
        put(&mut other, "capabilities/0/category", json!(category));
        let error = open_all(&[("some-agent", &sound()), ("other", &other)])
            .unwrap_err()
            .to_string();
        assert!(error.contains(reported), "{error}");
    };
    check("mcp", "api-integration", "one capability has one name");
    check("MCP", "security", "one capability has one category");
    let mut twice = sound();
    let first = twice["capabilities"][0].clone();
    twice["capabilities"].as_array_mut().unwrap().push(first);
    assert!(
        open(&twice)
            .unwrap_err()
            .to_string()
            .contains("listed twice")
    );
    let error = open_all(&[("elsewhere", &sound())])
        .unwrap_err()
        .to_string();
    assert!(error.contains("is in the folder `elsewhere`"), "{error}");
}

#[test]
fn an_alias_for_nothing_is_rejected_and_names_itself() {
    let directory = lay_out(&[("some-agent", &sound())]);
    let check = |file: &str, text: &str, reported: &str| {
        let path = directory.path().join("framework/data");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(file), text).unwrap();
        let error = Library::open(directory.path()).unwrap_err().to_string();
        fs::remove_file(path.join(file)).unwrap();
        assert!(error.contains(file) && error.contains(reported), "{error}");
    };
    check(
        "aliases.json",
        r#"{"tools":"Magic"}"#,
        "field `tools`: no agent has a capability called `Magic`",
    );
    check(
        "aliases.json",
        r#"{"tools":7}"#,
        "field `tools`: invalid type",
    );
    check(
        "agent-aliases.json",
        r#"{"some":["nobody"]}"#,
        "field `some`: there is no agent `nobody`",
    );
    check("aliases.json", "{", "field `line 1, column 1`: EOF");
    assert!(
        Library::open(directory.path()).is_ok(),
        "the aliases in the binary apply as far as they fit"
    );
}

#[test]
fn a_directory_without_agents_is_reported_with_the_expected_layout() {
    let directory = tempfile::tempdir().unwrap();
    let error = Library::open(directory.path()).unwrap_err();
    assert!(matches!(error, DataError::Unreadable { .. }), "{error}");
    fs::create_dir(directory.path().join("agents")).unwrap();
    let error = Library::open(directory.path()).unwrap_err();
    assert!(
        error
            .remedy()
            .unwrap()
            .contains("agents/<agent>/capabilities/current.json"),
        "{error}"
    );
}

/// A small file without mistakes.
fn sound() -> Value {
    json!({
        "agent": {
            "id": "some-agent", "name": "Some Agent", "vendor": "Somebody", "version": "1.0",
            "lastUpdated": "2026-08-01",
        },
        "documentation": { "officialDocs": "https://example.org/docs" },
        "capabilities": [{
            "name": "MCP",
            "category": "api-integration",
            "available": true,
            "status": "active",
            "description": "Takes tools from MCP servers.",
            "sources": [{
                "url": "https://example.org/docs/mcp",
                "description": "MCP",
                "verifiedDate": "2026-08-01",
                "status": "active",
                "granularity": "dedicated",
            }],
        }],
    })
}

fn put(file: &mut Value, at: &str, value: Value) {
    let (parent, field) = at.rsplit_once('/').unwrap_or(("", at));
    let parent = if parent.is_empty() {
        String::new()
    } else {
        format!("/{parent}")
    };
    match file.pointer_mut(&parent).unwrap() {
        Value::Array(items) => items[field.parse::<usize>().unwrap()] = value,
        object => object[field] = value,
    }
}

fn open(file: &Value) -> Result<Library, DataError> {
    open_all(&[("some-agent", file)])
}

fn open_all(files: &[(&str, &Value)]) -> Result<Library, DataError> {
    Library::open(lay_out(files).path())
}

fn lay_out(files: &[(&str, &Value)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (folder, file) in files {
        let path = directory
            .path()
            .join(format!("agents/{folder}/capabilities"));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("current.json"), file.to_string()).unwrap();
    }
    directory
}

fn schema() -> jsonschema::Validator {
    jsonschema::validator_for(&read_schema()).unwrap()
}

fn read_schema() -> Value {
    let path: &Path = &root().join("agents/schema/capabilities.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}
