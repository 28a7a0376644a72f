//! Checks that the headers of a modern request repeat the values of its body.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kitbag_wire::meta::{self, code, method};
use kitbag_wire::{ErrorObject, RawObject, Request};
use serde_json::Value;

use super::{VERSION_HEADER, text};
use crate::{modern, tools};

pub(super) fn check(headers: &HeaderMap, request: &Request) -> Result<(), ErrorObject> {
    let params = request.open_params().unwrap_or_default();
    modern::check_greeting(&request.method, &params)?;
    check_version(headers, &params)?;
    modern::check_meta(&params)?;
    check_standard(headers, METHOD_HEADER, Some(&request.method))?;
    check_standard(
        headers,
        NAME_HEADER,
        modern::name_of(request, &params).as_deref(),
    )?;
    if request.method == method::CALL_TOOL {
        check_arguments(headers, &params)?;
    }
    Ok(())
}

const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

fn check_version(headers: &HeaderMap, params: &RawObject) -> Result<(), ErrorObject> {
    let header = text(headers, VERSION_HEADER).ok_or_else(|| missing_error(VERSION_HEADER))?;
    let body: Option<String> = params
        .get_object("_meta")
        .and_then(|meta| meta.read(meta::PROTOCOL_VERSION));
    match body {
        Some(body) if body != header => Err(mismatch(VERSION_HEADER, header, &body)),
        _ => Ok(()),
    }
}

fn check_standard(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), ErrorObject> {
    let Some(body) = body else { return Ok(()) };
    let header = text(headers, name).ok_or_else(|| missing_error(name))?;
    if decode_value(header).as_deref() == Some(body) {
        Ok(())
    } else {
        Err(mismatch(name, header, body))
    }
}

fn check_arguments(headers: &HeaderMap, params: &RawObject) -> Result<(), ErrorObject> {
    let Some(schema) = params
        .read::<String>("name")
        .and_then(|name| tools::schema_of(&name))
    else {
        return Ok(());
    };
    let arguments: Value = params.read("arguments").unwrap_or_default();
    for (name, value) in mirrored_arguments(&schema, &arguments) {
        let name = format!("mcp-param-{name}").to_ascii_lowercase();
        let header = text(headers, &name).ok_or_else(|| missing_error(&name))?;
        if !decode_value(header).is_some_and(|header| header_matches(&header, value)) {
            return Err(mismatch(&name, header, &value.to_string()));
        }
    }
    Ok(())
}

/// Returns the arguments that a header must repeat, with the name that the schema gives the header.
fn mirrored_arguments<'a>(schema: &'a Value, arguments: &'a Value) -> Vec<(&'a str, &'a Value)> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (property, schema) in properties {
        let Some(value) = arguments.get(property).filter(|value| !value.is_null()) else {
            continue;
        };
        match schema.get("x-mcp-header").and_then(Value::as_str) {
            Some(name) => found.push((name, value)),
            None => found.extend(mirrored_arguments(schema, value)),
        }
    }
    found
}

fn header_matches(header: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => header == text,
        Value::Number(number) => header.parse::<f64>().ok() == number.as_f64(),
        Value::Bool(flag) => header == if *flag { "true" } else { "false" },
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

/// Decodes a value in the form `=?base64?…?=`; `None` if the encoding is broken.
fn decode_value(header: &str) -> Option<String> {
    match header
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

fn missing_error(name: &str) -> ErrorObject {
    ErrorObject::new(
        code::HEADER_MISMATCH,
        format!("the header `{name}` is missing"),
    )
}

fn mismatch(name: &str, header: &str, body: &str) -> ErrorObject {
    ErrorObject::new(
        code::HEADER_MISMATCH,
        format!("the header `{name}` says `{header}`, the body says `{body}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_header_value_is_decoded_only_if_it_is_completely_marked() {
        assert_eq!(
            decode_value("=?base64?SGVsbG8=?=").as_deref(),
            Some("Hello")
        );
        assert_eq!(decode_value("=?base64?SGVsbG8?="), None);
        assert_eq!(decode_value("=?base64?SGVs!!!bG8=?="), None);
        assert_eq!(
            decode_value("=?base64?SGVsbG8=").as_deref(),
            Some("=?base64?SGVsbG8=")
        );
    }

    #[test]
    fn nested_arguments_are_mirrored_and_absent_ones_are_not_expected() {
        let schema = json!({ "properties": {
            "a": { "x-mcp-header": "A" },
            "b": { "properties": { "c": { "x-mcp-header": "C" } } },
        }});
        assert_eq!(
            mirrored_arguments(&schema, &json!({ "b": { "c": 1 } })),
            [("C", &json!(1))]
        );
        assert_eq!(mirrored_arguments(&schema, &json!({ "a": null })), []);
        assert!(header_matches("42.0", &json!(42)));
    }
}
