//! The checks of one file: hosts, arguments, examples, intents, secrets.

use http::HeaderName;
use kitbag_tool_spec::TextPattern;
use serde_json::Value;

use super::{CheckFinding, CheckId, CheckInput, tool_finding};
use crate::file::schema::{properties, required_names};
use crate::file::{ToolAction, ToolFile};

pub(super) fn check(tool: &ToolFile, input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let mut findings: Vec<CheckFinding> = find_unlisted_host(tool).into_iter().collect();
    findings.extend(find_missing_intents(tool));
    findings.extend(secrets(tool, input));
    for action in &tool.actions {
        findings.extend(find_unused_arguments(tool, action));
        findings.extend(find_unknown_required(tool, action));
        findings.extend(find_invalid_examples(tool, action, input));
    }
    findings
}

/// The host of the address must be one that requests may reach.
fn find_unlisted_host(tool: &ToolFile) -> Option<CheckFinding> {
    let api = tool.api.as_ref()?;
    let example = api.url.with_stars().replace('*', "x");
    let url = url::Url::parse(&example).ok()?;
    let host = url.host_str()?;
    (!api.may_reach(host)).then(|| {
        let hosts: Vec<String> = api.hosts.iter().map(ToString::to_string).collect();
        tool_finding(
            CheckId::Hosts,
            tool,
            tool.line("api.hosts"),
            format!(
                "requests go to `{host}`, but the hosts are {}",
                hosts.join(", ")
            ),
            "add the host, or remove `hosts` to allow only the host of `url`",
        )
    })
}

fn find_missing_intents(tool: &ToolFile) -> Option<CheckFinding> {
    tool.intents.is_empty().then(|| {
        tool_finding(
            CheckId::Intents,
            tool,
            tool.line("intents"),
            format!("`{}` has no intents", tool.id),
            "write intents = [\"…\"] with requests that people would type",
        )
    })
}

/// Finds lines with a word that looks like a secret, whatever surrounds it.
fn secrets(tool: &ToolFile, input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let lines = tool.source().lines().enumerate();
    let with_secret = lines.filter(|(_, line)| words(line).any(|it| (input.looks_secret)(it)));
    with_secret
        .map(|(at, _)| {
            secret_finding(
                tool,
                at + 1,
                "this line seems to contain a secret".to_owned(),
            )
        })
        .chain(find_fixed_secrets(tool, input))
        .collect()
}

/// Splits at the characters that TOML and JSON put around a value.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let words =
        line.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']'));
    words.filter(|word| may_be_secret(word))
}

/// Secrets are random, so they contain digits; a name such as `secret_scanning` or a pattern does
/// not.
fn may_be_secret(word: &str) -> bool {
    word.chars().any(|c| c.is_ascii_digit()) && word.chars().all(is_in_secrets)
}

fn is_in_secrets(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./+=:@~%".contains(c)
}

/// A header or parameter whose name marks it as a secret must take its value from the credential.
fn find_fixed_secrets(tool: &ToolFile, input: &CheckInput<'_>) -> Vec<CheckFinding> {
    let api = tool
        .api
        .iter()
        .flat_map(|api| list_headers("api", &api.headers));
    let actions = tool.actions.iter().filter_map(|action| {
        let request = action.request.as_ref()?;
        let table = format!("actions.{}", action.name);
        let query = request.query.iter();
        let query =
            query.map(|(name, value)| (format!("{table}.query.{name}"), name.clone(), value));
        let headers = list_headers(&table, &request.headers);
        Some(query.chain(headers).collect::<Vec<_>>())
    });
    api.chain(actions.flatten())
        .filter(|(_, name, value)| {
            (input.names_secret)(name) && value.placeholders().next().is_none()
        })
        .map(|(key, name, _)| {
            secret_finding(tool, tool.line(&key), format!("`{name}` has a fixed value"))
        })
        .collect()
}

fn list_headers<'h>(
    table: &str,
    headers: &'h [(HeaderName, TextPattern)],
) -> Vec<(String, String, &'h TextPattern)> {
    let headers = headers.iter();
    headers
        .map(|(name, value)| (format!("{table}.headers"), name.to_string(), value))
        .collect()
}

fn secret_finding(tool: &ToolFile, line: usize, message: String) -> CheckFinding {
    tool_finding(
        CheckId::Secrets,
        tool,
        line,
        message,
        "put it into a credential: kitbag secret set NAME FIELD; and change it, if it was real",
    )
}

/// An argument that no pattern names and no `{*}` covers is never sent.
fn find_unused_arguments(tool: &ToolFile, action: &ToolAction) -> Vec<CheckFinding> {
    let Some(request) = &action.request else {
        return Vec::new();
    };
    if request.takes_rest() {
        return Vec::new();
    }
    let mut named = request.named_arguments();
    let storage = tool.api.as_ref().and_then(|api| api.storage.as_ref());
    named.extend(storage.map(|storage| storage.unless.as_str()));
    properties(&action.input)
        .filter(|(name, _)| !named.contains(name.as_str()))
        .map(|(name, _)| {
            tool_finding(
                CheckId::Arguments,
                tool,
                action.line_in_input(&format!("\"{name}\"")),
                format!("action `{}` takes `{name}`, but never sends it", action.name),
                format!("write {{{name}}} into the path, the query, a header or the body, or remove the property"),
            )
        })
        .collect()
}

fn find_unknown_required(tool: &ToolFile, action: &ToolAction) -> Vec<CheckFinding> {
    required_names(&action.input)
        .filter(|name| !properties(&action.input).any(|(it, _)| it == name))
        .map(|name| {
            tool_finding(
                CheckId::Arguments,
                tool,
                action.line_in_input("\"required\""),
                format!(
                    "action `{}` requires `{name}`, which is not a property",
                    action.name
                ),
                "add the property, or remove it from \"required\"",
            )
        })
        .collect()
}

/// Checks the examples against the schema that calls are checked against.
fn find_invalid_examples(
    tool: &ToolFile,
    action: &ToolAction,
    input: &CheckInput<'_>,
) -> Vec<CheckFinding> {
    let schema = Value::Object(action.arguments_schema());
    let examples = action.examples.iter().cloned().map(Value::Object);
    let line = tool.line(&format!("actions.{}.examples", action.name));
    examples
        .filter_map(|example| (input.fits)(&schema, &example).err())
        .map(|reason| {
            tool_finding(
                CheckId::Examples,
                tool,
                line,
                format!(
                    "an example of `{}` does not match the schema: {reason}",
                    action.name
                ),
                "correct the example or the schema",
            )
        })
        .collect()
}
