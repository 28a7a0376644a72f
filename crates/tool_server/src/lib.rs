//! Serves tools as an MCP server over any pair of pipes, in both eras of the protocol.
//!
//! The protocol is stateless here, so a legacy client is served like a modern one after `initialize`, and
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

/// More than any call of a built-in tool needs.
const MAX_LINE: usize = 1024 * 1024;
/// The definitions only change with the program, so a list may be cached for long.
const CACHE_MS: u32 = 3_600_000;

/// The tools of a server that is part of this program.
pub trait ToolServer: Send + Sync + 'static {
    fn implementation(&self) -> Implementation;

    /// Returns the instructions for models.
    fn instructions(&self) -> &str;

    /// Returns the definitions for `tools/list`.
    fn definitions(&self) -> Vec<Value>;

    /// Answers a call. An unknown tool and wrong arguments are protocol errors.
    fn call(
        &self,
        tool: &str,
        arguments: RawObject,
    ) -> impl Future<Output = Result<ToolAnswer, ErrorObject>> + Send;
}

/// The name of a server, for programs and for people.
#[derive(Debug, Clone, Copy)]
pub struct Implementation {
    pub name: &'static str,
    pub title: &'static str,
}

/// The result of a call: structured content, or a message that helps the model to call again.
pub type ToolAnswer = Result<Value, String>;

/// Serves until the client closes its end.
pub async fn serve(
    server: Arc<impl ToolServer>,
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
            Line::Whole => answer(&*server, &line).await,
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

async fn answer(server: &impl ToolServer, line: &[u8]) -> Option<Response> {
    match Message::parse(line) {
        Ok(Message::Request(request)) => {
            let id = request.id.clone();
            Some(match respond(server, &request).await {
                Ok(result) => Response::from_result(id, result),
                Err(error) => Response::from_error(Some(id), error),
            })
        }
        // The server sends no requests, and every request is answered before it could be cancelled.
        Ok(Message::Notification(_) | Message::Response(_)) => None,
        Err(malformed) => Some(refusal(&malformed)),
    }
}

async fn respond(server: &impl ToolServer, request: &Request) -> Result<Raw, ErrorObject> {
    let params = request
        .open_params()
        .map_err(|error| invalid(format!("`params` cannot be read: {error}")))?;
    let era = era(request, &params)?;
    let result = match (request.method.as_str(), era) {
        (method::DISCOVER, Era::Modern) => discover(server),
        (method::INITIALIZE, Era::Legacy) => initialize(server, &params),
        (method::PING, Era::Legacy) => json!({}),
        (method::LIST_TOOLS, _) => json!({ "tools": server.definitions() }),
        (method::CALL_TOOL, _) => call(server, &params).await?,
        (name, _) => return Err(unknown_method(name)),
    };
    Ok(raw(&match era {
        Era::Legacy => result,
        Era::Modern => to_modern(server, result, request.method != method::CALL_TOOL),
    }))
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

/// Returns the protocol error for a call of a tool that does not exist.
pub fn unknown_tool(name: &str) -> ErrorObject {
    invalid(format!("there is no tool `{name}`"))
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, message)
}

fn discover(server: &impl ToolServer) -> Value {
    json!({
        "supportedVersions": [ProtocolVersion::LATEST.as_str()],
        "capabilities": { "tools": {} },
        "instructions": server.instructions(),
    })
}

fn initialize(server: &impl ToolServer, params: &RawObject) -> Value {
    let proposed: String = params.read("protocolVersion").unwrap_or_default();
    json!({
        "protocolVersion": ProtocolVersion::negotiate_legacy(&proposed).as_str(),
        "capabilities": { "tools": {} },
        "serverInfo": server_info(server),
        "instructions": server.instructions(),
    })
}

async fn call(server: &impl ToolServer, params: &RawObject) -> Result<Value, ErrorObject> {
    let name: String = params.read("name").unwrap_or_default();
    let arguments = params.get("arguments");
    let arguments = arguments.filter(|arguments| arguments.get() != "null");
    let arguments = RawObject::open_or_empty(arguments)
        .map_err(|_| invalid("`arguments` must be an object".to_owned()))?;
    Ok(tool_result(server.call(&name, arguments).await?))
}

fn tool_result(answer: ToolAnswer) -> Value {
    match answer {
        Ok(answer) => json!({
            "content": [{ "type": "text", "text": answer.to_string() }],
            "structuredContent": answer,
        }),
        Err(message) => {
            json!({ "content": [{ "type": "text", "text": message }], "isError": true })
        }
    }
}

/// Adds the fields that every modern result has.
fn to_modern(server: &impl ToolServer, mut result: Value, cacheable: bool) -> Value {
    result["resultType"] = json!(result_type::COMPLETE);
    if cacheable {
        result["ttlMs"] = json!(CACHE_MS);
        result["cacheScope"] = json!("public");
    }
    result["_meta"] = json!({ meta::SERVER_INFO: server_info(server) });
    result
}

fn server_info(server: &impl ToolServer) -> Value {
    let Implementation { name, title } = server.implementation();
    json!({ "name": name, "title": title, "version": env!("CARGO_PKG_VERSION") })
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
