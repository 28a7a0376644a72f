//! `kitbag tools show`: shows a tool and how to call it.

use std::process::ExitCode;

use clap::Args;
use clap_complete::ArgValueCandidates;
use kitbag_domain::{ExposedName, ServerName, near_names};
use serde_json::Value;

use crate::cli::Invocation;
use crate::cli::completions::tools;
use crate::cli::gateway::{CommandGateway, JoinChoice, find_owner};
use crate::cli::output::{Output, format_table, strip_controls, to_one_line};
use crate::cli::templates::is_read_only;
use kitbag_gateway::call::failure::Failure;
use kitbag_schema::parameter_type;

/// Show a tool's description and parameters.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Tool name, as in `kitbag tools`.
    #[arg(add = ArgValueCandidates::new(tools))]
    name: String,
    #[command(flatten)]
    join: JoinChoice,
}

const EXAMPLES: &str = "\
Examples:
  kitbag tools show time__convert_time
  kitbag tools show time__convert_time --json

With --json, prints the definition as clients receive it.";

pub(super) async fn run(arguments: Arguments, invocation: &Invocation) -> anyhow::Result<ExitCode> {
    let config = invocation.config()?;
    let mut gateway = CommandGateway::join_or_open(arguments.join, &config, invocation).await?;
    let owner = find_owner(&arguments.name, &config);
    let found = find(&mut gateway, &arguments.name, owner, invocation.output).await;
    gateway.close().await;
    invocation.show(&found?, |definition| {
        format_tool(&arguments.name, definition)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the definition, or an error with similar names. Lists the tool's server if the tool is
/// unknown, or all servers if the name contains no server.
pub(in crate::cli) async fn find(
    gateway: &mut CommandGateway,
    name: &str,
    owner: Option<ServerName>,
    output: Output,
) -> anyhow::Result<Value> {
    if let Some(definition) = gateway.get_definition(name).await? {
        return Ok(definition);
    }
    let rows = gateway.list_tools(owner.as_ref(), output).await?;
    if let Some(definition) = gateway.get_definition(name).await? {
        return Ok(definition);
    }
    let near = near_names(name, rows.iter().map(|row| row.name.as_str()))
        .into_iter()
        .map(str::to_owned)
        .collect();
    Err(Failure::UnknownTool {
        name: name.to_owned(),
        near,
    }
    .into())
}

fn format_tool(name: &str, definition: &Value) -> String {
    let description = definition
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let parameters = parameters(definition.get("inputSchema").unwrap_or(&Value::Null));
    let rows = parameters.iter().map(DescribedParameter::cells);
    let takes = match parameters.is_empty() {
        true => "No parameters.\n".to_owned(),
        false => format_table(["PARAMETER", "TYPE", "REQUIRED", "MEANING"], rows),
    };
    let needed: Vec<_> = parameters
        .iter()
        .filter(|it| it.needed)
        .map(|it| format!(" {}=…", it.name))
        .collect();
    let call = format!("To call it: kitbag call {name}{}", needed.concat());
    let description = strip_controls(description.trim());
    let hints = match describe_hints(definition) {
        effects if effects.is_empty() && reads_by_name(name, definition) => {
            "No hints from its server; judging by its name and description, it only reads."
                .to_owned()
        }
        effects => effects,
    };
    let head: Vec<_> = [name, &description, &hints]
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect();
    format!(
        "{}\n\n{takes}\n{}",
        head.join("\n\n"),
        strip_controls(&call)
    )
}

fn reads_by_name(name: &str, definition: &Value) -> bool {
    let named = ExposedName::split(name);
    let named = named.and_then(|(server, tool)| Some((server.parse().ok()?, tool)));
    named.is_some_and(|(server, tool)| is_read_only(&server, tool, definition))
}

/// Formats the server's hints about the tool's effects.
fn describe_hints(definition: &Value) -> String {
    let only_reads = hint(definition, "readOnlyHint");
    let destroys = hint(definition, "destructiveHint") == Some(true) && only_reads != Some(true);
    let repeatable = hint(definition, "idempotentHint") == Some(true);
    let effects = [
        (only_reads == Some(true), "only reads"),
        (only_reads == Some(false), "writes"),
        (destroys, "may be destructive"),
        (repeatable, "is idempotent"),
    ];
    let effects: Vec<_> = effects
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, words)| words)
        .collect();
    if effects.is_empty() {
        String::new()
    } else {
        format!("According to its server, it {}.", effects.join(", "))
    }
}

fn hint(definition: &Value, name: &str) -> Option<bool> {
    definition
        .pointer(&format!("/annotations/{name}"))
        .and_then(Value::as_bool)
}

struct DescribedParameter {
    name: String,
    kind: String,
    needed: bool,
    meaning: String,
}

/// Returns the parameters of a tool, required ones first.
fn parameters(schema: &Value) -> Vec<DescribedParameter> {
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let mut parameters: Vec<_> = properties
        .map(|(name, property)| DescribedParameter {
            name: name.clone(),
            kind: parameter_type(schema, name),
            needed: is_required(name, schema),
            meaning: describe_schema(property),
        })
        .collect();
    parameters.sort_by_key(|parameter| !parameter.needed);
    parameters
}

fn is_required(name: &str, schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|it| it == name))
}

fn describe_schema(schema: &Value) -> String {
    let description = schema
        .get("description")
        .and_then(Value::as_str)
        .map(to_one_line);
    let default = schema
        .get("default")
        .map(|default| format!("default {default}"));
    // A short list of choices is part of the type.
    let choices = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|choices| choices.len() > 5);
    let choices = choices.map(|choices| {
        let choices: Vec<_> = choices.iter().map(Value::to_string).collect();
        format!("one of {}", choices.join(", "))
    });
    [description, choices, default]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("; ")
}

impl DescribedParameter {
    fn cells(&self) -> [String; 4] {
        let needed = if self.needed { "yes" } else { "" };
        [
            self.name.clone(),
            self.kind.clone(),
            needed.to_owned(),
            self.meaning.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_shown_with_effects_parameters_and_a_call() {
        let definition = json!({
            "description": "Opens an issue.",
            "annotations": { "readOnlyHint": false, "destructiveHint": false },
            "inputSchema": {
                "properties": {
                    "labels": { "type": "array", "items": { "type": "string" }, "default": [] },
                    "title": { "type": "string", "description": "What it\nis about" },
                },
                "required": ["title"],
            },
        });
        let text = anstream::adapter::strip_str(&format_tool("git__open", &definition)).to_string();
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[0], ["git__open"]);
        assert_eq!(
            text.lines().nth(4),
            Some("According to its server, it writes.")
        );
        assert_eq!(
            lines[7],
            ["title", "string", "yes", "What", "it", "is", "about"]
        );
        assert_eq!(lines[8], ["labels", "string[]", "default", "[]"]);
        assert!(
            text.ends_with("To call it: kitbag call git__open title=…"),
            "{text}"
        );
        assert!(format_tool("a__b", &json!({})).contains("No parameters"));
    }
}
