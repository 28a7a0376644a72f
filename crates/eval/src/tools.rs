//! The tools as shown to the model, and the names by which a suite may call them.

use serde_json::{Value, json};

use crate::suite::{NamedCall, Suite, SuiteFault, SuiteProblem};

#[derive(Debug, Clone, PartialEq)]
pub struct EvalTool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// The other names that a suite may use for the tool.
    pub aliases: Vec<String>,
    pub description: String,
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EvalTools(Vec<EvalTool>);

impl EvalTools {
    pub fn new(tools: Vec<EvalTool>) -> Self {
        Self(tools)
    }

    pub fn iter(&self) -> impl Iterator<Item = &EvalTool> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|tool| tool.name == name)
    }

    /// Returns the message for a model that called an unknown tool. It suggests the tool that the
    /// model may have meant: some models add a vendor prefix, as in `functions.echo`.
    pub(crate) fn unknown_tool_message(&self, name: &str) -> String {
        let meant = self.0.iter().filter(|tool| tool.may_be_meant(name));
        match meant.max_by_key(|tool| tool.name.len()) {
            Some(tool) => format!("There is no tool `{name}`. Did you mean `{}`?", tool.name),
            None => format!("There is no tool `{name}`."),
        }
    }

    /// Returns the suite with every tool under the name that the model is shown.
    pub fn resolve_names(&self, mut suite: Suite) -> Result<Suite, SuiteFault> {
        for NamedCall { entry, field, call } in suite.calls_mut() {
            let Some(tool) = self.find_tool(&call.tool) else {
                return Err(SuiteFault {
                    entry,
                    field: field.to_owned(),
                    problem: self.no_such_tool(&call.tool),
                });
            };
            call.tool.clone_from(&tool.name);
        }
        Ok(suite)
    }

    /// Finds a tool by the name that the model is shown, or by an unambiguous alias.
    fn find_tool(&self, name: &str) -> Option<&EvalTool> {
        let named = self.0.iter().find(|tool| tool.name == name);
        named.or_else(|| {
            let mut meant = self.0.iter().filter(|tool| tool.has_alias(name));
            meant.next().filter(|_| meant.next().is_none())
        })
    }

    fn no_such_tool(&self, tool: &str) -> SuiteProblem {
        SuiteProblem::NoSuchTool {
            tool: tool.to_owned(),
            offered: self.list_names(),
        }
    }

    fn list_names(&self) -> String {
        /// A message with more names would not be read.
        const ENOUGH: usize = 12;
        let names = self.0.iter().map(|tool| tool.name.as_str());
        let more = (self.0.len() > ENOUGH).then_some("…");
        let names: Vec<_> = names.take(ENOUGH).chain(more).collect();
        names.join(", ")
    }
}

impl EvalTool {
    /// Parses a tool from an MCP definition.
    pub fn new(name: String, aliases: Vec<String>, definition: &Value) -> Self {
        let description = definition.get("description").and_then(Value::as_str);
        let schema = definition.get("inputSchema").cloned();
        Self {
            name,
            aliases,
            description: description.unwrap_or_default().to_owned(),
            schema: schema.unwrap_or_else(|| json!({ "type": "object" })),
        }
    }

    /// True if a name is an alias of the tool, or the tool's name with a prefix.
    fn may_be_meant(&self, name: &str) -> bool {
        let before = name.strip_suffix(self.name.as_str());
        let last = before.and_then(|before| before.chars().next_back());
        last.is_some_and(|c| !c.is_alphanumeric()) || self.has_alias(name)
    }

    fn has_alias(&self, name: &str) -> bool {
        self.aliases.iter().any(|alias| alias == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> EvalTool {
        EvalTool::new(name.into(), vec![format!("bed__{name}")], &json!({}))
    }

    #[test]
    fn a_name_with_a_prefix_gets_a_suggestion() {
        let tools = EvalTools::new(vec![tool("echo"), tool("big_echo")]);
        for (called, meant) in [
            ("functions.echo", "echo"),
            ("default_api:big_echo", "big_echo"),
            ("bed__big_echo", "big_echo"),
        ] {
            assert_eq!(
                tools.unknown_tool_message(called),
                format!("There is no tool `{called}`. Did you mean `{meant}`?")
            );
        }
        assert_eq!(
            tools.unknown_tool_message("reecho"),
            "There is no tool `reecho`."
        );
    }
}
