//! A tool file: everything about one tool, parsed from TOML and checked.
//!
//! - `view`: a table of the file, read value by value; [`mistake`]: the mistakes
//! - `tool`: the keys of the tool; `api`: `[api]`; `action`: `[actions.NAME]`; `answer`: its pages and its answer
//! - `schema`: the parts of an action's input that patterns must know

mod action;
mod answer;
mod api;
pub mod mistake;
pub(crate) mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod tool;
pub(crate) mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_domain::toml_problem::{line_number, quote_names};
use kitbag_domain::{NanoUsd, WriteClass};
use kitbag_tool_spec::{
    ActionName, ActionSpec, ActionWrites, ApiSpec, PageRule, ToolId, ToolKind, ToolWrites, WireName,
};
use serde_json::{Map, Value, json};

use mistake::ToolFileError;

/// One tool, as declared in its file.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFile {
    pub id: ToolId,
    pub name: WireName,
    pub aliases: Vec<WireName>,
    pub kind: ToolKind,
    pub purpose: String,
    pub description: String,
    pub owner: String,
    pub provider: String,
    pub writes: ToolWrites,
    pub tags: Vec<String>,
    pub scopes: Vec<String>,
    /// Requests by which it must be found.
    pub intents: Vec<String>,
    /// Properties that sound like a tenant but name something else at the provider.
    pub not_tenancy: Vec<String>,
    pub cost: DeclaredCost,
    /// Absent for a tool that Kitbag itself runs.
    pub api: Option<Arc<ApiSpec>>,
    /// Never empty; in file order.
    pub actions: Vec<ToolAction>,
    /// The action that tests a credential: a read-only one of `actions`.
    pub test: Option<ActionName>,
    pub path: PathBuf,
    source: Arc<str>,
    lines: BTreeMap<String, usize>,
}

/// One action, as clients see it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAction {
    pub name: ActionName,
    pub description: String,
    pub writes: ActionWrites,
    /// The schema as in the file.
    pub input: Map<String, Value>,
    pub examples: Vec<Map<String, Value>>,
    /// Absent exactly if [`ToolFile::api`] is.
    pub request: Option<Arc<ActionSpec>>,
    input_text: String,
    input_line: usize,
}

/// The price of a call, as stated in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeclaredCost {
    pub per_call: Option<NanoUsd>,
    pub per_million_input_tokens: Option<NanoUsd>,
    pub per_million_output_tokens: Option<NanoUsd>,
}

/// The arguments name no action of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchAction {
    #[error("`action` is missing; it is one of {}", quote_names(known))]
    Missing { known: Vec<String> },
    #[error("unknown action `{found}`; the actions are {}", quote_names(known))]
    Unknown { found: String, known: Vec<String> },
}

impl ToolFile {
    /// In bytes. The largest file of the catalog has a fiftieth of this.
    pub const LARGEST: usize = 1024 * 1024;
    /// The argument that names the action, in a tool with several.
    pub const ACTION: &str = "action";

    /// Parses a file. The stem of its name is the id of the tool.
    pub fn read(path: &Path, text: &str) -> Result<Self, Vec<ToolFileError>> {
        tool::read(path, text)
    }

    /// Returns the text of the file.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// True if the file is built into the binary.
    pub fn is_built_in(&self) -> bool {
        self.path.starts_with(crate::built_in::FOLDER)
    }

    pub fn action(&self, name: &str) -> Option<&ToolAction> {
        self.actions.iter().find(|it| it.name.as_str() == name)
    }

    /// Returns the strongest effect of its actions.
    pub fn write_class(&self) -> WriteClass {
        let classes = self.actions.iter().map(ToolAction::write_class);
        classes.max_by_key(|class| rank(*class)).unwrap_or_default()
    }

    /// Returns the action that arguments name, and the arguments for it.
    pub fn choose(
        &self,
        mut arguments: Map<String, Value>,
    ) -> Result<(&ToolAction, Map<String, Value>), NoSuchAction> {
        if let [only] = self.actions.as_slice() {
            return Ok((only, arguments));
        }
        let known = self.actions.iter().map(|it| it.name.to_string()).collect();
        let found = match arguments.shift_remove(Self::ACTION) {
            Some(Value::String(found)) => found,
            Some(other) => other.to_string(),
            None => return Err(NoSuchAction::Missing { known }),
        };
        match self.action(&found) {
            Some(action) => Ok((action, arguments)),
            None => Err(NoSuchAction::Unknown { found, known }),
        }
    }

    /// Returns the harmless call that tests a credential: the one that the file names, or else the
    /// first that reads and needs no arguments.
    pub fn test_call(&self) -> Option<(&ToolAction, Map<String, Value>)> {
        let named = self.test.as_ref();
        let named = named.and_then(|name| self.action(name.as_str()));
        let action = named.or_else(|| self.actions.iter().find(|it| it.is_plain_read()))?;
        let arguments = action.examples.first().cloned().unwrap_or_default();
        Some((action, arguments))
    }

    /// Returns the line of a key, such as `actions.search.path`, or of its table if the file does
    /// not have the key.
    pub fn line(&self, key: &str) -> usize {
        let mut key = key;
        loop {
            if let Some(line) = self.lines.get(key) {
                return *line;
            }
            match key.rsplit_once('.') {
                Some((table, _)) => key = table,
                None => return 1,
            }
        }
    }
}

impl ToolAction {
    /// Returns the schema that the arguments of a call are checked against.
    pub fn arguments_schema(&self) -> Map<String, Value> {
        let mut schema = self.input.clone();
        if self.has_pages()
            && let Some(Value::Object(properties)) = schema.get_mut("properties")
        {
            properties.insert(PageRule::ARGUMENT.to_owned(), max_pages());
        }
        schema
    }

    /// True if the action reads and needs no arguments.
    fn is_plain_read(&self) -> bool {
        let request = self.request.as_ref();
        self.writes == ActionWrites::Read
            && schema::required_names(&self.input).next().is_none()
            && request.is_some_and(|it| it.method == http::Method::GET)
    }

    pub fn has_pages(&self) -> bool {
        self.request
            .as_ref()
            .is_some_and(|request| request.pages.is_some())
    }

    pub fn write_class(&self) -> WriteClass {
        match self.writes {
            ActionWrites::Read => WriteClass::Read,
            ActionWrites::Write | ActionWrites::Send => WriteClass::Write,
            ActionWrites::Destructive => WriteClass::Destructive,
        }
    }

    /// Returns the line on which this text of the schema first occurs.
    pub fn line_in_input(&self, words: &str) -> usize {
        let before = self.input_text.find(words).unwrap_or(0);
        self.input_line + line_number(&self.input_text, before) - 1
    }
}

fn rank(class: WriteClass) -> usize {
    let mut all = WriteClass::ALL.iter();
    all.position(|it| *it == class).unwrap_or_default()
}

fn max_pages() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": PageRule::MOST_PAGES })
}
