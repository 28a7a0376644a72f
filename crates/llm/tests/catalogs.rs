//! Every definition in the datasets, and any generated one, is converted to a form that vendors
//! accept.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use std::fs;
use std::path::Path;

use kitbag_llm::tool_schema::{UnsupportedTool, Vendor};
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn every_tool_of_the_datasets_is_accepted() {
    let evals = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals");
    let mut seen = 0;
    for set in ["p0", "small"] {
        let text = fs::read_to_string(evals.join(set).join("tools.jsonl")).unwrap();
        for line in text.lines() {
            let tool: Value = serde_json::from_str(line).unwrap();
            check(
                tool["name"].as_str().unwrap(),
                tool["description"].as_str().unwrap(),
                &tool["schema"],
            );
            seen += 1;
        }
    }
    assert!(seen > 300, "only {seen} tools were looked at");
}

proptest! {
    #[test]
    fn any_definition_is_accepted_or_rejected_with_a_reason(schema in schema(), description in ".{0,1500}") {
        check("tool", &description, &schema);
    }

    #[test]
    fn a_value_that_matches_a_plain_schema_still_matches_afterwards(schema in object_schema(), value in value()) {
        let sent = Vendor::OpenAi.tool("tool", "", &schema).unwrap();
        let before = jsonschema::is_valid(&schema, &value);
        prop_assert!(!before || jsonschema::is_valid(&sent["function"]["parameters"], &value), "{}", sent);
    }
}

/// The rules of both vendors, as far as they are documented or were reported by users.
#[track_caller]
fn check(name: &str, description: &str, schema: &Value) {
    for vendor in Vendor::ALL {
        let tool = match vendor.tool(name, description, schema) {
            Ok(tool) => tool,
            Err(UnsupportedTool::Name | UnsupportedTool::Parameter { .. }) => continue,
        };
        let function = tool.get("function").unwrap_or(&tool);
        let schema = function
            .get("parameters")
            .or_else(|| function.get("input_schema"))
            .unwrap();
        let described = function["description"].as_str().unwrap().chars().count();
        assert!(
            vendor
                .max_description()
                .is_none_or(|most| described <= most)
        );
        assert!(
            schema["type"] == "object" && schema["properties"].is_object(),
            "{schema}"
        );
        for key in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"] {
            assert!(schema.get(key).is_none(), "{key}: {schema}");
        }
        lists_have_items(schema);
    }
}

fn lists_have_items(schema: &Value) {
    if schema["type"] == "array" {
        assert!(schema["items"].is_object(), "{schema}");
    }
    let named = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.values());
    let listed = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|key| schema[key].as_array())
        .flatten();
    for inner in named
        .chain(listed)
        .chain([&schema["items"]])
        .filter(|it| !it.is_null())
    {
        assert!(inner.is_object(), "{inner}");
        lists_have_items(inner);
    }
}

/// Random combinations of schema parts, sensible or not.
fn schema() -> impl Strategy<Value = Value> {
    const KINDS: &[&str] = &["object", "array", "string", "integer", "null", "any"];
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        prop::sample::select(KINDS).prop_map(|kind| json!({ "type": kind })),
        Just(json!({ "$ref": "#/$defs/a" })),
        Just(json!({ "$ref": "#" })),
        Just(json!({ "type": ["array", "null"] })),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 0..3);
        let named = prop::collection::btree_map("[a-c]|größe", inner.clone(), 0..3);
        prop_oneof![
            (named, prop::collection::vec("[a-d]", 0..3)).prop_map(
                |(properties, required)| json!({ "properties": properties, "required": required })
            ),
            (
                prop::sample::select(&["anyOf", "oneOf", "allOf", "items", "prefixItems"][..]),
                several
            )
                .prop_map(|(key, schemas)| json!({ key: schemas })),
            (
                prop::sample::select(&["items", "not", "additionalProperties"][..]),
                inner.clone()
            )
                .prop_map(|(key, schema)| json!({ "type": "array", key: schema })),
            (inner.clone(), inner)
                .prop_map(|(a, b)| json!({ "$ref": "#/$defs/a", "$defs": { "a": a, "b": b } })),
        ]
    })
}

/// An object with typed properties and no choice at the top level.
fn object_schema() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(&["array", "string", "integer", "boolean"][..]);
    let property = prop_oneof![
        kind.clone().prop_map(|kind| json!({ "type": kind })),
        kind.prop_map(|kind| json!({ "type": "array", "items": [{ "type": kind }] })),
        Just(json!(true)),
    ];
    let properties = prop::collection::btree_map("[a-c]", property, 0..3);
    (
        properties,
        prop::collection::vec("[a-d]", 0..2),
        any::<bool>(),
    )
        .prop_map(|(properties, required, open)| {
            // The draft in which a list may have a schema per position.
            let draft = "http://json-schema.org/draft-07/schema#";
            json!({
                "$schema": draft,
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": open,
            })
        })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!("x")),
        Just(json!(3)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!(["x", 1])),
        Just(json!([3])),
    ];
    prop::collection::btree_map("[a-d]", leaf, 0..4).prop_map(|map| json!(map))
}
