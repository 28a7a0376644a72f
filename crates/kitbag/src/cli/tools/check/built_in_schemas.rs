//! The schemas of the tools that Kitbag itself serves: the always-on ones, and those of its built-in server.

use std::path::Path;

use kitbag_agents::{AgentTool, Library};
use kitbag_gateway::surface::always_on_definitions;
use kitbag_tool_files::{CheckFinding, CheckId, LoosePart, loose_parts};
use serde_json::Value;

/// Holds them against check 08. Returns how many there are, and what is wrong with them.
pub(super) fn check() -> (usize, Vec<CheckFinding>) {
    let definitions = definitions();
    let findings = definitions.iter().flat_map(of_definition);
    (definitions.len(), findings.collect())
}

fn definitions() -> Vec<Value> {
    let library = Library::built_in();
    let agents = AgentTool::ALL.into_iter();
    let agents = agents.map(|tool| tool.definition(&library));
    always_on_definitions().into_iter().chain(agents).collect()
}

fn of_definition(definition: &Value) -> Vec<CheckFinding> {
    let Some(schema) = definition["inputSchema"].as_object() else {
        return Vec::new();
    };
    let name = definition["name"].as_str().unwrap_or_default();
    let parts = loose_parts(schema).into_iter();
    parts.map(|part| finding(name, part)).collect()
}

fn finding(name: &str, part: LoosePart) -> CheckFinding {
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
    fn every_tool_of_our_own_refuses_what_it_does_not_know() {
        assert_eq!(check(), (11, Vec::new()));
    }

    #[test]
    fn a_loose_schema_of_our_own_would_be_found() {
        let loose = json!({ "name": "x", "inputSchema": { "type": "object", "properties": {} } });
        let found = of_definition(&loose);
        assert_eq!(
            found[0].to_string(),
            "built-in/x: check 08 strict schemas: the input accepts unknown members"
        );
    }
}
