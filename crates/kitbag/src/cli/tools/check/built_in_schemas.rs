//! Checks the schemas of Kitbag's own tools: the always-on ones and those of the built-in server.

use std::path::Path;

use kitbag_agents::{AgentTool, Library};
use kitbag_gateway::surface::always_on_definitions;
use kitbag_tool_files::{CheckFinding, CheckId, LoosePart, loose_parts};
use serde_json::Value;

/// Returns the number of tools, and findings of check 08.
pub(super) fn check() -> (usize, Vec<CheckFinding>) {
    let definitions = definitions();
    let findings = definitions.iter().flat_map(check_definition);
    (definitions.len(), findings.collect())
}

fn definitions() -> Vec<Value> {
    let library = Library::built_in();
    let agents = AgentTool::ALL.into_iter();
    let agents = agents.map(|tool| tool.definition(&library));
    always_on_definitions().into_iter().chain(agents).collect()
}

fn check_definition(definition: &Value) -> Vec<CheckFinding> {
    let Some(schema) = definition["inputSchema"].as_object() else {
        return Vec::new();
    };
    let name = definition["name"].as_str().unwrap_or_default();
    let parts = loose_parts(schema).into_iter();
    parts.map(|part| to_finding(name, part)).collect()
}

fn to_finding(name: &str, part: LoosePart) -> CheckFinding {
    CheckFinding {
        check: CheckId::StrictSchemas,
        file: Path::new("built-in").join(name),
        line: None,
        message: part.message,
        advice: Some(part.advice.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_own_tool_has_a_strict_schema() {
        assert_eq!(check(), (11, Vec::new()));
    }

    #[test]
    fn a_loose_schema_is_found() {
        let loose = json!({ "name": "x", "inputSchema": { "type": "object", "properties": {} } });
        let found = check_definition(&loose);
        assert_eq!(
            found[0].to_string(),
            "built-in/x: check 08 strict schemas: the input accepts unknown members"
        );
    }
}
