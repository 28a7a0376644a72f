//! Schemas as servers write them, arguments as models do, and the resulting text for the model.

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};

use super::*;

mod examples;

fn tool(schema: &Value) -> Raw {
    RawObject::new()
        .with("name", "tool")
        .with("inputSchema", schema)
        .with("outputSchema", schema)
        .to_raw()
}

fn text(schema: &Value, arguments: &Value) -> String {
    let checked = Checker::default().check_arguments(&tool(schema), &raw(arguments));
    checked.map_or_else(|misfit| misfit.to_string(), |()| "fine".to_owned())
}

#[track_caller]
fn check(schema: &Value, arguments: &Value, expected: &[&str]) {
    assert_eq!(text(schema, arguments), expected.join("\n"), "{arguments}");
}

fn issue() -> Value {
    json!({
        "type": "object",
        "properties": {
            "owner": { "type": "string" },
            "title": { "type": "string", "minLength": 1 },
            "labels": { "type": "array", "items": { "$ref": "#/$defs/Label" } },
            "state": { "enum": ["open", "closed"] },
            "page": { "type": ["integer", "null"], "minimum": 1 },
        },
        "required": ["owner", "title"],
        "additionalProperties": false,
        "$defs": { "Label": { "type": "string", "maxLength": 5 } },
    })
}

#[test]
fn valid_arguments_pass() {
    check(
        &issue(),
        &json!({ "owner": "a", "title": "b", "labels": ["x"], "page": null }),
        &["fine"],
    );
    check(
        &json!({ "type": "object" }),
        &json!({ "anything": [1] }),
        &["fine"],
    );
    check(&json!({}), &json!({}), &["fine"]);
    check(&json!(true), &json!({}), &["fine"]);
}

#[test]
fn each_mistake_is_reported_with_its_path_and_its_schema() {
    check(
        &issue(),
        &json!({ "owner": "a", "title": "b", "labels": [3, "toolong"], "state": "new", "page": 0 }),
        &[
            r#"- /labels/0: expected a string, got 3 (a number); schema: {"type":"string","maxLength":5}"#,
            r#"- /labels/1: expected at most 5 characters, got "toolong" (a string); schema: {"type":"string","maxLength":5}"#,
            r#"- /state: expected one of "open", "closed", got "new" (a string); schema: {"enum":["open","closed"]}"#,
            r#"- /page: expected at least 1, got 0 (a number); schema: {"type":["integer","null"],"minimum":1}"#,
            r#"Example: {"owner":"a","title":"b","labels":["3"],"state":"open","page":1}"#,
        ],
    );
}

/// Checks the example that is made of arguments.
#[track_caller]
fn example(schema: &Value, given: &Value, expected: Option<&Value>) {
    let checked = Checker::default().check_arguments(&tool(schema), &raw(given));
    let example = checked.unwrap_err().example;
    let example: Option<Value> = example.map(|text| serde_json::from_str(&text).unwrap());
    assert_eq!(example.as_ref(), expected, "{given}");
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

#[test]
fn names_of_another_part_of_the_schema_are_not_taken_for_mistakes() {
    let text = json!({ "type": "string" });
    let both = json!({ "allOf": [
        object(&json!({ "a_name": text }), &["a_name"]),
        object(&json!({ "b_text": text }), &["b_text"]),
    ] });
    example(
        &both,
        &json!({ "b_text": "x" }),
        Some(&json!({ "b_text": "x", "a_name": "…" })),
    );
    let either = json!({
        "type": "object",
        "properties": { "path": text, "url": text, "size": text },
        "anyOf": [{ "required": ["path"] }, { "required": ["url"] }],
    });
    example(
        &either,
        &json!({ "size": "x" }),
        Some(&json!({ "size": "x", "path": "…" })),
    );
}

#[test]
fn secrets_are_masked_in_messages_for_a_model() {
    fn mask(mut value: Value) -> Value {
        if let Some(password) = value.get_mut("password") {
            *password = json!("***");
        }
        value
    }
    let text = json!({ "type": "string" });
    let schema = object(
        &json!({ "user": text, "password": text }),
        &["user", "password"],
    );
    let sent = raw(&json!({ "password": 71_077_345, "login": "ann" }));
    let misfit = Checker::with_mask(mask)
        .check_arguments(&tool(&schema), &sent)
        .unwrap_err();
    let message = misfit.to_string();
    assert!(
        message.ends_with(r#"Example: {"password":"***","user":"ann"}"#),
        "{message}"
    );
    assert!(!message.contains("71077345"), "{message}");
}

#[test]
fn a_misspelt_name_is_recognized_on_both_sides() {
    check(
        &issue(),
        &json!({ "owner": "a", "titel": "b", "zzz": 1 }),
        &[
            r#"- /title: missing, expected a string; you sent `titel`; schema: {"type":"string","minLength":1}"#,
            "- /titel: there is no such parameter; did you mean `title`?",
            "- /zzz: there is no such parameter; there are `owner`, `title`, `labels`, `state`, `page`",
            r#"Example: {"owner":"a","title":"b"}"#,
        ],
    );
    let open = json!({ "properties": { "path": { "type": "string" } }, "required": ["path"] });
    check(
        &open,
        &json!({ "paths": "/x" }),
        &[
            r#"- /path: missing, expected a string; you sent `paths`; schema: {"type":"string"}"#,
            r#"Example: {"path":"/x"}"#,
        ],
    );
}

#[test]
fn arguments_of_another_type_are_reported_as_such() {
    let found = text(&issue(), &json!([]));
    assert!(
        found.starts_with(
            "- /: expected an object, got [] (an array); schema: {\"type\":\"object\""
        ),
        "{found}"
    );
}

#[test]
fn of_several_forms_the_one_that_was_meant_is_explained() {
    let shape = json!({
        "type": "object",
        "properties": {
            "shape": {
                "oneOf": [
                    { "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
                    { "properties": { "kind": { "const": "square" }, "side": { "type": "number" } }, "required": ["kind", "side"] },
                ],
            },
            "id": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
        },
    });
    check(
        &shape,
        &json!({ "shape": { "kind": "square", "side": "2" } }),
        &[
            r#"- /shape/side: expected a number, got "2" (a string); schema: {"type":"number"}"#,
            r#"Example: {"shape":{"kind":"square","side":2}}"#,
        ],
    );
    check(
        &shape,
        &json!({ "id": true }),
        &[
            r#"- /id: expected one of 2 forms, got true (a boolean); schema: {"anyOf":[{"type":"string"},{"type":"integer"}]}"#,
            r#"Example: {"id":"…"}"#,
        ],
    );
}

#[track_caller]
fn right(schema: &Value, arguments: &Value) {
    check(schema, arguments, &["fine"]);
}

#[track_caller]
fn wrong(schema: &Value, arguments: &Value) {
    assert_ne!(text(schema, arguments), "fine", "{schema}");
}

#[test]
fn every_dialect_is_understood_declared_or_not() {
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/schema#",
        "https://example.com/our-own-dialect",
    ] {
        let schema = json!({
            "$schema": dialect,
            "type": "object",
            "properties": { "a": { "$ref": "#/definitions/A" }, "b": { "$ref": "#/properties/a" } },
            "definitions": { "A": { "type": "integer" } },
        });
        right(&schema, &json!({ "a": 1, "b": 2 }));
        wrong(&schema, &json!({ "b": "2" }));
    }
    let draft_4 = json!({ "properties": { "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true } } });
    right(&draft_4, &json!({ "n": 1 }));
    wrong(&draft_4, &json!({ "n": 0 }));
    let draft_7 = json!({ "properties": { "pair": { "items": [{ "type": "string" }, { "type": "number" }] } } });
    right(&draft_7, &json!({ "pair": ["a", 1] }));
    wrong(&draft_7, &json!({ "pair": [1, 1] }));
    let open_api = json!({ "properties": { "n": { "type": "string", "nullable": true } } });
    right(&open_api, &json!({ "n": null }));
    wrong(&open_api, &json!({ "n": 1 }));
}

#[test]
fn external_references_are_not_fetched_and_the_rest_is_checked() {
    let schema = json!({
        "properties": {
            "a": { "$ref": "http://127.0.0.1:1/schema.json#/x" },
            "b": { "$ref": "#/definitions/Gone" },
            "c": { "type": "string" },
        },
    });
    check(&schema, &json!({ "a": 1, "b": 2, "c": "3" }), &["fine"]);
    check(
        &schema,
        &json!({ "a": 1, "c": 3 }),
        &[
            r#"- /c: expected a string, got 3 (a number); schema: {"type":"string"}"#,
            r#"Example: {"a":1,"c":"3"}"#,
        ],
    );
}

#[test]
fn a_schema_that_cannot_be_used_blocks_no_call() {
    for schema in [
        json!("not a schema"),
        json!(null),
        json!({ "type": "objet" }),
        json!({ "properties": [] }),
        json!({ "properties": { "a": { "pattern": "(" } } }),
        json!({ "properties": { "a": { "required": true } } }),
        json!({ "$ref": "#" }),
        json!({ "description": "x".repeat(2_000_000) }),
    ] {
        check(&schema, &json!({ "a": 1 }), &["fine"]);
    }
    let without = RawObject::new().with("name", "tool").to_raw();
    assert!(
        Checker::default()
            .check_arguments(&without, &raw(&json!({})))
            .is_ok()
    );
}

#[test]
fn formats_and_huge_numbers_are_left_to_the_server() {
    let schema = json!({ "properties": { "at": { "type": "string", "format": "date-time" } } });
    check(&schema, &json!({ "at": "tomorrow" }), &["fine"]);
    let huge: Raw = serde_json::from_str(r#"{"at":1e999}"#).unwrap();
    assert!(
        Checker::default()
            .check_arguments(&tool(&schema), &huge)
            .is_ok()
    );
}

#[test]
fn a_pattern_that_takes_for_ever_is_given_up() {
    let schema =
        json!({ "properties": { "a": { "type": "string", "pattern": r"^((a|aa)+)\1b$" } } });
    check(&schema, &json!({ "a": "a".repeat(100) }), &["fine"]);
}

#[test]
fn an_explanation_stays_short_whatever_the_schema() {
    let fields: serde_json::Map<_, _> = (0..500)
        .map(|n| {
            (
                format!("field_{n}"),
                json!({ "type": "string", "description": "long prose ".repeat(20) }),
            )
        })
        .collect();
    let names: Vec<_> = fields.keys().cloned().collect();
    let schema = json!({ "type": "object", "properties": fields, "required": names, "additionalProperties": false });
    let sent: serde_json::Map<_, _> = (0..500)
        .map(|n| (format!("other_{n}"), json!("x".repeat(100))))
        .collect();
    let found = text(&schema, &sent.into());
    assert!(found.len() < 4000, "{} characters", found.len());
    assert_eq!(
        found.lines().count(),
        5,
        "an example of 500 members would not be read"
    );
}

#[test]
fn a_result_is_checked_against_the_output_schema() {
    let checker = Checker::default();
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    assert!(
        checker
            .check_output(&tool(&schema), &raw(&json!({ "n": 1 })))
            .is_ok()
    );
    let misfit = checker
        .check_output(&tool(&schema), &raw(&json!({ "n": "1" })))
        .unwrap_err();
    let wrong = ViolationKind::Unfit {
        expected: "an integer".to_owned(),
        got: "\"1\" (a string)".to_owned(),
    };
    let schema = r#"{"type":"integer"}"#.to_owned();
    assert_eq!(
        misfit.violations,
        [Violation {
            path: "/n".to_owned(),
            wrong,
            schema
        }]
    );
}

#[test]
fn a_schema_is_compiled_once_and_shared_by_tools_that_have_the_same() {
    let checker = Checker::default();
    for _ in 0..3 {
        assert!(
            checker
                .check_arguments(&tool(&issue()), &raw(&json!({})))
                .is_err()
        );
    }
    assert_eq!(checker.compiled.lock().unwrap().len(), 1);
}

/// One of six hundred kinds that refer to each other in a cycle.
fn kind(n: usize) -> Value {
    let value =
        json!({ "type": "string", "description": format!("the value number {n} of this kind") });
    let next = json!({ "$ref": format!("#/$defs/kind_{}", (n + 1) % 600) });
    json!({ "type": "object", "properties": { "value": value, "next": next } })
}

#[test]
fn a_giant_schema_is_checked_like_any_other() {
    let definitions: serde_json::Map<_, _> =
        (0..600).map(|n| (format!("kind_{n}"), kind(n))).collect();
    let schema = json!({ "type": "object", "properties": { "first": { "$ref": "#/$defs/kind_0" } }, "$defs": definitions });
    assert!(schema.to_string().len() > 80_000);
    check(
        &schema,
        &json!({ "first": { "next": { "value": 3 } } }),
        &[
            r#"- /first/next/value: expected a string, got 3 (a number); schema: {"type":"string","description":"the value number 1 of this kind"}"#,
            r#"Example: {"first":{"next":{"value":"3"}}}"#,
        ],
    );
}
