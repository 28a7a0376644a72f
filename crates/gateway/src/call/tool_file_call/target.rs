//! The target of a tool-file call: the action that the arguments select, and the arguments of that
//! action.

use std::sync::Arc;

use http::HeaderMap;
use kitbag_domain::{NanoUsd, WriteClass};
use kitbag_schema::Checker;
use kitbag_tool_files::{ToolAction, ToolFile};
use kitbag_wire::{Raw, RawObject, is_too_deep, raw};
use serde_json::{Map, Value};

use crate::call::failure::Failure;
use crate::catalog::tool_files::FileTool;

/// A call in progress. Its action is selected and its arguments are validated before it runs.
pub(crate) struct ToolFileTarget {
    pub(crate) tool: Arc<FileTool>,
    /// The arguments as the caller wrote them.
    pub(crate) arguments: Raw,
    /// The price that the execution reported.
    pub(crate) observed_price: Option<NanoUsd>,
    /// Headers with the trace context for the API.
    pub(crate) trace: HeaderMap,
}

/// An action with arguments that match its schema.
pub(crate) struct ChosenAction<'a> {
    pub(super) action: &'a ToolAction,
    pub(super) arguments: Map<String, Value>,
}

impl ToolFileTarget {
    pub(crate) fn new(tool: Arc<FileTool>, params: &mut RawObject) -> Self {
        let given = params.remove("arguments");
        let given = given.filter(|it| it.get() != "null");
        Self {
            tool,
            arguments: given.unwrap_or_else(|| raw(&RawObject::new())),
            observed_price: None,
            trace: HeaderMap::new(),
        }
    }

    /// Validates the arguments against the schema of the selected action, on every surface: the
    /// file declares the arguments, and no server validates them later.
    pub(crate) fn check_arguments(&self, checker: &Checker) -> Result<(), Failure> {
        if is_too_deep(self.arguments.get().as_bytes()) {
            return Err(Failure::arguments_too_deep());
        }
        let chosen = self.choose_action()?;
        let index = self.action_index(chosen.action);
        let definition = &self.tool.action_definitions[index];
        let checked = checker.check_arguments(definition, &raw(&chosen.arguments));
        checked.map_err(|misfit| Failure::Arguments {
            tool: self.tool.file.name.to_string(),
            misfit,
        })
    }

    pub(super) fn choose_action(&self) -> Result<ChosenAction<'_>, Failure> {
        let arguments: Map<String, Value> = serde_json::from_str(self.arguments.get())
            .map_err(|_| Failure::bad_params("`arguments` must be an object".to_owned()))?;
        let file: &ToolFile = &self.tool.file;
        let (action, arguments) = file
            .choose(arguments)
            .map_err(|error| Failure::bad_params(error.to_string()))?;
        Ok(ChosenAction { action, arguments })
    }

    fn action_index(&self, action: &ToolAction) -> usize {
        let actions = &self.tool.file.actions;
        let index = actions.iter().position(|it| it.name == action.name);
        index.expect("the action was chosen from these")
    }

    /// Returns the effect of the selected action, or of the whole tool if none is selected.
    pub(crate) fn write_class(&self) -> WriteClass {
        match self.choose_action() {
            Ok(chosen) => chosen.action.write_class(),
            Err(_) => self.tool.file.write_class(),
        }
    }
}
