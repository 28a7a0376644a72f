//! Tests of parsing: the tool that a file becomes, and the message for each mistake.

use std::path::Path;

use kitbag_domain::Remedy as _;
use kitbag_tool_spec::{AuthScheme, BodyPattern, PageRule};
use serde_json::json;

use super::*;

pub(crate) const TICKET: &str = r#"name = "ticket"
kind = "curated"
purpose = "Read and open tickets."
description = "Reads and opens tickets of the service desk."
owner = "support"
writes = "read + write"
intents = ["is there a ticket about the printer"]

[api]
url = "https://{credential.site}.desk.example/api/v2/"
credential = "desk"
auth = { scheme = "bearer" }
headers = { X-Client = "kitbag" }
timeout = "10s"

[actions.search]
description = "Search tickets by words."
writes = "read"
method = "GET"
path = "/tickets"
query = { q = "{words}", page = "{page}", per_page = 50 }
pages = { number = "page", items = "/tickets" }
answer = { pick = "/tickets", keep = ["/id", "/subject"] }
input = '''
{
  "type": "object",
  "properties": {
    "words": { "type": "string" },
    "page": { "type": "integer", "minimum": 1 }
  },
  "required": ["words"],
  "additionalProperties": false
}'''

[actions.open]
description = "Open a ticket."
writes = "write"
method = "POST"
path = "/tickets"
body = '''{
  "ticket": { "subject": "{subject}", "priority": "{priority}" }
}'''
input = '''
{
  "type": "object",
  "properties": {
    "subject": { "type": "string", "description": "One line." },
    "priority": { "type": "string", "enum": ["low", "high"], "default": "low" }
  },
  "required": ["subject"],
  "additionalProperties": false
}'''
examples = ['{ "subject": "The printer is on fire" }']
"#;

pub(crate) fn ticket() -> ToolFile {
    ToolFile::read(Path::new("tools/ticket.toml"), TICKET).unwrap()
}

#[test]
fn a_file_becomes_a_tool_with_all_its_declarations() {
    let tool = ticket();
    let api = tool.api.as_ref().unwrap();
    assert_eq!(tool.id.as_str(), "ticket");
    assert_eq!(tool.provider, "ticket");
    assert_eq!(api.hosts[0].to_string(), "*.desk.example");
    assert_eq!(api.auth, AuthScheme::Bearer);
    let [search, open] = tool.actions.as_slice() else {
        panic!("two actions")
    };
    let request = search.request.as_ref().unwrap();
    assert!(request.repeatable);
    assert!(matches!(request.pages, Some(PageRule::Number { .. })));
    assert_eq!(
        api.needed_fields(request).into_iter().collect::<Vec<_>>(),
        ["site", "token"]
    );
    let request = open.request.as_ref().unwrap();
    assert!(!request.repeatable);
    assert!(matches!(request.body, Some(BodyPattern::Json(_))));
    assert_eq!(
        request.defaults,
        *json!({ "priority": "low" }).as_object().unwrap()
    );
    assert_eq!(tool.line("actions.open.path"), 39);
    assert_eq!(open.line_in_input("priority"), 48);
}

#[test]
fn the_arguments_of_a_call_name_the_action() {
    let tool = ticket();
    let arguments = json!({ "action": "open", "subject": "x" });
    let (action, rest) = tool.choose(arguments.as_object().unwrap().clone()).unwrap();
    assert_eq!(action.name.as_str(), "open");
    assert_eq!(rest, *json!({ "subject": "x" }).as_object().unwrap());
    let missing = tool.choose(Map::new()).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "`action` is missing; it is one of `search`, `open`"
    );
}

/// Parses the file with one text replaced by another, and compares the messages.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(TICKET.contains(from), "{from}");
    let text = TICKET.replacen(from, to, 1);
    let found = ToolFile::read(Path::new("ticket.toml"), &text).unwrap_err();
    let messages: Vec<String> = found
        .iter()
        .map(|it| match it.remedy() {
            Some(remedy) => format!("{it} => {remedy}"),
            None => it.to_string(),
        })
        .collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|it| format!("ticket.toml, {it}"))
        .collect();
    assert_eq!(messages, expected);
}

#[test]
fn a_mistake_in_a_key_is_reported_with_its_position_and_advice() {
    check(
        "owner = ",
        "ownr = ",
        &[
            "line 5: unknown key `ownr` => did you mean `owner`?",
            "line 1: missing key `owner` => add owner = …",
        ],
    );
    check(
        "\"curated\"",
        "\"curate\"",
        &[
            "line 2, in `kind`: `curate` is not one of `curated`, `platform` => did you mean `curated`?",
        ],
    );
    check(
        "\"10s\"",
        "10",
        &["line 14, in `api.timeout`: expected a text, found an integer"],
    );
    check(
        "\"10s\"",
        "\"soon\"",
        &[
            "line 14, in `api.timeout`: `soon` is not a valid duration => write it like \"90s\", \"10m\" or \"1h30m\"",
        ],
    );
    for (action, wrong) in [("open", "does more than read"), ("opn", "is not an action")] {
        check(
            "credential = \"desk\"",
            &format!("credential = \"desk\"\ntest = \"{action}\""),
            &[&format!(
                "line 12, in `api.test`: `{action}` {wrong} => name an action that only reads and costs nothing"
            )],
        );
    }
    check(
        "name = \"ticket\"",
        "name = \"Ticket\"",
        &[
            "line 1, in `name`: the name `Ticket` contains 'T'; use lower-case letters, digits and `_`",
        ],
    );
    check(
        "writes = \"read + write\"",
        "writes = \"read\"",
        &[
            "line 6, in `writes`: the tool is declared `read`, but its actions make it `read + write` => write writes \
           = \"read + write\", or correct the `writes` of an action",
        ],
    );
    check(
        "name = \"ticket\"\nkind",
        "name = ticket\nkind",
        &["line 1: invalid TOML: invalid boolean, expected `true`"],
    );
}

#[test]
fn a_placeholder_without_a_property_is_reported_with_its_line() {
    check(
        "\"{priority}\"",
        "\"{priorty}\"",
        &[
            "line 41, in `actions.open.body`: `{priorty}` names no property of the action's `input` => did you mean \
           `{priority}`?",
        ],
    );
    check(
        "path = \"/tickets\"\nquery",
        "path = \"/tickets/{id}\"\nquery",
        &[
            "line 20, in `actions.search.path`: `{id}` names no property of the action's `input` => the properties are \
           `words`, `page`; write `{{` for a brace",
        ],
    );
    check(
        "number = \"page\"",
        "number = \"side\"",
        &[
            "line 22, in `actions.search.pages`: `{side}` names no property of the action's `input` => the properties \
           are `words`, `page`; write `{{` for a brace",
        ],
    );
    check(
        "X-Client = \"kitbag\"",
        "X-Client = \"{words}\"",
        &[
            "line 13, in `api.headers.X-Client`: `{words}` is an argument, but this applies to all actions => move it \
           into the actions, or use a field of the credential: {credential.FIELD}",
        ],
    );
    check(
        "{ q = \"{words}\"",
        "{ q = \"{wor ds}\"",
        &[
            "line 21, in `actions.search.query.q`: `{wor ds}` is not a placeholder => write `{name}`, `{name.inner}` or \
           `{credential.FIELD}`, and `{{` for a brace",
        ],
    );
}

#[test]
fn a_mistake_inside_json_is_reported_with_the_line_of_the_file() {
    check(
        "\"enum\": [\"low\", \"high\"],",
        "\"enum\": [\"low\" \"high\"],",
        &["line 48, in `actions.open.input`: this is not JSON: expected `,` or `]`"],
    );
    check(
        "\"subject\": { \"type\"",
        "\"action\": {}, \"subject\": { \"type\"",
        &[
            "line 47, in `actions.open.input`: the property name `action` is reserved: it names one of \
           several actions => give the property another name",
        ],
    );
}

#[test]
fn a_file_that_could_reach_other_hosts_or_repeat_a_message_is_rejected() {
    check(
        "https://{credential.site}.desk.example",
        "http://{credential.site}.desk.example",
        &[
            "line 10, in `api.url`: invalid API URL: an API must use `https:` => write it like \
           \"https://api.example/v1\"",
        ],
    );
    check(
        "https://{credential.site}.desk.example",
        "https://desk.{credential.site}",
        &[
            "line 10, in `api.url`: `desk.*` would allow whole top-level domains => write it like \"api.example\" or \
           \"email.*.amazonaws.com\"",
        ],
    );
    check(
        "credential = \"desk\"\n",
        "",
        &[
            "line 9, in `api`: it names fields of a credential, but `api.credential` is missing => name it, like \
           credential = \"desk\" under [api]",
        ],
    );
    check(
        "writes = \"write\"\nmethod",
        "writes = \"send\"\nrepeatable = true\nmethod",
        &[
            "line 38, in `actions.open.repeatable`: an action that sends a message cannot be repeatable => remove \
             `repeatable`",
        ],
    );
}

#[test]
fn a_tool_without_an_api_has_no_requests() {
    let start = TICKET.find("[api]").unwrap();
    let end = TICKET.find("[actions.search]").unwrap();
    let api = &TICKET[start..end];
    let text = TICKET.replace(api, "");
    let found = ToolFile::read(Path::new("ticket.toml"), &text).unwrap_err();
    assert_eq!(
        found[0].to_string(),
        "ticket.toml, line 12, in `actions.search.method`: `method` has no meaning in a tool without [api]"
    );
}
