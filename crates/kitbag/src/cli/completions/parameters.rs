//! Completes `key=` and `key=value` arguments of tools and prompts.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use kitbag_gateway::catalog::prompts::PromptArgument;
use serde_json::{Value, json};

use super::to_candidate;
use crate::cli::arguments::to_text;

pub(super) struct CompletableParameter {
    key: String,
    help: Option<String>,
    /// The possible values, if the schema lists them.
    values: Vec<String>,
}

impl From<PromptArgument> for CompletableParameter {
    fn from(argument: PromptArgument) -> Self {
        Self {
            key: argument.name,
            help: argument.description,
            values: Vec::new(),
        }
    }
}

/// Nesting depth of completed keys; deeper values are written as JSON.
pub(super) const MAX_DEPTH: usize = 3;

/// Collects the parameters of a schema; nested ones as `outer.inner`.
pub(super) fn collect_parameters(
    outer: &str,
    schema: &Value,
    depth: usize,
    parameters: &mut Vec<CompletableParameter>,
) {
    let properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    for (name, schema) in properties {
        let key = format!("{outer}{name}");
        if depth > 1 && schema.get("properties").is_some_and(Value::is_object) {
            collect_parameters(&format!("{key}."), schema, depth - 1, parameters);
        } else {
            let help = schema
                .get("description")
                .and_then(Value::as_str)
                .map(str::to_owned);
            parameters.push(CompletableParameter {
                key,
                help,
                values: possible_values(schema),
            });
        }
    }
}

fn possible_values(schema: &Value) -> Vec<String> {
    match schema.get("enum").and_then(Value::as_array) {
        Some(choices) => choices.iter().cloned().map(to_text).collect(),
        None if schema.get("type") == Some(&json!("boolean")) => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => Vec::new(),
    }
}

/// Returns the completions of `current`, without parameters given elsewhere on the line.
pub(super) fn complete_parameters(
    parameters: &[CompletableParameter],
    current: &OsStr,
    given: &[String],
) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else {
        return Vec::new();
    };
    let given: BTreeSet<&str> = given
        .iter()
        .filter(|word| *word != current)
        .filter_map(|word| Some(word.split_once('=')?.0.trim_end_matches(':')))
        .collect();
    parameters
        .iter()
        .filter(|parameter| !given.contains(parameter.key.as_str()))
        .flat_map(|parameter| parameter.candidates(current))
        .collect()
}

impl CompletableParameter {
    fn candidates(&self, current: &str) -> Vec<CompletionCandidate> {
        self.completions(current)
            .into_iter()
            .filter(|word| word.starts_with(current))
            .filter_map(|word| to_candidate(word, self.help.as_deref()))
            .collect()
    }

    /// Returns `key=`, or each `key=value` once the key is typed.
    fn completions(&self, current: &str) -> Vec<String> {
        let key = format!("{}=", self.key);
        if current.starts_with(&key) {
            let values = self.values.iter();
            values.map(|value| format!("{key}{value}")).collect()
        } else {
            vec![key]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &Value, given: &[&str], current: &str, expected: &[&str]) {
        let mut parameters = Vec::new();
        collect_parameters("", schema, MAX_DEPTH, &mut parameters);
        let given: Vec<String> = given.iter().map(|word| (*word).to_owned()).collect();
        let offered = complete_parameters(&parameters, OsStr::new(current), &given);
        let found: Vec<_> = offered
            .iter()
            .map(|it| it.get_value().to_str().unwrap())
            .collect();
        assert_eq!(found, expected, "{given:?} {current}");
    }

    #[test]
    fn given_parameters_are_not_completed_again() {
        let schema = json!({ "properties": {
            "all": { "type": "boolean" },
            "filter": { "type": "object", "properties": { "state": { "enum": ["open", "shut", 3] }, "since": {} } },
        } });
        check(
            &schema,
            &[],
            "",
            &["all=", "filter.state=", "filter.since="],
        );
        check(&schema, &["fi"], "fi", &["filter.state=", "filter.since="]);
        check(&schema, &["filter.state:=3", "f"], "f", &["filter.since="]);
        check(
            &schema,
            &["filter.state="],
            "filter.state=",
            &["filter.state=open", "filter.state=shut", "filter.state=3"],
        );
        check(&schema, &["all=t"], "all=t", &["all=true"]);
        check(&schema, &["filter.since=x"], "filter.since=x", &[]);
        check(&json!(true), &[], "", &[]);
    }

    #[test]
    fn text_that_could_steer_a_shell_or_terminal_is_omitted() {
        let hostile = [
            "$(reboot)",
            "`reboot`",
            "a;reboot",
            "a\nb",
            "a'b",
            "a\u{1b}[2J",
            "a>b",
            "a|b",
            "\u{202e}a",
        ];
        check(
            &json!({ "properties": { "x": { "enum": hostile } } }),
            &[],
            "x=",
            &[],
        );
        let names: serde_json::Map<_, _> = hostile
            .iter()
            .map(|name| ((*name).to_owned(), json!({})))
            .collect();
        check(&json!({ "properties": names }), &[], "", &[]);
        check(&json!({ "properties": { "--config": {} } }), &[], "", &[]);
        let candidate = to_candidate("x".to_owned(), Some("a\u{1b}[2Jb\nc. More"));
        assert_eq!(candidate.unwrap().get_help().unwrap().to_string(), "ab c");
    }
}
