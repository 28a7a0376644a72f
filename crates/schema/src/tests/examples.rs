//! The example in an argument error: the caller's own call, corrected.

use super::*;

#[test]
fn the_value_of_a_wrong_name_moves_to_the_parameter_that_was_meant() {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let sql = object(&json!({ "query": text, "rows": number }), &["query"]);
    let git = object(
        &json!({ "repo_path": text, "max_count": number }),
        &["repo_path"],
    );
    let edit = object(
        &json!({ "oldText": text, "newText": text }),
        &["oldText", "newText"],
    );
    let edits = object(
        &json!({ "path": text, "edits": { "type": "array", "items": edit } }),
        &["path", "edits"],
    );
    let rows = object(
        &json!({ "table": text, "limit": number }),
        &["table", "limit"],
    );
    for (schema, given, expected) in [
        (
            &sql,
            json!({ "sql": "select 1" }),
            json!({ "query": "select 1" }),
        ),
        (
            &sql,
            json!({ "sql": "select 1", "rows": 3 }),
            json!({ "rows": 3, "query": "select 1" }),
        ),
        (&git, json!({ "path": "/r" }), json!({ "repo_path": "/r" })),
        (
            &git,
            json!({ "repoPath": "/r", "count": 2 }),
            json!({ "repo_path": "/r", "max_count": 2 }),
        ),
        (
            &rows,
            json!({ "relation": "t", "n": 2 }),
            json!({ "table": "t", "limit": 2 }),
        ),
        (
            &edits,
            json!({ "file": "a", "edits": [{ "old_text": "x", "replacement": "y" }] }),
            json!({ "edits": [{ "oldText": "x", "newText": "y" }], "path": "a" }),
        ),
        // A value of another type was not meant, and its name is not repeated.
        (
            &sql,
            json!({ "sql": [1], "zzz": true }),
            json!({ "query": "…" }),
        ),
    ] {
        for strict in [false, true] {
            let mut schema = schema.clone();
            if strict {
                schema["additionalProperties"] = json!(false);
            }
            example(&schema, &given, Some(&expected));
        }
    }
    check(
        &sql,
        &json!({ "sql": "select 1" }),
        &[
            r#"- /query: missing, expected a string; you sent `sql`; schema: {"type":"string"}"#,
            r#"Example: {"query":"select 1"}"#,
        ],
    );
}

#[test]
fn an_example_is_never_empty_where_something_was_sent() {
    let unit = json!({ "type": "string", "enum": ["day", "week"], "default": "week" });
    let schema = object(&json!({ "unit": unit, "n": { "type": "integer" } }), &[]);
    example(
        &schema,
        &json!({ "unit": "month" }),
        Some(&json!({ "unit": "week" })),
    );
    example(
        &schema,
        &json!({ "unit": "month", "n": 3 }),
        Some(&json!({ "unit": "week", "n": 3 })),
    );
    let nested = object(
        &json!({ "filter": schema, "name": { "type": "string" } }),
        &[],
    );
    example(
        &nested,
        &json!({ "filter": { "unit": "month", "n": 1 }, "name": "a" }),
        Some(&json!({ "filter": { "unit": "week", "n": 1 }, "name": "a" })),
    );
    let none = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    example(&none, &json!({ "a": 1 }), None);
}

#[test]
fn an_example_keeps_valid_parts_and_repairs_the_rest() {
    let person = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "age": { "type": "integer", "minimum": 0 } },
        "required": ["name", "age"],
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "person": person,
            "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1 },
            "level": { "enum": ["low", "high"] },
            "at": { "type": "string", "format": "date-time" },
            "code": { "type": "string", "pattern": "^[A-Z]{3}-[0-9]{7}$" },
        },
        "required": ["person"],
    });
    for (given, expected) in [
        (
            json!({ "person": { "name": "Ann" } }),
            json!({ "person": { "name": "Ann", "age": 0 } }),
        ),
        (
            json!({ "person": { "nam": "Ann", "age": "3" } }),
            json!({ "person": { "age": 3, "name": "Ann" } }),
        ),
        (
            json!({ "persons": { "name": "Ann", "age": 3 } }),
            json!({ "person": { "name": "Ann", "age": 3 } }),
        ),
        (
            json!({ "person": { "name": "Ann", "age": -1 }, "level": "LOW" }),
            json!({ "person": { "name": "Ann", "age": 0 }, "level": "low" }),
        ),
        (
            json!({ "person": { "name": "Ann", "age": 3 }, "tags": [], "code": "?" }),
            json!({ "person": { "name": "Ann", "age": 3 }, "tags": ["…"] }),
        ),
        (json!([]), json!({ "person": { "name": "…", "age": 0 } })),
    ] {
        let checked = Checker::default().check_arguments(&tool(&schema), &raw(&given));
        let example = checked.unwrap_err().example.unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&example).unwrap(),
            expected,
            "{given}"
        );
    }
}

#[test]
fn where_no_example_is_found_none_is_shown() {
    let code = json!({ "type": "string", "pattern": "^[A-Z]{3}-[0-9]{7}$" });
    let schema = json!({ "type": "object", "properties": { "code": code }, "required": ["code"] });
    let found = text(&schema, &json!({}));
    assert!(
        found.starts_with("- /code: missing") && !found.contains("Example"),
        "{found}"
    );
}
