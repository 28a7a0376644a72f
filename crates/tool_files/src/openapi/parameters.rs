//! The parameters of an operation: path, query and header.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::document::{FoundOperation, OpenApiDocument};
use super::{names, strict};

/// The part of an action's request that its parameters determine.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ParameterParts {
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    pub(super) taken: BTreeSet<String>,
}

/// Names with another meaning in a tool file.
const RESERVED: [&str; 3] = ["action", "credential", "max_pages"];
/// Headers of the request itself, according to the specification.
const OWN_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

pub(super) fn read(
    document: &OpenApiDocument,
    found: &FoundOperation<'_>,
) -> Result<ParameterParts, String> {
    let mut parts = ParameterParts {
        path: braces(found.path),
        taken: RESERVED.map(str::to_owned).into(),
        ..ParameterParts::default()
    };
    for parameter in parameters(document, found)? {
        add(document, &mut parts, parameter)?;
    }
    add_undeclared(&mut parts);
    Ok(parts)
}

/// Returns the operation's parameters, and its path's parameters that it does not override.
fn parameters<'d>(
    document: &'d OpenApiDocument,
    found: &FoundOperation<'d>,
) -> Result<Vec<&'d Map<String, Value>>, String> {
    let mut all: Vec<&'d Map<String, Value>> = Vec::new();
    for holder in [found.operation, found.item] {
        let listed = holder.get("parameters").and_then(Value::as_array);
        for parameter in listed.into_iter().flatten() {
            let resolved = document.resolve(parameter).and_then(Value::as_object);
            let parameter =
                resolved.ok_or("a parameter refers to something that is not in the document")?;
            if !all.iter().any(|it| is_same(it, parameter)) {
                all.push(parameter);
            }
        }
    }
    Ok(all)
}

fn is_same(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    one.get("name") == other.get("name") && one.get("in") == other.get("in")
}

fn add(
    document: &OpenApiDocument,
    parts: &mut ParameterParts,
    parameter: &Map<String, Value>,
) -> Result<(), String> {
    let (name, location) = (text_of(parameter, "name"), text_of(parameter, "in"));
    let is_required = parameter.get("required") == Some(&Value::Bool(true));
    if location == "header" && OWN_HEADERS.contains(&name.to_lowercase().as_str()) {
        return Ok(());
    }
    if location == "cookie" {
        return match is_required {
            true => Err(format!("it needs the cookie `{name}`")),
            false => Ok(()),
        };
    }
    let argument = names::argument(name, &mut parts.taken);
    let schema = schema(document, parameter);
    match location {
        "path" => {
            parts.path = parts
                .path
                .replace(&format!("{{{name}}}"), &format!("{{{argument}}}"));
        }
        "query" => parts.query.push(query(name, &argument, parameter, &schema)),
        "header" => parts
            .headers
            .push((name.to_owned(), format!("{{{argument}}}"))),
        _ => {
            return Err(format!(
                "the parameter `{name}` has an unknown location, `{location}`"
            ));
        }
    }
    if is_required || location == "path" {
        parts.required.push(argument.clone());
    }
    parts.properties.insert(argument, schema);
    Ok(())
}

fn text_of<'p>(parameter: &'p Map<String, Value>, key: &str) -> &'p str {
    let text = parameter.get(key).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Returns the schema of a parameter with the parameter's own description.
fn schema(document: &OpenApiDocument, parameter: &Map<String, Value>) -> Value {
    let content = parameter.get("content").and_then(Value::as_object);
    let content = content.and_then(|types| types.values().next()?.get("schema"));
    let loose = parameter
        .get("schema")
        .or(content)
        .cloned()
        .unwrap_or_default();
    let mut schema = strict::strict(document, &loose);
    let described = parameter.get("description").and_then(Value::as_str);
    if let (Some(described), Some(members)) = (described, schema.as_object_mut()) {
        let short = kitbag_domain::text::first_sentence(described);
        members.insert("description".to_owned(), short.into());
    }
    schema
}

/// Returns the query parameter with its pattern. A list repeats the parameter unless its style is
/// different.
fn query(
    name: &str,
    argument: &str,
    parameter: &Map<String, Value>,
    schema: &Value,
) -> (String, String) {
    let style = parameter
        .get("style")
        .and_then(Value::as_str)
        .unwrap_or("form");
    let is_one_text =
        parameter.get("explode") == Some(&Value::Bool(false)) || parameter.contains_key("content");
    let is_list = schema["type"] == "array";
    match style {
        "deepObject" if is_list => (format!("{name}[]"), format!("{{{argument}}}")),
        "form" if is_one_text => (name.to_owned(), format!("{{{argument},}}")),
        _ => (name.to_owned(), format!("{{{argument}}}")),
    }
}

/// Declares the path's placeholders that the document omitted.
fn add_undeclared(parts: &mut ParameterParts) {
    let pieces: Vec<String> = parts
        .path
        .split('{')
        .skip(1)
        .filter_map(|piece| piece.split('}').next())
        .map(str::to_owned)
        .collect();
    for name in pieces.into_iter().filter(|name| !name.is_empty()) {
        if !parts.properties.contains_key(&name) {
            let argument = names::argument(&name, &mut parts.taken);
            parts.path = parts
                .path
                .replace(&format!("{{{name}}}"), &format!("{{{argument}}}"));
            parts.required.push(argument.clone());
            parts
                .properties
                .insert(argument, serde_json::json!({ "type": "string" }));
        }
    }
}

/// A path may end in a fragment that only distinguishes operations.
fn braces(path: &str) -> String {
    path.split(['#', '?']).next().unwrap_or_default().to_owned()
}
