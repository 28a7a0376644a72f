//! The always-on tools as a model reads them. Every word costs tokens in every context, so there
//! are few.

use kitbag_config::Code;
use kitbag_domain::Surface;
use kitbag_intents::ExecutionMode;
use std::sync::LazyLock;

use kitbag_wire::{Raw, raw};
use serde_json::{Value, json};

use super::batch::MAX_CALLS;

/// Returns the definitions against which calls of always-on tools are validated.
pub fn always_on_definitions() -> Vec<Value> {
    AlwaysOnTool::ALL
        .into_iter()
        .map(AlwaysOnTool::full_definition)
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlwaysOnTool {
    Search,
    Discover,
    Call,
    Batch,
    EnableGroup,
    RunIntent,
    RunCode,
}

impl AlwaysOnTool {
    pub(crate) const ALL: [Self; 7] = [
        Self::Search,
        Self::Discover,
        Self::Call,
        Self::Batch,
        Self::EnableGroup,
        Self::RunIntent,
        Self::RunCode,
    ];

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search_available_tools",
            Self::Discover => "discover_apis",
            Self::Call => "call_api",
            Self::Batch => "batch_execute",
            Self::EnableGroup => "enable_tool_group",
            Self::RunIntent => "run_intent",
            Self::RunCode => "run_code",
        }
    }

    /// True if a surface lists the tool. Tools that run programs are listed only on the configured
    /// surfaces.
    pub(super) fn is_on(self, surface: Surface, code: &Code) -> bool {
        match self {
            Self::RunIntent => code.surfaces.contains(&surface),
            Self::RunCode => {
                code.surfaces.contains(&surface)
                    && code.route.execution_mode != ExecutionMode::McpOnly
            }
            // Only the adaptive surface has a list to which groups can be added.
            Self::EnableGroup => surface == Surface::Adaptive,
            Self::Search | Self::Discover | Self::Call | Self::Batch => {
                matches!(surface, Surface::Adaptive | Surface::Search)
            }
        }
    }

    /// True for tools that can be called only where they are listed.
    pub(super) fn runs_code(self) -> bool {
        matches!(self, Self::RunIntent | Self::RunCode)
    }

    pub(crate) fn definition(self) -> &'static Raw {
        static DEFINITIONS: LazyLock<Vec<Raw>> = LazyLock::new(|| {
            AlwaysOnTool::ALL
                .into_iter()
                .map(|it| raw(&it.listed_definition()))
                .collect()
        });
        &DEFINITIONS[self as usize]
    }

    /// Returns the definition for validation. It has more details than the listed one, and leaves
    /// the calls of a batch to be validated one by one.
    pub(super) fn checked_definition(self) -> &'static Raw {
        static CHECKED: LazyLock<Vec<Raw>> = LazyLock::new(|| {
            AlwaysOnTool::ALL
                .into_iter()
                .map(|it| raw(&it.full_definition()))
                .collect()
        });
        &CHECKED[self as usize]
    }

    fn full_definition(self) -> Value {
        let mut definition = self.base_definition();
        let schema = &mut definition["inputSchema"];
        // Their members are names of other tools' arguments, or data.
        for name in ["arguments", "query", "params"] {
            if let Some(inner) = schema["properties"].get_mut(name)
                && inner["type"] == "object"
            {
                inner["additionalProperties"] = json!({});
            }
        }
        match self {
            Self::Call => {
                schema["examples"] = json!([{ "tool": "server__tool", "arguments": {} }]);
                schema["minProperties"] = json!(1);
                schema["properties"]["offset"]["minimum"] = json!(0);
            }
            Self::Batch => schema["properties"]["calls"] = json!({ "type": "array" }),
            Self::Search | Self::Discover | Self::EnableGroup => {}
            Self::RunIntent | Self::RunCode => {}
        }
        definition
    }

    /// Returns the definition as listed. The tools of the surface `code` must be as cheap as
    /// possible, so their definitions contain only the members that a model needs.
    fn listed_definition(self) -> Value {
        let mut definition = self.base_definition();
        if self.runs_code()
            && let Some(schema) = definition["inputSchema"].as_object_mut()
        {
            schema.retain(|key, _| matches!(key.as_str(), "type" | "properties"));
        }
        definition
    }

    fn base_definition(self) -> Value {
        let (description, properties, required) = self.definition_parts();
        let mut schema =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if required != json!([]) {
            schema["required"] = required;
        }
        let mut definition =
            json!({ "name": self.name(), "description": description, "inputSchema": schema });
        if matches!(self, Self::Search | Self::Discover) {
            definition["annotations"] = json!({ "readOnlyHint": true });
        }
        definition
    }

    /// Returns the description, the properties of the arguments, and the required ones.
    fn definition_parts(self) -> (&'static str, Value, Value) {
        let text = json!({ "type": "string" });
        let object = json!({ "type": "object" });
        match self {
            Self::Search => (
                "Find tools for a task. Start here.",
                json!({
                    "query": { "type": "string", "description": "what you want to do, in plain English" },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 20 },
                }),
                json!(["query"]),
            ),
            Self::Discover => (
                "Browse. No arguments: all providers and groups. provider or group: its tools. tool: its full definition.",
                json!({ "provider": text, "group": text, "tool": text }),
                json!([]),
            ),
            Self::Call => (
                "Run a tool: tool, arguments. Or call an HTTP provider: provider, method, path, query, body. \
                 Or read on in a long result: result, offset.",
                json!({
                    "tool": text,
                    "arguments": object,
                    "provider": text,
                    "method": text,
                    "path": text,
                    "query": object,
                    "body": {},
                    "result": text,
                    "offset": { "type": "integer" },
                }),
                json!([]),
            ),
            Self::Batch => (
                "Run up to 10 calls in parallel; each takes what call_api takes.",
                json!({ "calls": { "type": "array", "items": object, "minItems": 1, "maxItems": MAX_CALLS } }),
                json!(["calls"]),
            ),
            Self::EnableGroup => (
                "Add a group's tools to your tool list.",
                json!({ "group": text }),
                json!(["group"]),
            ),
            Self::RunIntent => (
                "Do a task, or get its tools",
                json!({ "intent": text, "params": object }),
                json!(["intent"]),
            ),
            Self::RunCode => (
                "JS: return await tools.server.tool(args); search(text), describe(name)",
                json!({ "code": text }),
                json!(["code"]),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_tool_files::ToolCatalog;

    use super::*;

    #[test]
    fn the_tool_files_of_always_on_tools_match_the_listed_definitions() {
        let catalog = ToolCatalog::built_in();
        for (tool, id) in [
            (AlwaysOnTool::Discover, "discover"),
            (AlwaysOnTool::Call, "call-api"),
            (AlwaysOnTool::Batch, "batch"),
        ] {
            let file = catalog.tools().iter().find(|it| it.id.as_str() == id);
            let file = file.expect(id);
            let mut listed = tool.listed_definition();
            write_out(&mut listed["inputSchema"]);
            assert_eq!(file.name.as_str(), tool.name());
            assert_eq!(json!(file.description), listed["description"]);
            let declared = file.actions[0].arguments_schema();
            assert_eq!(json!(declared), listed["inputSchema"]);
        }
    }

    /// A tool file declares for each object that additional members are allowed; lists omit this.
    fn write_out(schema: &mut Value) {
        let is_free = *schema == json!({ "type": "object" });
        if is_free {
            schema["additionalProperties"] = json!({});
        }
        let inner = schema
            .as_object_mut()
            .into_iter()
            .flat_map(|it| it.values_mut());
        inner.filter(|it| it.is_object()).for_each(write_out);
    }
}
