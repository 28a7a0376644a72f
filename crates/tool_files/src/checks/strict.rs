//! Check 08: every schema rejects unknown members, at every level.

use serde_json::{Map, Value};

use super::walk::{VisitedPart, visit_parts};
use super::{CheckFinding, CheckId, CheckInput, tool_finding};
use crate::file::{ToolAction, ToolFile};

pub(super) fn check(tool: &ToolFile, input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let actions = tool.actions.iter();
    actions
        .flat_map(|action| match invalid_schema(tool, action, input) {
            Some(finding) => vec![finding],
            None => check_action(tool, action),
        })
        .collect()
}

fn invalid_schema(
    tool: &ToolFile,
    action: &ToolAction,
    input: &CheckInput<'_>,
) -> Option<CheckFinding> {
    let reason = (input.schema_fault)(&Value::Object(action.input.clone()))?;
    Some(tool_finding(
        CheckId::StrictSchemas,
        tool,
        action.line_in_input(""),
        format!("action `{}`: invalid schema: {reason}", action.name),
        "correct the schema",
    ))
}

/// A part of a schema that accepts unknown members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoosePart {
    /// The JSON pointer to the part.
    pub path: String,
    pub message: String,
    pub advice: &'static str,
}

/// Returns every part of any schema that accepts unknown members.
pub fn loose_parts(schema: &Map<String, Value>) -> Vec<LoosePart> {
    visit_parts(schema)
        .into_iter()
        .filter_map(|part| {
            let (message, advice) = find_looseness(&part)?;
            Some(LoosePart {
                path: part.path,
                message,
                advice,
            })
        })
        .collect()
}

fn check_action(tool: &ToolFile, action: &ToolAction) -> Vec<CheckFinding> {
    let mut findings: Vec<CheckFinding> = loose_parts(&action.input)
        .into_iter()
        .map(|part| {
            let line = action.line_in_input(&last_name(&part.path));
            let message = format!("action `{}`: {}", action.name, part.message);
            tool_finding(CheckId::StrictSchemas, tool, line, message, part.advice)
        })
        .collect();
    findings.sort_by_key(|finding| finding.line);
    findings
}

fn find_looseness(part: &VisitedPart<'_>) -> Option<(String, &'static str)> {
    let part_name = match part.path.as_str() {
        "" => "the input".to_owned(),
        path => format!("`{path}`"),
    };
    if let Some(reference) = part.schema.get("$ref").and_then(Value::as_str)
        && !reference.starts_with('#')
    {
        let message = format!("{part_name} refers to `{reference}`, which is not in the file");
        return Some((
            message,
            "put the schema under \"$defs\", and refer to \"#/$defs/NAME\"",
        ));
    }
    if !describes_object(part.schema) || is_closed(part.schema) {
        return None;
    }
    let message = format!("{part_name} accepts unknown members");
    Some((
        message,
        "write \"additionalProperties\": false, or a schema if the names of the members are data",
    ))
}

/// A part that only adds conditions, such as `{"required": […]}` in `anyOf`, does not describe an
/// object.
fn describes_object(schema: &Map<String, Value>) -> bool {
    let named = match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => false,
    };
    named || schema.contains_key("properties")
}

fn is_closed(schema: &Map<String, Value>) -> bool {
    let words = ["additionalProperties", "unevaluatedProperties"];
    words
        .iter()
        .filter_map(|word| schema.get(*word))
        .any(|value| *value == Value::Bool(false) || value.is_object())
}

/// Returns the name closest to the part in the text, with its quotes.
fn last_name(path: &str) -> String {
    const KEYWORDS: [&str; 8] = [
        "items",
        "properties",
        "additionalProperties",
        "anyOf",
        "oneOf",
        "allOf",
        "prefixItems",
        "not",
    ];
    let mut names = path.rsplit('/').filter(|name| !KEYWORDS.contains(name));
    match names.find(|name| name.parse::<usize>().is_err() && !name.is_empty()) {
        Some(name) => format!("\"{name}\""),
        None => String::new(),
    }
}
