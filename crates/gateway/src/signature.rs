//! A tool in one line, for a context that has no room for its schema:
//! `github__create_issue(owner, repo, title, body?: string) · Opens an issue`.

use http::Method;
use kitbag_apis::ProviderSpec;
use kitbag_domain::text::summary;
use kitbag_wire::RawObject;
use serde_json::Value;

/// Beyond this many, optional parameters are left out; required ones never are.
const MAX_OPTIONAL: usize = 6;

/// The line for a definition, under the name it is called by.
pub(crate) fn signature(name: &str, definition: &RawObject) -> String {
    let schema: Value = definition.read("inputSchema").unwrap_or_default();
    let description: String = definition.read("description").unwrap_or_default();
    let summary = summary(&description);
    let parameters = parameters(&schema).join(", ");
    if summary.is_empty() {
        format!("{name}({parameters})")
    } else {
        format!("{name}({parameters}) · {summary}")
    }
}

/// An HTTP API as the call that reaches it.
pub(crate) fn request(spec: &ProviderSpec) -> String {
    let methods: Vec<&str> = spec.methods.iter().map(Method::as_str).collect();
    let method = if spec.methods.iter().all(Method::is_safe) {
        String::new()
    } else {
        format!("method: {}, ", methods.join("|"))
    };
    let body = if method.is_empty() { "" } else { ", body" };
    let call = format!(
        "call_api(provider: \"{}\", {method}path, query{body})",
        spec.name
    );
    match spec
        .description
        .as_deref()
        .map(summary)
        .filter(|summary| !summary.is_empty())
    {
        Some(summary) => format!("{call} · {summary}"),
        None => call,
    }
}

fn parameters(schema: &Value) -> Vec<String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let needed = required
        .iter()
        .filter_map(|name| Some(shown(name, properties.get(*name)?, true)));
    let optional = properties
        .iter()
        .filter(|(name, _)| !required.contains(&name.as_str()));
    let count = properties.len().saturating_sub(required.len());
    let mut all: Vec<String> = needed
        .chain(
            optional
                .take(MAX_OPTIONAL)
                .map(|(name, schema)| shown(name, schema, false)),
        )
        .collect();
    if count > MAX_OPTIONAL {
        all.push("…".to_owned());
    }
    all
}

/// Strings are what most parameters are, so only other types of a required one are named.
fn shown(name: &str, schema: &Value, required: bool) -> String {
    match (required, kind(schema)) {
        (true, kind) if kind == "string" => name.to_owned(),
        (true, kind) => format!("{name}: {kind}"),
        (false, kind) => format!("{name}?: {kind}"),
    }
}

/// The type of a value, as short as it can be said.
pub fn kind(schema: &Value) -> String {
    if let Some(choices) = schema
        .get("enum")
        .and_then(Value::as_array)
        .filter(|choices| choices.len() <= 5)
    {
        return choices
            .iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join("|");
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            format!(
                "{}[]",
                schema
                    .get("items")
                    .map_or_else(|| "any".to_owned(), kind_of_item)
            )
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .filter(|kind| *kind != "null")
            .collect::<Vec<_>>()
            .join("|"),
        _ => "any".to_owned(),
    }
}

fn kind_of_item(schema: &Value) -> String {
    let kind = kind(schema);
    if kind.contains('|') {
        "any".to_owned()
    } else {
        kind
    }
}

#[cfg(test)]
mod tests {
    use kitbag_wire::raw;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(definition: &Value, expect: &str) {
        let definition = RawObject::open(&raw(definition)).unwrap();
        assert_eq!(signature("t", &definition), expect);
    }

    #[test]
    fn a_definition_becomes_one_line_with_every_required_parameter() {
        check(
            &json!({
                "description": "Opens an issue. More follows.",
                "inputSchema": {
                    "properties": {
                        "labels": { "type": "array", "items": { "type": "string" } },
                        "title": { "type": "string" },
                        "count": { "type": ["integer", "null"] },
                        "state": { "enum": ["open", "closed"] },
                    },
                    "required": ["title", "count"],
                },
            }),
            r#"t(title, count: integer, labels?: string[], state?: "open"|"closed") · Opens an issue"#,
        );
        check(&json!({}), "t()");
    }
}
