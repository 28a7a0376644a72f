//! The tool as MCP clients see it. Models pay for every word, so there are few.

use kitbag_tool_spec::{ActionWrites, ToolWrites};
use serde_json::{Map, Value, json};

use crate::file::{ToolAction, ToolFile};
use crate::union;

/// Models need to see the form of a call once or twice; more examples are on the tool's page.
const MOST_EXAMPLES: usize = 2;

/// Returns the definition for `tools/list`.
pub fn definition(tool: &ToolFile) -> Value {
    let mut definition = json!({
        "name": tool.name.as_str(),
        "description": tool.description,
        "inputSchema": input_schema(tool),
    });
    if let Some(annotations) = annotations(tool) {
        definition["annotations"] = annotations;
    }
    definition
}

/// Returns the examples of all actions, as a client would send them.
pub fn examples(tool: &ToolFile) -> Vec<Value> {
    let actions = tool.actions.iter();
    actions
        .flat_map(|action| {
            action
                .examples
                .iter()
                .map(|it| example_call(tool, action, it))
        })
        .collect()
}

fn example_call(tool: &ToolFile, action: &ToolAction, arguments: &Map<String, Value>) -> Value {
    let mut sent = Map::new();
    if tool.actions.len() > 1 {
        sent.insert(ToolFile::ACTION.to_owned(), action.name.as_str().into());
    }
    sent.extend(arguments.clone());
    Value::Object(sent)
}

fn input_schema(tool: &ToolFile) -> Value {
    let mut schema = match tool.actions.as_slice() {
        [only] => only.arguments_schema(),
        several => union::union_schema(several),
    };
    // Model vendors reject these at the top level. Calls are still checked against them.
    for word in ["oneOf", "anyOf", "allOf", "not", "if", "then", "else"] {
        schema.shift_remove(word);
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let examples: Vec<Value> = examples(tool).into_iter().take(MOST_EXAMPLES).collect();
    if !examples.is_empty() {
        schema.insert("examples".to_owned(), examples.into());
    }
    Value::Object(schema)
}

/// A tool with `any` effects promises nothing.
fn annotations(tool: &ToolFile) -> Option<Value> {
    let mut annotations = match tool.writes {
        ToolWrites::Any => return None,
        ToolWrites::Read => json!({ "readOnlyHint": true }),
        _ => json!({ "readOnlyHint": false, "destructiveHint": is_destructive(tool) }),
    };
    if tool.api.is_some() {
        annotations["openWorldHint"] = true.into();
    }
    Some(annotations)
}

fn is_destructive(tool: &ToolFile) -> bool {
    let mut actions = tool.actions.iter();
    actions.any(|action| action.writes == ActionWrites::Destructive)
}
