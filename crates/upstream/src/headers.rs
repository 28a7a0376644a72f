//! The HTTP headers that mirror parts of a modern request: the method, its target's name, and the
//! arguments that a tool has marked.

use std::collections::HashMap;

use http::{HeaderName, HeaderValue};
use kitbag_wire::meta::method;
use kitbag_wire::mirror::{HeaderMark, MARK, encode_header_value, find_marks, header};
use kitbag_wire::{ProtocolVersion, Raw, RawObject};
use serde_json::Value;

use crate::http::PROTOCOL_VERSION;

const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

/// W3C Trace Context and Baggage, under their names in `_meta`.
const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];

/// Each tool with marked arguments, and the marks.
pub(crate) type MirrorTable = HashMap<String, Vec<(HeaderName, HeaderMark)>>;

pub(crate) fn standard_headers(method: &str, params: &RawObject) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = vec![(
        PROTOCOL_VERSION,
        HeaderValue::from_static(ProtocolVersion::LATEST.as_str()),
    )];
    if let Ok(value) = HeaderValue::try_from(method) {
        headers.push((METHOD, value));
    }
    if let Some(name) = target_name(method, params) {
        headers.push((NAME, encode_value(&name)));
    }
    headers
}

/// Returns the trace in `_meta` as headers, for proxies between the gateway and the server.
pub(crate) fn trace_headers(params: &RawObject) -> Vec<(HeaderName, HeaderValue)> {
    let meta = params.get_object("_meta").unwrap_or_default();
    let headers = TRACE.into_iter().filter_map(|name| {
        let value = HeaderValue::try_from(meta.read::<String>(name)?).ok()?;
        Some((HeaderName::from_static(name), value))
    });
    headers.collect()
}

pub(crate) fn mirrored_headers(
    table: &MirrorTable,
    params: &RawObject,
) -> Vec<(HeaderName, HeaderValue)> {
    let Some(marked) = params
        .read::<String>("name")
        .and_then(|tool| table.get(&tool))
    else {
        return Vec::new();
    };
    let arguments: Value = params.read("arguments").unwrap_or(Value::Null);
    marked
        .iter()
        .filter_map(|(header, mark)| {
            Some((
                header.clone(),
                encode_value(&mark.header_value(&arguments)?),
            ))
        })
        .collect()
}

/// Reads the marks of all tools. Tools with invalid marks must not be offered; they are returned
/// with the reason.
pub(crate) fn read_marks(tools: &[Raw]) -> (MirrorTable, HashMap<String, String>) {
    let (mut table, mut invalid) = (MirrorTable::new(), HashMap::new());
    for tool in tools.iter().filter(|tool| tool.get().contains(MARK)) {
        let Some((name, schema)) = name_and_schema(tool) else {
            continue;
        };
        match find_marks(&schema) {
            Ok(marked) if marked.is_empty() => {}
            Ok(marked) => {
                table.insert(name, marked.into_iter().map(with_header).collect());
            }
            Err(reason) => {
                invalid.insert(name, reason);
            }
        }
    }
    (table, invalid)
}

fn name_and_schema(tool: &Raw) -> Option<(String, Value)> {
    let tool = RawObject::open(tool).ok()?;
    let schema = tool.read("inputSchema").unwrap_or(Value::Null);
    Some((tool.read("name")?, schema))
}

fn with_header(mark: HeaderMark) -> (HeaderName, HeaderMark) {
    let header = HeaderName::try_from(mark.header_name());
    (header.expect("a mark is a valid header name"), mark)
}

fn target_name(method: &str, params: &RawObject) -> Option<String> {
    match method {
        method::CALL_TOOL | method::GET_PROMPT => params.read("name"),
        method::READ_RESOURCE => params.read("uri"),
        _ if method.starts_with("tasks/") => params.read("taskId"),
        _ => None,
    }
}

fn encode_value(text: &str) -> HeaderValue {
    HeaderValue::try_from(encode_header_value(text)).expect("visible ASCII or base64")
}
