//! The parts of a modern request that HTTP repeats in headers: the method, the name it is about,
//! and the arguments that a tool has marked with `x-mcp-header`.
//!
//! The side that sends such a request and the side that checks it both use this file, so that they
//! read the marks alike and spell the values alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The headers that every request has, in lower case.
pub mod header {
    pub const PROTOCOL_VERSION: &str = "mcp-protocol-version";
    pub const METHOD: &str = "mcp-method";
    pub const NAME: &str = "mcp-name";
}

/// The key in a schema that marks an argument.
pub const MARK: &str = "x-mcp-header";

/// A mark in a schema: the argument at this path is repeated in a header of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMark {
    path: Vec<String>,
    name: String,
}

impl HeaderMark {
    pub fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// Returns the value of the header for these arguments. There is no header if the argument is
    /// absent, null, a list or an object.
    pub fn value(&self, arguments: &Value) -> Option<String> {
        let mut path = self.path.iter();
        match path.try_fold(arguments, |value, key| value.get(key))? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Finds all marks of a schema. A tool whose marks break the rules must not be offered.
pub fn marks(schema: &Value) -> Result<Vec<HeaderMark>, String> {
    let mut search = MarkSearch::default();
    search.walk(schema, true)?;
    match repeated(&search.found) {
        Some(mark) => Err(format!("two parameters use the header `{}`", mark.header())),
        None => Ok(search.found),
    }
}

/// HTTP does not tell upper from lower case in the name of a header.
fn repeated(marks: &[HeaderMark]) -> Option<&HeaderMark> {
    marks.iter().enumerate().find_map(|(index, mark)| {
        let mut before = marks[..index].iter();
        let is_taken = before.any(|other| other.name.eq_ignore_ascii_case(&mark.name));
        is_taken.then_some(mark)
    })
}

/// Spells a value for a header: plain where HTTP allows it, otherwise in base64 between the agreed
/// markers.
pub fn encode(text: &str) -> String {
    // A text that looks as if it were encoded is encoded, so that it is not decoded by mistake.
    if survives_http(text) && encoded(text).is_none() {
        text.to_owned()
    } else {
        format!("{BEGIN}{}{END}", STANDARD.encode(text))
    }
}

/// HTTP takes visible ASCII characters, and drops blanks at either end.
fn survives_http(text: &str) -> bool {
    let is_padded = text.trim() != text || text.is_empty();
    !is_padded && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}

/// Reads a value that [`encode`] spelt; nothing if the bytes between the markers are no text.
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

/// A walk through a schema.
#[derive(Default)]
struct MarkSearch {
    /// The names of the properties that lead to the schema at hand.
    path: Vec<String>,
    found: Vec<HeaderMark>,
}

impl MarkSearch {
    /// A mark counts only where a chain of `properties` leads (`is_reachable`); anywhere else it
    /// is an error.
    fn walk(&mut self, schema: &Value, is_reachable: bool) -> Result<(), String> {
        match schema {
            Value::Object(members) => {
                self.take_mark(schema, is_reachable)?;
                members
                    .iter()
                    .try_for_each(|(key, value)| self.walk_member(key, value, is_reachable))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.walk(item, false)),
            _ => Ok(()),
        }
    }

    fn take_mark(&mut self, schema: &Value, is_reachable: bool) -> Result<(), String> {
        let Some(mark) = schema.get(MARK) else {
            return Ok(());
        };
        if !is_reachable || self.path.is_empty() {
            return Err(format!(
                "`{MARK}` is not on an argument that `properties` lead to"
            ));
        }
        let name = name(mark, schema)?;
        let path = self.path.clone();
        self.found.push(HeaderMark { path, name });
        Ok(())
    }

    fn walk_member(&mut self, key: &str, value: &Value, is_reachable: bool) -> Result<(), String> {
        match (key, value) {
            (MARK, _) => Ok(()),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    self.path.push(name.clone());
                    self.walk(property, is_reachable)?;
                    self.path.pop();
                }
                Ok(())
            }
            // These hold example values, not schemas.
            ("default" | "enum" | "const" | "examples", _) => Ok(()),
            _ => self.walk(value, false),
        }
    }
}

fn name(mark: &Value, schema: &Value) -> Result<String, String> {
    let Some(name) = mark.as_str().filter(|name| !name.is_empty()) else {
        return Err("the header name is empty".to_owned());
    };
    let kind = schema.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!("`{name}` is not on a string, integer or boolean"));
    }
    if !name.bytes().all(is_header_byte) {
        return Err(format!("`{name}` is not a header name"));
    }
    Ok(name.to_owned())
}

/// A character of a token in RFC 9110.
fn is_header_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_a_header_cannot_hold_is_encoded_and_comes_back() {
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
            Err("is not on an argument"),
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
