//! Tests of the definition that clients see.

use serde_json::json;

use crate::definition;
use crate::file::tests::ticket;

#[test]
fn several_actions_become_one_schema_that_vendors_accept() {
    assert_eq!(
        definition(&ticket()),
        json!({
            "name": "ticket",
            "description": "Reads and opens tickets of the service desk.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "action": {
                        "type": "string",
                        "enum": ["search", "open"],
                        "description": "search: Search tickets by words.\nopen: Open a ticket.",
                    },
                    "words": { "type": "string", "description": "search (required)" },
                    "page": { "type": "integer", "minimum": 1, "description": "search" },
                    "max_pages": { "type": "integer", "minimum": 1, "maximum": 20, "description": "search" },
                    "subject": { "type": "string", "description": "open (required): One line." },
                    "priority": {
                        "type": "string",
                        "enum": ["low", "high"],
                        "default": "low",
                        "description": "open",
                    },
                },
                "required": ["action"],
                "additionalProperties": false,
                "examples": [{ "action": "open", "subject": "The printer is on fire" }],
            },
            "annotations": { "readOnlyHint": false, "destructiveHint": false, "openWorldHint": true },
        })
    );
}

#[test]
fn one_action_is_the_schema_itself_without_a_choice_at_the_top() {
    let mut tool = ticket();
    tool.actions.remove(1);
    let any = json!([{ "required": ["words"] }]);
    tool.actions[0].input.insert("anyOf".to_owned(), any);
    let schema = &definition(&tool)["inputSchema"];
    let keys: Vec<_> = schema.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["type", "properties", "required", "additionalProperties"]
    );
    assert_eq!(schema["properties"]["action"], json!(null));
    assert!(tool.actions[0].arguments_schema().contains_key("anyOf"));
}

#[test]
fn properties_of_one_name_keep_both_meanings() {
    let mut tool = ticket();
    let input = &mut tool.actions[1].input;
    input["properties"]["words"] = json!({ "$ref": "#/$defs/words" });
    input.insert("$defs".to_owned(), json!({ "words": { "type": "array" } }));
    input["required"] = json!(["words"]);
    let input = &mut tool.actions[0].input;
    input["properties"]["page"] = json!({ "$ref": "#/$defs/words" });
    input.insert("$defs".to_owned(), json!({ "words": { "type": "null" } }));
    let schema = &definition(&tool)["inputSchema"];
    assert_eq!(schema["required"], json!(["action", "words"]));
    assert_eq!(
        schema["properties"]["words"],
        json!({ "anyOf": [
            { "type": "string", "description": "search" },
            { "$ref": "#/$defs/open_words", "description": "open" },
        ]})
    );
    assert_eq!(
        schema["$defs"],
        json!({ "words": { "type": "null" }, "open_words": { "type": "array" } })
    );
}

/// In characters, about two thousand tokens. A tool that needs more should be two.
const DEAREST: usize = 8000;

#[test]
fn no_tool_of_the_catalog_costs_a_model_too_much() {
    for tool in crate::ToolCatalog::built_in().tools() {
        let size = definition(tool).to_string().len();
        assert!(size <= DEAREST, "{} has {size} characters", tool.id);
    }
}
