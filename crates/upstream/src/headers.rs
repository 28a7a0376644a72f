//! The HTTP headers that mirror parts of a modern request: the method, the name it is
//! about, and the arguments a tool has marked with `x-mcp-header`.

use std::collections::{BTreeSet, HashMap};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use kitbag_wire::meta::method;
use kitbag_wire::{ProtocolVersion, Raw, RawObject};
use serde_json::Value;

use crate::http::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const MARK: &str = "x-mcp-header";

/// One argument that travels as a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    path: Vec<String>,
    header: HeaderName,
}

/// For each tool that has any, the arguments to mirror.
pub(crate) type MirrorTable = HashMap<String, Vec<Mirrored>>;

pub(crate) fn standard(method: &str, params: &RawObject) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = vec![(PROTOCOL_VERSION, HeaderValue::from_static(ProtocolVersion::LATEST.as_str()))];
    if let Ok(value) = HeaderValue::try_from(method) {
        headers.push((METHOD, value));
    }
    if let Some(name) = subject(method, params) {
        headers.push((NAME, encode(&name)));
    }
    headers
}

pub(crate) fn mirrored(table: &MirrorTable, params: &RawObject) -> Vec<(HeaderName, HeaderValue)> {
    let Some(marked) = params.read::<String>("name").and_then(|tool| table.get(&tool)) else {
        return Vec::new();
    };
    let arguments: Value = params.read("arguments").unwrap_or(Value::Null);
    marked
        .iter()
        .filter_map(|it| {
            let value = it.path.iter().try_fold(&arguments, |value, key| value.get(key))?;
            Some((it.header.clone(), encode(&plain(value)?)))
        })
        .collect()
}

/// Reads the marks of all tools. Those whose marks break the rules must not be offered;
/// they come back with the reason.
pub(crate) fn read_marks(tools: &[Raw]) -> (MirrorTable, HashMap<String, String>) {
    let (mut table, mut invalid) = (MirrorTable::new(), HashMap::new());
    for tool in tools.iter().filter(|tool| tool.get().contains(MARK)) {
        let Ok(tool) = RawObject::open(tool) else { continue };
        let Some(name) = tool.read::<String>("name") else { continue };
        let schema: Value = tool.read("inputSchema").unwrap_or(Value::Null);
        match marks(&schema) {
            Ok(marked) if marked.is_empty() => {}
            Ok(marked) => {
                table.insert(name, marked);
            }
            Err(reason) => {
                invalid.insert(name, reason);
            }
        }
    }
    (table, invalid)
}

fn marks(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), true, &mut found)?;
    let mut seen = BTreeSet::new();
    for it in &found {
        if !seen.insert(it.header.as_str().to_owned()) {
            return Err(format!("two parameters use the header `{}`", it.header));
        }
    }
    Ok(found)
}

/// A mark counts only where a chain of `properties` leads; anywhere else it is an error.
fn walk(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<Mirrored>,
) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            if let Some(mark) = members.get(MARK) {
                if !reachable || path.is_empty() {
                    return Err(format!("`{MARK}` stands where no argument can be read"));
                }
                found.push(Mirrored { path: path.clone(), header: header_name(mark, schema)? });
            }
            for (key, value) in members.iter().filter(|(key, _)| *key != MARK) {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        for (name, property) in properties {
                            path.push(name.clone());
                            walk(property, path, reachable, found)?;
                            path.pop();
                        }
                    }
                    // What these hold are example values, not schemas.
                    ("default" | "enum" | "const" | "examples", _) => {}
                    _ => walk(value, path, false, found)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().try_for_each(|item| walk(item, path, false, found)),
        _ => Ok(()),
    }
}

fn header_name(mark: &Value, schema: &Value) -> Result<HeaderName, String> {
    let name = mark.as_str().filter(|name| !name.is_empty()).ok_or("the header name is empty")?;
    if !matches!(schema.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("`{name}` is not on a string, integer or boolean"));
    }
    HeaderName::try_from(format!("mcp-param-{name}")).map_err(|_| format!("`{name}` is not a header name"))
}

fn subject(method: &str, params: &RawObject) -> Option<String> {
    match method {
        method::CALL_TOOL | method::GET_PROMPT => params.read("name"),
        method::READ_RESOURCE => params.read("uri"),
        _ if method.starts_with("tasks/") => params.read("taskId"),
        _ => None,
    }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Plain where HTTP allows it, otherwise in base64 between the agreed markers.
fn encode(text: &str) -> HeaderValue {
    let visible = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t');
    let padded = text.trim() != text || text.is_empty();
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    let value = if visible && !padded && !looks_encoded {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(text))
    };
    HeaderValue::try_from(value).expect("visible ASCII or base64")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_encoded(text: &str, expect: &str) {
        assert_eq!(encode(text).to_str().unwrap(), expect);
    }

    #[test]
    fn what_a_header_cannot_hold_is_encoded() {
        check_encoded("us-west1", "us-west1");
        check_encoded("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?=");
        check_encoded(" padded ", "=?base64?IHBhZGRlZCA=?=");
        check_encoded("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[track_caller]
    fn check_marks(schema: &Value, expect: Result<usize, &str>) {
        match (marks(schema), expect) {
            (Ok(found), Ok(count)) => assert_eq!(found.len(), count),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (got, _) => panic!("{schema} gave {got:?}"),
        }
    }

    #[test]
    fn marks_are_taken_where_the_rules_allow_and_refused_elsewhere() {
        use serde_json::json;
        let marked = json!({"type": "string", "x-mcp-header": "Region"});
        check_marks(&json!({"properties": {"a": marked}}), Ok(1));
        check_marks(&json!({"properties": {"o": {"properties": {"a": marked}}}}), Ok(1));
        check_marks(&json!({"properties": {"a": marked, "b": marked}}), Err("two parameters"));
        check_marks(&json!({"properties": {"l": {"items": marked}}}), Err("no argument"));
        check_marks(&json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}), Err("integer"));
        let spaced = json!({"type": "string", "x-mcp-header": "A B"});
        check_marks(&json!({"properties": {"a": spaced}}), Err("header name"));
        check_marks(&json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}), Err("empty"));
    }
}
