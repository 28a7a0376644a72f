//! The tools as the model is shown them, and the result of a server when one is called.

use serde_json::{Value, json};

use crate::suite::{NamedCall, Suite, SuiteFault, SuiteProblem};

#[derive(Debug, Clone, PartialEq)]
pub struct ExamTool {
    /// The name by which the model calls the tool.
    pub name: String,
    /// The other names that a suite may use for the tool.
    pub aliases: Vec<String>,
    pub description: String,
    pub schema: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExamTools(Vec<ExamTool>);

/// A tool's result, as far as an exam looks at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub failed: bool,
    /// The text that a model would read.
    pub text: String,
    pub structured: Value,
}

impl ExamTools {
    pub fn new(tools: Vec<ExamTool>) -> Self {
        Self(tools)
    }

    pub fn iter(&self) -> impl Iterator<Item = &ExamTool> {
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

    /// Returns the message for a model that called an unknown tool. It names the tool that the
    /// model may have meant: some models put a word of their vendor in front, as in
    /// `functions.echo`.
    pub(crate) fn unknown(&self, name: &str) -> String {
        let meant = |tool: &&ExamTool| {
            let before = name
                .strip_suffix(tool.name.as_str())
                .and_then(|it| it.chars().next_back());
            before.is_some_and(|c| !c.is_alphanumeric())
                || tool.aliases.iter().any(|alias| alias == name)
        };
        match self
            .0
            .iter()
            .filter(meant)
            .max_by_key(|tool| tool.name.len())
        {
            Some(tool) => format!("There is no tool `{name}`. Did you mean `{}`?", tool.name),
            None => format!("There is no tool `{name}`."),
        }
    }

    /// Returns the suite with every tool under the name that the model is shown.
    pub fn spell(&self, mut suite: Suite) -> Result<Suite, SuiteFault> {
        for NamedCall { entry, field, call } in suite.calls_mut() {
            let tool = self.find(&call.tool).ok_or_else(|| SuiteFault {
                entry,
                field: field.to_owned(),
                problem: SuiteProblem::NoSuchTool {
                    tool: call.tool.clone(),
                    offered: self.names(),
                },
            })?;
            call.tool.clone_from(&tool.name);
        }
        Ok(suite)
    }

    /// Finds a tool by the name that the model is shown, or by an alias of this tool alone.
    fn find(&self, name: &str) -> Option<&ExamTool> {
        let mut meant = self
            .0
            .iter()
            .filter(|tool| tool.aliases.iter().any(|alias| alias == name));
        self.0.iter().find(|tool| tool.name == name).or_else(|| {
            match (meant.next(), meant.next()) {
                (Some(tool), None) => Some(tool),
                _ => None,
            }
        })
    }

    fn names(&self) -> String {
        const ENOUGH: usize = 12;
        let mut names: Vec<_> = self
            .0
            .iter()
            .map(|tool| tool.name.as_str())
            .take(ENOUGH)
            .collect();
        if self.0.len() > ENOUGH {
            names.push("…");
        }
        names.join(", ")
    }
}

impl ExamTool {
    /// Reads a tool from an MCP definition.
    pub fn new(name: String, aliases: Vec<String>, definition: &Value) -> Self {
        let description = definition
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let schema = definition
            .get("inputSchema")
            .cloned()
            .unwrap_or_else(|| json!({ "type": "object" }));
        Self {
            name,
            aliases,
            description: description.to_owned(),
            schema,
        }
    }
}

impl Called {
    /// Reads the result of `tools/call`.
    pub fn new(result: &Value) -> Self {
        let blocks = result
            .get("content")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let texts: Vec<_> = blocks
            .iter()
            .filter_map(|it| it.get("text"))
            .filter_map(Value::as_str)
            .collect();
        let structured = result.get("structuredContent").cloned();
        let text = match (texts.is_empty(), &structured) {
            (true, Some(structured)) => structured.to_string(),
            _ => texts.join("\n"),
        };
        let failed = result
            .get("isError")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        // Servers of older protocol versions can put structured data only into the text.
        let structured = structured
            .or_else(|| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        Self {
            failed,
            text,
            structured,
        }
    }

    /// Returns the result of a call that was never made.
    pub fn failure(text: String) -> Self {
        Self {
            failed: true,
            text,
            structured: Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_prefix_is_told_what_it_may_have_meant() {
        let tool =
            |name: &str| ExamTool::new(name.into(), vec![format!("bed__{name}")], &json!({}));
        let tools = ExamTools::new(vec![tool("echo"), tool("big_echo")]);
        for (called, meant) in [
            ("functions.echo", "echo"),
            ("default_api:big_echo", "big_echo"),
            ("bed__big_echo", "big_echo"),
        ] {
            assert_eq!(
                tools.unknown(called),
                format!("There is no tool `{called}`. Did you mean `{meant}`?")
            );
        }
        assert_eq!(tools.unknown("reecho"), "There is no tool `reecho`.");
    }

    #[test]
    fn a_result_is_what_a_model_reads_of_it() {
        let check = |result: Value, text: &str, structured: Value, failed: bool| {
            assert_eq!(
                Called::new(&result),
                Called {
                    failed,
                    text: text.to_owned(),
                    structured
                }
            );
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        check(
            json!({ "content": text("hi"), "structuredContent": { "n": 1 } }),
            "hi",
            json!({ "n": 1 }),
            false,
        );
        check(
            json!({ "content": text("{\"n\":2}") }),
            "{\"n\":2}",
            json!({ "n": 2 }),
            false,
        );
        check(
            json!({ "content": [], "structuredContent": { "n": 3 } }),
            "{\"n\":3}",
            json!({ "n": 3 }),
            false,
        );
        check(
            json!({ "content": text("no"), "isError": true }),
            "no",
            Value::Null,
            true,
        );
    }
}
