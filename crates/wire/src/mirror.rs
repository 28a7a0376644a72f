//! What HTTP repeats of a modern request: the method, the name it is about, and the arguments
//! that a tool has marked with `x-mcp-header`.
//!
//! Whoever sends such a request and whoever checks one must read the marks alike, and spell
//! values alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The headers every request has, in small letters.
pub mod header {
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    pub const METHOD: &str = "mcp-method";
    pub const NAME: &str = "mcp-name";
}

/// The key in a schema that marks an argument.
pub const MARK: &str = "x-mcp-header";

/// An argument that travels as a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    path: Vec<String>,
    name: String,
}

impl Mark {
    pub fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// What the header says of these arguments, if they have something to say.
    pub fn value(&self, arguments: &Value) -> Option<String> {
        match self
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key))?
        {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// All marks of a schema. A tool whose marks break the rules must not be offered.
pub fn marks(schema: &Value) -> Result<Vec<Mark>, String> {
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), true, &mut found)?;
    for (index, mark) in found.iter().enumerate() {
        if found[..index]
            .iter()
            .any(|other| other.name.eq_ignore_ascii_case(&mark.name))
        {
            return Err(format!("two parameters use the header `{}`", mark.header()));
        }
    }
    Ok(found)
}

/// Plain where HTTP allows it, otherwise in base64 between the agreed markers.
pub fn encode(text: &str) -> String {
    let visible = text
        .bytes()
        .all(|byte| (0x20..=0x7e).contains(&byte) || byte == b'\t');
    let padded = text.trim() != text || text.is_empty();
    if visible && !padded && encoded(text).is_none() {
        text.to_owned()
    } else {
        format!("{BEGIN}{}{END}", STANDARD.encode(text))
    }
}

/// Nothing where what stands between the markers is no text.
pub fn decode(value: &str) -> Option<String> {
    match encoded(value) {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

fn encoded(value: &str) -> Option<&str> {
    value.strip_prefix(BEGIN)?.strip_suffix(END)
}

/// A mark counts only where a chain of `properties` leads; anywhere else it is an error.
fn walk(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<Mark>,
) -> Result<(), String> {
    match schema {
        Value::Object(members) => {
            if let Some(mark) = members.get(MARK) {
                if !reachable || path.is_empty() {
                    return Err(format!("`{MARK}` stands where no argument can be read"));
                }
                found.push(Mark {
                    path: path.clone(),
                    name: name(mark, schema)?,
                });
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
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| walk(item, path, false, found)),
        _ => Ok(()),
    }
}

fn name(mark: &Value, schema: &Value) -> Result<String, String> {
    let name = mark
        .as_str()
        .filter(|name| !name.is_empty())
        .ok_or("the header name is empty")?;
    if !matches!(
        schema.get("type").and_then(Value::as_str),
        Some("string" | "integer" | "boolean")
    ) {
        return Err(format!("`{name}` is not on a string, integer or boolean"));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.bytes().all(fits) {
        Ok(name.to_owned())
    } else {
        Err(format!("`{name}` is not a header name"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_header_cannot_hold_is_encoded_and_comes_back() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("", "=?base64??="),
        ] {
            assert_eq!(encode(text), expected);
            assert_eq!(decode(expected).as_deref(), Some(text));
        }
        assert_eq!(decode("=?base64?%?="), None);
    }

    #[track_caller]
    fn check(schema: &Value, expected: Result<usize, &str>) {
        match (marks(schema), expected) {
            (Ok(found), Ok(count)) => assert_eq!(found.len(), count),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (got, _) => panic!("{schema} gave {got:?}"),
        }
    }

    #[test]
    fn marks_are_taken_where_the_rules_allow_and_refused_elsewhere() {
        let marked = json!({"type": "string", "x-mcp-header": "Region"});
        check(&json!({"properties": {"a": marked}}), Ok(1));
        check(
            &json!({"properties": {"o": {"properties": {"a": marked}}}}),
            Ok(1),
        );
        check(
            &json!({"properties": {"a": marked, "b": marked}}),
            Err("two parameters"),
        );
        check(
            &json!({"properties": {"l": {"items": marked}}}),
            Err("no argument"),
        );
        check(
            &json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            Err("integer"),
        );
        let spaced = json!({"type": "string", "x-mcp-header": "A B"});
        check(&json!({"properties": {"a": spaced}}), Err("header name"));
        check(
            &json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            Err("empty"),
        );
    }

    #[test]
    fn a_mark_reads_plain_values_wherever_they_stand() {
        let number = json!({"type": "integer", "x-mcp-header": "N"});
        let found = marks(&json!({"properties": {"o": {"properties": {"n": number}}}})).unwrap();
        assert_eq!(found[0].header(), "Mcp-Param-N");
        assert_eq!(
            found[0].value(&json!({ "o": { "n": 7 } })).as_deref(),
            Some("7")
        );
        for without in [
            json!({}),
            json!({ "o": { "n": null } }),
            json!({ "o": { "n": [1] } }),
        ] {
            assert_eq!(found[0].value(&without), None);
        }
    }
}
