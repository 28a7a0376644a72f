//! The HTTP headers that repeat parts of a message, and must agree with it.
//!
//! Something in front of the gateway may route or limit by these headers; if they could
//! differ from the body, it would be deceived.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use kitbag_wire::meta::{self, method};
use kitbag_wire::{Era, ProtocolVersion, RawObject};
use serde_json::Value;

use crate::failure::Failure;
use crate::rooms::Rooms;
use crate::turn::View;

const PROTOCOL_VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM_PREFIX: &str = "mcp-param-";

/// Whether the headers alone claim the modern manner.
pub(super) fn is_modern(headers: &HeaderMap) -> bool {
    let version = text(headers, PROTOCOL_VERSION).unwrap_or_default();
    match ProtocolVersion::parse(version) {
        Some(version) => version.era() == Era::Modern,
        // Not a revision we know; a legacy client would have a session by now.
        None => headers.contains_key(METHOD),
    }
}

pub(super) fn check_version(headers: &HeaderMap, params: &RawObject) -> Result<(), Failure> {
    let declared = params.get("_meta").and_then(|meta| RawObject::peek(meta, meta::PROTOCOL_VERSION));
    let declared: Option<String> = declared.and_then(|version| serde_json::from_str(version.get()).ok());
    match (text(headers, PROTOCOL_VERSION), declared) {
        (None, _) => Err(missing("MCP-Protocol-Version")),
        (Some(header), Some(body)) if header != body => Err(mismatch("MCP-Protocol-Version", header, &body)),
        _ => Ok(()),
    }
}

/// Legacy clients before 2025-06-18 send no version header; one that names a revision we do
/// not know is in error.
pub(super) fn check_legacy_version(headers: &HeaderMap) -> Result<(), Failure> {
    match text(headers, PROTOCOL_VERSION) {
        Some(version) if ProtocolVersion::parse(version).is_none() => {
            Err(Failure::UnsupportedVersion { requested: version.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Checks the headers of a modern request against its body.
pub(super) fn check(
    rooms: &Rooms,
    view: &View,
    headers: &HeaderMap,
    method: &str,
    params: &RawObject,
) -> Result<(), Failure> {
    let header = text(headers, METHOD).ok_or_else(|| missing("Mcp-Method"))?;
    if header != method {
        return Err(mismatch("Mcp-Method", header, method));
    }
    let subject: Option<String> = match method {
        method::CALL_TOOL | method::GET_PROMPT => params.read("name"),
        method::READ_RESOURCE => params.read("uri"),
        _ => None,
    };
    if let Some(subject) = subject {
        let header = text(headers, NAME).ok_or_else(|| missing("Mcp-Name"))?;
        let name = decode(header).ok_or_else(|| malformed("Mcp-Name"))?;
        if name != subject {
            return Err(mismatch("Mcp-Name", &name, &subject));
        }
        if method == method::CALL_TOOL {
            check_arguments(rooms, view, headers, &subject, params)?;
        }
    }
    Ok(())
}

/// Arguments a tool has marked with `x-mcp-header` must be repeated, and repeated truly.
fn check_arguments(
    rooms: &Rooms,
    view: &View,
    headers: &HeaderMap,
    tool: &str,
    params: &RawObject,
) -> Result<(), Failure> {
    let Some(schema) = schema(rooms, view, tool) else { return Ok(()) };
    let arguments: Value = params.read("arguments").unwrap_or(Value::Null);
    let mut marked = Vec::new();
    marks(&schema, &mut Vec::new(), &mut marked);
    for (path, mark) in marked {
        let Ok(name) = HeaderName::try_from(format!("{PARAM_PREFIX}{mark}")) else { continue };
        let shown = format!("Mcp-Param-{mark}");
        let value =
            path.iter().try_fold(&arguments, |value, key| value.get(key)).filter(|value| !value.is_null());
        match (headers.get(&name), value) {
            (None, None) => {}
            (None, Some(_)) => return Err(missing(&shown)),
            (Some(header), value) => {
                let header = header.to_str().ok().and_then(decode).ok_or_else(|| malformed(&shown))?;
                let body = value.map(plain).unwrap_or_default();
                if value.is_none() || !same(&header, &body) {
                    return Err(mismatch(&shown, &header, &body));
                }
            }
        }
    }
    Ok(())
}

/// The tool's input schema, if it marks any argument at all.
fn schema(rooms: &Rooms, view: &View, tool: &str) -> Option<Value> {
    let catalog = rooms.catalog();
    let entry = match view {
        View::House(_) => catalog.tool(tool),
        View::One(server) => {
            catalog.tools.iter().find(|it| it.capability.server == *server && it.capability.name == tool)
        }
    }?;
    if !entry.definition.get().contains("x-mcp-header") {
        return None;
    }
    RawObject::open(&entry.definition).ok()?.read("inputSchema")
}

fn marks(schema: &Value, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(mark) = property.get("x-mcp-header").and_then(Value::as_str) {
            found.push((path.clone(), mark.to_owned()));
        }
        marks(property, path, found);
        path.pop();
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Numbers may be spelt differently and still be the same.
fn same(header: &str, body: &str) -> bool {
    header == body || matches!((header.parse::<f64>(), body.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

fn decode(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn missing(header: &str) -> Failure {
    Failure::HeaderMismatch { reason: format!("the header {header} is missing") }
}

fn malformed(header: &str) -> Failure {
    Failure::HeaderMismatch { reason: format!("the header {header} cannot be read") }
}

fn mismatch(header: &str, value: &str, body: &str) -> Failure {
    Failure::HeaderMismatch { reason: format!("the header {header} says `{value}`, the body says `{body}`") }
}
