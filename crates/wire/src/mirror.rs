//! The parts of a modern request that HTTP repeats in headers: the method, the name of its target,
//! and the arguments that a tool has marked with `x-mcp-header`.
//!
//! Sender and checker of such a request both use this module, so they find the same marks and
//! encode values the same way.

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
    pub fn header_name(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// Returns the value of the header for these arguments. There is no header if the argument is
    /// absent, null, a list or an object.
    pub fn header_value(&self, arguments: &Value) -> Option<String> {
        let mut path = self.path.iter();
        match path.try_fold(arguments, |value, key| value.get(key))? {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

/// Finds all marks in a schema. A tool with an invalid mark must not be listed.
pub fn find_marks(schema: &Value) -> Result<Vec<HeaderMark>, String> {
    let mut search = MarkSearch::default();
    search.walk_schema(schema, true)?;
    match find_repeated_name(&search.found) {
        Some(mark) => Err(format!(
            "two parameters use the header `{}`",
            mark.header_name()
        )),
        None => Ok(search.found),
    }
}

/// Header names are case-insensitive.
fn find_repeated_name(marks: &[HeaderMark]) -> Option<&HeaderMark> {
    marks.iter().enumerate().find_map(|(index, mark)| {
        let mut before = marks[..index].iter();
        let is_taken = before.any(|other| other.name.eq_ignore_ascii_case(&mark.name));
        is_taken.then_some(mark)
    })
}

/// Encodes a header value: plain where HTTP allows it, otherwise in base64 between the specified
/// markers.
pub fn encode_header_value(text: &str) -> String {
    // Plain text that looks encoded is encoded, too, or it would be decoded by mistake.
    if survives_http(text) && base64_part(text).is_none() {
        text.to_owned()
    } else {
        format!("{BEGIN}{}{END}", STANDARD.encode(text))
    }
}

/// HTTP allows visible ASCII characters, and strips white space at both ends.
fn survives_http(text: &str) -> bool {
    let is_padded = text.trim() != text || text.is_empty();
    !is_padded && text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}

/// Decodes a header value; returns `None` if the base64 is not UTF-8 text.
pub fn decode_header_value(value: &str) -> Option<String> {
    match base64_part(value) {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

fn base64_part(value: &str) -> Option<&str> {
    value.strip_prefix(BEGIN)?.strip_suffix(END)
}

/// A walk through a schema.
#[derive(Default)]
struct MarkSearch {
    /// The property names from the root to the current schema.
    path: Vec<String>,
    found: Vec<HeaderMark>,
}

impl MarkSearch {
    /// A mark is valid only if a chain of `properties` leads to it (`is_reachable`); anywhere else
    /// it is an error.
    fn walk_schema(&mut self, schema: &Value, is_reachable: bool) -> Result<(), String> {
        match schema {
            Value::Object(members) => {
                self.add_mark(schema, is_reachable)?;
                members
                    .iter()
                    .try_for_each(|(key, value)| self.walk_member(key, value, is_reachable))
            }
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.walk_schema(item, false)),
            _ => Ok(()),
        }
    }

    fn add_mark(&mut self, schema: &Value, is_reachable: bool) -> Result<(), String> {
        let Some(mark) = schema.get(MARK) else {
            return Ok(());
        };
        if !is_reachable || self.path.is_empty() {
            return Err(format!(
                "`{MARK}` is on a parameter that is not reachable through `properties`"
            ));
        }
        let name = parse_mark_name(mark, schema)?;
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
                    self.walk_schema(property, is_reachable)?;
                    self.path.pop();
                }
                Ok(())
            }
            // These hold example values, not schemas.
            ("default" | "enum" | "const" | "examples", _) => Ok(()),
            _ => self.walk_schema(value, false),
        }
    }
}

fn parse_mark_name(mark: &Value, schema: &Value) -> Result<String, String> {
    let Some(name) = mark.as_str().filter(|name| !name.is_empty()) else {
        return Err("the header name is empty".to_owned());
    };
    let kind = schema.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!("`{name}` is not on a string, integer or boolean"));
    }
    if !name.bytes().all(is_header_byte) {
        return Err(format!("`{name}` is not a valid header name"));
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
    fn a_value_unsuitable_for_a_header_is_encoded_and_decoded() {
        for (text, expected) in [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("", "=?base64??="),
        ] {
            assert_eq!(encode_header_value(text), expected);
            assert_eq!(decode_header_value(expected).as_deref(), Some(text));
        }
        assert_eq!(decode_header_value("=?base64?%?="), None);
    }

    #[track_caller]
    fn check(schema: &Value, expected: Result<usize, &str>) {
        match (find_marks(schema), expected) {
            (Ok(found), Ok(count)) => assert_eq!(found.len(), count),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (got, _) => panic!("{schema} gave {got:?}"),
        }
    }

    #[test]
    fn marks_are_valid_only_on_reachable_parameters() {
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
            Err("is not reachable"),
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
    fn a_mark_reads_plain_values_at_any_depth() {
        let number = json!({"type": "integer", "x-mcp-header": "N"});
        let found =
            find_marks(&json!({"properties": {"o": {"properties": {"n": number}}}})).unwrap();
        assert_eq!(found[0].header_name(), "Mcp-Param-N");
        assert_eq!(
            found[0]
                .header_value(&json!({ "o": { "n": 7 } }))
                .as_deref(),
            Some("7")
        );
        for without in [
            json!({}),
            json!({ "o": { "n": null } }),
            json!({ "o": { "n": [1] } }),
        ] {
            assert_eq!(found[0].header_value(&without), None);
        }
    }
}
