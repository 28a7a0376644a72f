//! Checks that any schema from a server and any arguments from a model get an answer, and that an
//! example in it is valid.

use kitbag_wire::{RawObject, raw};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Checker;

proptest! {
    #[test]
    fn any_schema_and_any_arguments_get_an_answer(schema in schema(), arguments in value()) {
        let checker = Checker::default();
        let definition = RawObject::new().with("name", "t").with("inputSchema", &schema).to_raw();
        if let Err(misfit) = checker.check_arguments(&definition, &raw(&arguments)) {
            let message = misfit.to_string();
            prop_assert!(message.starts_with("- "), "{}", message);
            if let Some((_, example)) = message.rsplit_once("Example: ") {
                let example: Value = serde_json::from_str(example).expect("an example is JSON");
                let checked = checker.check_arguments(&definition, &raw(&example));
                prop_assert!(checked.is_ok(), "{} for {}", example, schema);
            }
        }
    }
}

/// Parts of schemas put together at random, sensible or not.
fn schema() -> impl Strategy<Value = Value> {
    const KINDS: &[&str] = &[
        "object", "array", "string", "integer", "number", "boolean", "null", "any",
    ];
    let kind = prop::sample::select(KINDS);
    let leaf = prop_oneof![
        Just(json!({})),
        any::<bool>().prop_map(Value::Bool),
        kind.prop_map(|kind| json!({ "type": kind })),
        Just(json!({ "type": "string", "pattern": "^(a+)+$", "minLength": 2 })),
        Just(json!({ "type": "integer", "minimum": 5, "multipleOf": 3 })),
        Just(json!({ "enum": ["a", 3, null] })),
        Just(json!({ "const": [1] })),
        Just(json!({ "$ref": "#" })),
        Just(json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = prop::collection::vec(inner.clone(), 0..4);
        let named = prop::collection::btree_map("[a-d]", inner.clone(), 0..4);
        prop_oneof![
            (named, prop::collection::vec("[a-e]", 0..3), any::<bool>()).prop_map(|(properties, required, open)| {
                json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": open })
            }),
            (prop::sample::select(&["anyOf", "oneOf", "allOf", "prefixItems"][..]), several)
                .prop_map(|(key, schemas)| json!({ key: schemas })),
            (prop::sample::select(&["items", "not", "additionalProperties", "propertyNames"][..]), inner)
                .prop_map(|(key, schema)| json!({ key: schema })),
        ]
    })
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i32>().prop_map(Value::from),
        "[a-c3]{0,4}".prop_map(Value::from),
        Just(json!("[1, 2]")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-e]|A", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}
