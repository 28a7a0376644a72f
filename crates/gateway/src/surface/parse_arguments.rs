//! Parses the arguments of the always-on tools: validated against their schemas and explained like
//! the arguments of any other tool.

use kitbag_wire::{Raw, RawObject, raw};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::request::unwrap_arguments;
use super::tools::AlwaysOnTool;
use crate::call::failure::Failure;
use kitbag_schema::{Checker, RereadArguments};

/// Parses the arguments of an always-on tool, and returns how they were corrected, if necessary.
pub(super) fn parse_arguments<T: DeserializeOwned>(
    checker: &Checker,
    tool: AlwaysOnTool,
    given: Option<&RawValue>,
) -> Result<(T, Option<RereadArguments>), Failure> {
    let given = normalize_arguments(tool, given);
    let definition = tool.checked_definition();
    // `ApiRequest` explains the arguments of `call_api` better than a schema.
    if tool == AlwaysOnTool::Call && given.get() == "{}" {
        return Ok((
            serde_json::from_str("{}").map_err(|_| unreadable_arguments(tool))?,
            None,
        ));
    }
    let correction = checker.reread_arguments(definition, &given);
    let arguments = correction
        .as_ref()
        .map_or(&given, |correction| &correction.arguments);
    if let Err(misfit) = checker.check_arguments(definition, arguments) {
        let tool = tool.name().to_owned();
        return Err(Failure::Arguments { tool, misfit });
    }
    let read = serde_json::from_str(arguments.get()).map_err(|_| unreadable_arguments(tool))?;
    Ok((read, correction))
}

fn unreadable_arguments(tool: AlwaysOnTool) -> Failure {
    Failure::bad_params(format!("invalid arguments for `{}`", tool.name()))
}

/// Some clients send every parameter, with null for omitted ones.
fn normalize_arguments(tool: AlwaysOnTool, given: Option<&RawValue>) -> Raw {
    let Some(given) = given.filter(|given| given.get() != "null") else {
        return raw(&RawObject::new());
    };
    let Ok(members) = RawObject::open(given) else {
        return given.to_owned();
    };
    let members_given = members
        .into_iter()
        .filter(|(_, value)| value.get() != "null");
    let members_given = members_given.map(|(name, value)| match (tool, name.as_str()) {
        (AlwaysOnTool::Call, "arguments") => {
            let arguments = unwrap_arguments(&value);
            (name, arguments)
        }
        _ => (name, value),
    });
    members_given.collect::<RawObject>().to_raw()
}
