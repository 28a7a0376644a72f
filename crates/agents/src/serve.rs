//! Serves the four tools as an MCP server over any pair of pipes, in both eras of the protocol.
//!
//! The server is stateless, so a legacy client is served like a modern one after `initialize`, and
//! requests are answered one after the other.

use std::sync::Arc;

use kitbag_wire::lines::{Line, read_line};
use kitbag_wire::meta::{self, code, method, result_type};
use kitbag_wire::{
    Era, ErrorObject, MalformedMessage, Message, ProtocolVersion, Raw, RawObject, Request,
    Response, raw,
};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};

use crate::answers::AgentAnswers;
use crate::tools::{AgentTool, ToolAnswer};

/// More than any question about agents needs.
const MAX_LINE: usize = 1024 * 1024;
/// The data only changes with the program, so a list may be cached for long.
const CACHE_MS: u32 = 3_600_000;

const INSTRUCTIONS: &str = "\
What coding agents can do, with dated sources. lookup_capability for one agent, compare_capability across \
agents; startUrl is the page to read for more.";

/// Serves until the client closes its end.
pub async fn serve(
    answers: Arc<AgentAnswers>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let mut line = Vec::new();
    loop {
        let response = match read_line(&mut input, &mut line, MAX_LINE).await? {
            Line::End => return Ok(()),
            Line::Truncated => Some(too_long()),
            Line::Whole if line.iter().all(u8::is_ascii_whitespace) => None,
            Line::Whole => answer(&answers, &line).await,
        };
        if let Some(response) = response {
            write(&mut output, response).await?;
        }
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), response: Response) -> std::io::Result<()> {
    let mut line = Message::from(response).to_line();
    line.push(b'\n');
    output.write_all(&line).await?;
    output.flush().await
}

fn too_long() -> Response {
    let problem = format!("a message may have at most {MAX_LINE} bytes");
    let error = ErrorObject::new(code::INVALID_REQUEST, problem);
    Response::from_error(None, error)
}

async fn answer(answers: &AgentAnswers, line: &[u8]) -> Option<Response> {
    match Message::parse(line) {
        Ok(Message::Request(request)) => {
            let id = request.id.clone();
            Some(match respond(answers, &request).await {
                Ok(result) => Response::from_result(id, result),
                Err(error) => Response::from_error(Some(id), error),
            })
        }
        // The server sends no requests, and every request is answered before it could be cancelled.
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(malformed) => Some(refusal(&malformed)),
    }
}

async fn respond(answers: &AgentAnswers, request: &Request) -> Result<Raw, ErrorObject> {
    let params = request
        .open_params()
        .map_err(|error| invalid(format!("`params` cannot be read: {error}")))?;
    let era = era(request, &params)?;
    let result = match (request.method.as_str(), era) {
        (method::DISCOVER, Era::Modern) => discover(),
        (method::INITIALIZE, Era::Legacy) => initialize(&params),
        (method::PING, Era::Legacy) => json!({}),
        (method::LIST_TOOLS, _) => list_tools(answers),
        (method::CALL_TOOL, _) => call(answers, &params).await?,
        (name, _) => return Err(unknown_method(name)),
    };
    Ok(raw(&match era {
        Era::Legacy => result,
        Era::Modern => to_modern(result, request.method != method::CALL_TOOL),
    }))
}

fn list_tools(answers: &AgentAnswers) -> Value {
    json!({ "tools": AgentTool::ALL.map(|tool| tool.definition(&answers.library)) })
}

fn unknown_method(name: &str) -> ErrorObject {
    let message = format!("unknown method `{name}`");
    ErrorObject::new(code::METHOD_NOT_FOUND, message)
}

/// Finds the era of a request by its `_meta`.
fn era(request: &Request, params: &RawObject) -> Result<Era, ErrorObject> {
    let meta = params.get_object("_meta").unwrap_or_default();
    let Some(version) = meta.read::<String>(meta::PROTOCOL_VERSION) else {
        return match request.method.as_str() {
            method::DISCOVER => Err(missing_meta(meta::PROTOCOL_VERSION)),
            _ => Ok(Era::Legacy),
        };
    };
    if ProtocolVersion::parse(&version).is_none_or(|version| version.era() != Era::Modern) {
        return Err(unsupported_version(&version));
    }
    match meta.get_object(meta::CLIENT_CAPABILITIES) {
        Some(_) => Ok(Era::Modern),
        None => Err(missing_meta(meta::CLIENT_CAPABILITIES)),
    }
}

fn unsupported_version(requested: &str) -> ErrorObject {
    let supported = ProtocolVersion::LATEST.as_str();
    let message = format!("unsupported protocol version; this server speaks {supported}");
    ErrorObject::new(code::UNSUPPORTED_VERSION, message)
        .with_data(&json!({ "supported": [supported], "requested": requested }))
}

fn missing_meta(key: &str) -> ErrorObject {
    invalid(format!(
        "`_meta` lacks `{key}`, which every request must carry"
    ))
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, message)
}

fn discover() -> Value {
    json!({
        "supportedVersions": [ProtocolVersion::LATEST.as_str()],
        "capabilities": { "tools": {} },
        "instructions": INSTRUCTIONS,
    })
}

fn initialize(params: &RawObject) -> Value {
    let proposed: String = params.read("protocolVersion").unwrap_or_default();
    json!({
        "protocolVersion": ProtocolVersion::negotiate_legacy(&proposed).as_str(),
        "capabilities": { "tools": {} },
        "serverInfo": implementation(),
        "instructions": INSTRUCTIONS,
    })
}

async fn call(answers: &AgentAnswers, params: &RawObject) -> Result<Value, ErrorObject> {
    let name: String = params.read("name").unwrap_or_default();
    let tool: AgentTool = name.parse()?;
    let arguments = params.get("arguments");
    let arguments = arguments.filter(|arguments| arguments.get() != "null");
    let arguments = RawObject::open_or_empty(arguments)
        .map_err(|_| invalid("`arguments` must be an object".to_owned()))?;
    Ok(tool_result(tool.call(answers, &arguments).await?))
}

fn tool_result(answer: ToolAnswer) -> Value {
    match answer {
        Ok(answer) => json!({
            "content": [{ "type": "text", "text": answer.to_string() }],
            "structuredContent": answer,
        }),
        Err(miss) => {
            json!({ "content": [{ "type": "text", "text": miss.to_string() }], "isError": true })
        }
    }
}

/// Adds the fields that every modern result has.
fn to_modern(mut result: Value, cacheable: bool) -> Value {
    result["resultType"] = json!(result_type::COMPLETE);
    if cacheable {
        result["ttlMs"] = json!(CACHE_MS);
        result["cacheScope"] = json!("public");
    }
    result["_meta"] = json!({ meta::SERVER_INFO: implementation() });
    result
}

fn implementation() -> Value {
    json!({ "name": "agent-capabilities", "title": "Agent capabilities", "version": env!("CARGO_PKG_VERSION") })
}

fn refusal(malformed: &MalformedMessage) -> Response {
    let (code, id) = match malformed {
        MalformedMessage::NotJson(_) => (code::PARSE_ERROR, None),
        MalformedMessage::Batch => (code::INVALID_REQUEST, None),
        MalformedMessage::NotJsonRpc { id, .. } | MalformedMessage::TooDeep { id } => {
            (code::INVALID_REQUEST, id.clone())
        }
    };
    Response::from_error(id, ErrorObject::new(code, malformed.to_string()))
}
