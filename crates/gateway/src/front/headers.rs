//! The HTTP headers that repeat parts of a message, and must match it.
//!
//! A proxy may route or limit by these headers; if they could differ from the body, it would be
//! deceived.

use http::HeaderMap;
use kitbag_wire::meta::{self, method};
use kitbag_wire::mirror::header::{METHOD, NAME, PROTOCOL_VERSION};
use kitbag_wire::mirror::{MARK, decode_header_value, find_marks};
use kitbag_wire::{Era, ProtocolVersion, RawObject};
use serde_json::Value;

use crate::call::failure::Failure;
use crate::turn::Turn;
use crate::turn::view::View;

/// True if the headers by themselves identify a modern request.
pub(super) fn is_modern(headers: &HeaderMap) -> bool {
    let version = header_text(headers, PROTOCOL_VERSION).unwrap_or_default();
    match ProtocolVersion::parse(version) {
        Some(version) => version.era() == Era::Modern,
        // The gateway does not know this revision; a legacy client would have a session by now.
        None => headers.contains_key(METHOD),
    }
}

pub(super) fn check_version(headers: &HeaderMap, params: &RawObject) -> Result<(), Failure> {
    let declared = params
        .get("_meta")
        .and_then(|meta| RawObject::peek_member(meta, meta::PROTOCOL_VERSION));
    let declared: Option<String> =
        declared.and_then(|version| serde_json::from_str(version.get()).ok());
    match (header_text(headers, PROTOCOL_VERSION), declared) {
        (None, _) => Err(missing_header("MCP-Protocol-Version")),
        (Some(header), Some(body)) if header != body => {
            Err(mismatched_header("MCP-Protocol-Version", header, &body))
        }
        _ => Ok(()),
    }
}

/// Legacy clients before 2025-06-18 send no version header; an unknown version is an error.
pub(super) fn check_legacy_version(headers: &HeaderMap) -> Result<(), Failure> {
    match header_text(headers, PROTOCOL_VERSION) {
        Some(version) if ProtocolVersion::parse(version).is_none() => {
            Err(Failure::UnsupportedVersion {
                requested: version.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Checks the headers of a modern request against its body.
pub(super) fn check_headers(
    turn: &Turn,
    headers: &HeaderMap,
    method: &str,
    params: &RawObject,
) -> Result<(), Failure> {
    let header = header_text(headers, METHOD).ok_or_else(|| missing_header("Mcp-Method"))?;
    if header != method {
        return Err(mismatched_header("Mcp-Method", header, method));
    }
    let subject: Option<String> = match method {
        method::CALL_TOOL | method::GET_PROMPT => params.read("name"),
        method::READ_RESOURCE => params.read("uri"),
        _ => None,
    };
    if let Some(subject) = subject {
        let header = header_text(headers, NAME).ok_or_else(|| missing_header("Mcp-Name"))?;
        let name = decode_header_value(header).ok_or_else(|| malformed_header("Mcp-Name"))?;
        if name != subject {
            return Err(mismatched_header("Mcp-Name", &name, &subject));
        }
        if method == method::CALL_TOOL
            && let Some(schema) = marked_schema(turn, &subject)
        {
            check_arguments(&schema, headers, params)?;
        }
    }
    Ok(())
}

/// Arguments that a tool has marked with `x-mcp-header` must be repeated in headers with equal
/// values.
fn check_arguments(schema: &Value, headers: &HeaderMap, params: &RawObject) -> Result<(), Failure> {
    let arguments: Value = params.read("arguments").unwrap_or(Value::Null);
    for mark in find_marks(schema).unwrap_or_default() {
        let name = mark.header_name();
        match (headers.get(&name), mark.header_value(&arguments)) {
            (None, None) => {}
            (None, Some(_)) => return Err(missing_header(&name)),
            (Some(header), body) => {
                let header = header
                    .to_str()
                    .ok()
                    .and_then(decode_header_value)
                    .ok_or_else(|| malformed_header(&name))?;
                if !body
                    .as_ref()
                    .is_some_and(|body| is_same_value(&header, body))
                {
                    return Err(mismatched_header(&name, &header, &body.unwrap_or_default()));
                }
            }
        }
    }
    Ok(())
}

/// Returns the tool's input schema, if it marks any argument. The schema of a tool hidden from the
/// caller is not revealed.
fn marked_schema(turn: &Turn, tool: &str) -> Option<Value> {
    let catalog = &turn.catalog;
    let entry = match &turn.view {
        View::Merged(_) => catalog.tool(tool),
        View::Server(server) => catalog
            .tools
            .iter()
            .map(|it| &**it)
            .find(|it| it.capability.server == *server && it.capability.name == tool),
    }?;
    if !entry.definition.get().contains(MARK) || !turn.can_see(&entry.capability) {
        return None;
    }
    RawObject::open(&entry.definition).ok()?.read("inputSchema")
}

/// Numbers may be spelled differently and still be equal.
fn is_same_value(header: &str, body: &str) -> bool {
    header == body
        || matches!((header.parse::<f64>(), body.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn missing_header(header: &str) -> Failure {
    Failure::HeaderMismatch {
        reason: format!("missing header {header}"),
    }
}

fn malformed_header(header: &str) -> Failure {
    Failure::HeaderMismatch {
        reason: format!("invalid header {header}"),
    }
}

fn mismatched_header(header: &str, value: &str, body: &str) -> Failure {
    Failure::HeaderMismatch {
        reason: format!("the header {header} is `{value}`, but the body has `{body}`"),
    }
}
