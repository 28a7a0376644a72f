//! Detects the era of a server, and performs that era's handshake.
//!
//! The probe for the modern era (`server/discover`) goes first, because no known legacy server
//! mishandles it. A silent server may just be slow to start, so the legacy handshake is sent
//! after a while without abandoning the probe.

use std::time::Duration;

use futures::future::{Either, select};
use kitbag_domain::ServerName;
use kitbag_wire::meta::{self, code, method};
use kitbag_wire::{Era, ErrorObject, ProtocolVersion, Raw, RawObject, Request, is_too_deep, raw};
use serde_json::json;
use serde_json::value::RawValue;

use crate::dialog::{Dialog, RequestDraft, client_info};
use crate::error::{CallError, StartError};
use crate::exchange::CallTimeouts;
use crate::http::HttpLink;
use crate::link::{Link, OutgoingRequest};

/// After this long without an answer to the probe, the legacy handshake is sent, too.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a server reported about itself.
#[derive(Debug, Clone)]
pub(crate) struct ServerHello {
    pub(crate) era: Era,
    pub(crate) version: String,
    pub(crate) capabilities: RawObject,
    pub(crate) server_info: Option<Raw>,
    pub(crate) instructions: Option<String>,
}

pub(crate) enum HandshakeOutcome {
    Hello(ServerHello),
    /// Neither era answers over HTTP: it may be a server of the HTTP+SSE transport.
    MaybeSse(StartError),
}

/// Performs the handshake over any link. `known` is the era the server last spoke.
pub(crate) async fn perform_handshake(
    dialog: &Dialog,
    known: Option<Era>,
    limit: Duration,
) -> Result<HandshakeOutcome, StartError> {
    match &dialog.link {
        Link::Pipe(_) => handshake_over_pipe(dialog, known, limit)
            .await
            .map(HandshakeOutcome::Hello),
        Link::Http(http) => handshake_over_http(dialog, http, known, limit).await,
    }
}

async fn handshake_over_pipe(
    dialog: &Dialog,
    known: Option<Era>,
    limit: Duration,
) -> Result<ServerHello, StartError> {
    if known == Some(Era::Legacy) {
        return handshake_legacy(dialog, limit).await;
    }
    let mut probe = std::pin::pin!(try_modern(dialog, limit));
    match tokio::time::timeout(PROBE_TIMEOUT, &mut probe).await {
        Ok(Ok(hello)) => Ok(hello),
        Ok(Err(ProbeError::Broken(error))) => Err(error),
        Ok(Err(ProbeError::NotModern)) => handshake_legacy(dialog, limit).await,
        Err(_silent) => first_answered(probe, handshake_legacy(dialog, limit)).await,
    }
}

/// Returns the first handshake that succeeds.
async fn first_answered(
    probe: impl Future<Output = Result<ServerHello, ProbeError>> + Unpin,
    legacy: impl Future<Output = Result<ServerHello, StartError>>,
) -> Result<ServerHello, StartError> {
    let legacy = std::pin::pin!(legacy);
    match select(probe, legacy).await {
        Either::Left((Ok(hello), _)) => Ok(hello),
        Either::Left((Err(_), legacy)) => legacy.await,
        Either::Right((Ok(hello), _)) => Ok(hello),
        // A slow modern server rejects the legacy handshake and answers the probe.
        Either::Right((Err(error), probe)) => probe.await.map_err(|_| error),
    }
}

async fn handshake_over_http(
    dialog: &Dialog,
    http: &HttpLink,
    known: Option<Era>,
    limit: Duration,
) -> Result<HandshakeOutcome, StartError> {
    if known != Some(Era::Legacy) {
        match try_modern(dialog, limit).await {
            Ok(hello) => return Ok(HandshakeOutcome::Hello(hello)),
            Err(ProbeError::Broken(error)) => return Err(error),
            Err(ProbeError::NotModern) => {}
        }
    }
    initialize_http(dialog, http, limit).await
}

async fn initialize_http(
    dialog: &Dialog,
    http: &HttpLink,
    limit: Duration,
) -> Result<HandshakeOutcome, StartError> {
    let id = dialog.router.next_id();
    let request = OutgoingRequest {
        request: Request::new(id, method::INITIALIZE, Some(initialize_params())),
        id,
        headers: Vec::new(),
    };
    let answer = tokio::time::timeout(limit, http.initialize(request)).await;
    let answer = answer.map_err(|_| timeout_error(dialog.server.clone(), limit))?;
    match answer {
        Ok((response, session)) => {
            let result = response.outcome;
            let result = result.map_err(|error| protocol_error(&dialog.server, &error))?;
            let hello = read_initialize(&dialog.server, &result)?;
            http.begin_session(session, &hello.version);
            dialog.notify(method::INITIALIZED, None);
            Ok(HandshakeOutcome::Hello(hello))
        }
        // A server of the HTTP+SSE transport rejects a POST to its URL.
        Err(
            error @ CallError::Http {
                status: 400 | 404 | 405 | 406,
                ..
            },
        ) => Ok(HandshakeOutcome::MaybeSse(StartError::Protocol {
            server: dialog.server.clone(),
            reason: error.to_string(),
        })),
        Err(error) => Err(start_error(&dialog.server, error)),
    }
}

enum ProbeError {
    NotModern,
    Broken(StartError),
}

async fn try_modern(dialog: &Dialog, limit: Duration) -> Result<ServerHello, ProbeError> {
    let mut answer = send_discover(dialog, limit).await;
    if answer.as_ref().is_err_and(supports_our_version) {
        answer = send_discover(dialog, limit).await;
    }
    match answer {
        Ok(result) => read_discover(&result).ok_or(ProbeError::NotModern),
        // A modern server without support for this version rejects it; with nothing newer to offer,
        // only the legacy handshake remains.
        Err(CallError::Refused { .. } | CallError::TimedOut { .. }) => Err(ProbeError::NotModern),
        Err(CallError::Http { status, .. }) if status != 401 && status != 403 => {
            Err(ProbeError::NotModern)
        }
        Err(error) => Err(ProbeError::Broken(start_error(&dialog.server, error))),
    }
}

async fn send_discover(dialog: &Dialog, limit: Duration) -> Result<Raw, CallError> {
    let draft = new_draft(Era::Modern, method::DISCOVER, RawObject::new(), limit);
    dialog.start_request(draft).wait_for_answer().await
}

fn new_draft(era: Era, method: &str, params: RawObject, limit: Duration) -> RequestDraft<'_> {
    RequestDraft {
        era,
        method,
        params,
        client: None,
        mirror: None,
        timeouts: CallTimeouts::with_single_limit(limit),
    }
}

/// True if a server rejects this version but lists it as supported. Such a server is modern, and
/// the protocol says to ask it once more.
fn supports_our_version(error: &CallError) -> bool {
    let CallError::Refused { error, .. } = error else {
        return false;
    };
    let data = error
        .data
        .as_deref()
        .and_then(|data| RawObject::open(data).ok());
    let versions = data.and_then(|data| data.read::<Vec<String>>("supported"));
    error.code == code::UNSUPPORTED_VERSION && versions.is_some_and(|it| has_latest(&it))
}

fn has_latest(versions: &[String]) -> bool {
    let latest = ProtocolVersion::LATEST.as_str();
    versions.iter().any(|version| version == latest)
}

fn read_discover(result: &Raw) -> Option<ServerHello> {
    let result = RawObject::open(result).ok()?;
    let versions: Vec<String> = result.read("supportedVersions")?;
    if !has_latest(&versions) {
        return None;
    }
    let meta = result.get_object("_meta");
    let server_info = meta
        .and_then(|meta| unless_too_deep(meta.get(meta::SERVER_INFO)))
        .or_else(|| unless_too_deep(result.get("serverInfo")));
    Some(ServerHello {
        era: Era::Modern,
        version: ProtocolVersion::LATEST.to_string(),
        capabilities: result.get_object("capabilities").unwrap_or_default(),
        server_info,
        instructions: result.read("instructions"),
    })
}

async fn handshake_legacy(dialog: &Dialog, limit: Duration) -> Result<ServerHello, StartError> {
    let params = RawObject::open(&initialize_params()).expect("an object");
    let draft = new_draft(Era::Legacy, method::INITIALIZE, params, limit);
    let result = dialog.start_request(draft).wait_for_answer().await;
    let result = result.map_err(|error| start_error(&dialog.server, error))?;
    let hello = read_initialize(&dialog.server, &result)?;
    dialog.notify(method::INITIALIZED, None);
    Ok(hello)
}

/// One connection serves many clients, so it declares everything the gateway can forward to a
/// client; a client without support declines when it is asked.
fn initialize_params() -> Raw {
    raw(&json!({
        "protocolVersion": ProtocolVersion::LATEST_LEGACY.as_str(),
        "capabilities": {
            "roots": { "listChanged": true },
            "sampling": {},
            "elicitation": { "form": {}, "url": {} },
        },
        "clientInfo": serde_json::from_str::<serde_json::Value>(client_info().get()).expect("valid"),
    }))
}

fn read_initialize(server: &ServerName, result: &Raw) -> Result<ServerHello, StartError> {
    read_legacy_hello(result).map_err(|reason| StartError::Protocol {
        server: server.clone(),
        reason,
    })
}

fn read_legacy_hello(result: &Raw) -> Result<ServerHello, String> {
    let result = RawObject::open(result)
        .map_err(|error| format!("its `initialize` result is not an object: {error}"))?;
    let version: String = result
        .read("protocolVersion")
        .ok_or("its `initialize` result has no protocol version")?;
    match ProtocolVersion::parse(&version) {
        Some(known) if known.era() == Era::Legacy => {}
        _ => return Err(format!("it requires protocol version `{version}`")),
    }
    Ok(ServerHello {
        era: Era::Legacy,
        version,
        capabilities: result.get_object("capabilities").unwrap_or_default(),
        server_info: unless_too_deep(result.get("serverInfo")),
        instructions: result.read("instructions"),
    })
}

/// Returns a server's description of itself for clients, unless it is nested so deeply that they
/// might crash.
fn unless_too_deep(info: Option<&RawValue>) -> Option<Raw> {
    info.filter(|info| !is_too_deep(info.get().as_bytes()))
        .map(ToOwned::to_owned)
}

fn protocol_error(server: &ServerName, error: &ErrorObject) -> StartError {
    let reason = if error.code == code::METHOD_NOT_FOUND {
        "it supports neither `server/discover` nor `initialize`".to_owned()
    } else {
        error.message.clone()
    };
    StartError::Protocol {
        server: server.clone(),
        reason,
    }
}

/// Converts a call error during the handshake into a start error.
pub(crate) fn start_error(server: &ServerName, error: CallError) -> StartError {
    match error {
        CallError::Start(error) => error,
        CallError::Login(needed) => StartError::Login(needed),
        CallError::Refused { server, error } => protocol_error(&server, &error),
        CallError::TimedOut { server, after } => timeout_error(server, after),
        CallError::Http {
            server,
            status: status @ (401 | 403),
            ..
        } => StartError::Unauthorized { server, status },
        CallError::RetryLater {
            server,
            status,
            wait,
            said,
        } => StartError::RetryLater {
            server,
            status,
            wait,
            said,
        },
        CallError::Http { .. }
        | CallError::Clogged { .. }
        | CallError::Unapproved { .. }
        | CallError::Unlisted { .. }
        | CallError::Unresponsive { .. }
        | CallError::Brief { .. } => StartError::Unreachable {
            server: server.clone(),
            reason: error.to_string(),
        },
        CallError::TooLarge { server, max } => StartError::Protocol {
            server,
            reason: format!("its answer exceeds {max} bytes"),
        },
        CallError::TooDeep { server } => StartError::Protocol {
            server,
            reason: "its answer is nested too deeply".to_owned(),
        },
        CallError::Lost {
            server,
            reason,
            stderr,
            ..
        } if stderr.is_empty() => StartError::Unreachable { server, reason },
        CallError::Lost {
            server,
            reason,
            stderr,
            diagnosis,
        } => StartError::Exited {
            server,
            status: reason,
            stderr,
            diagnosis,
        },
        CallError::Busy { server, .. } | CallError::SessionExpired { server } => {
            StartError::Unreachable {
                server,
                reason: "it ended the session immediately".to_owned(),
            }
        }
    }
}

/// The caller adds the process output, which is not known here.
fn timeout_error(server: ServerName, after: Duration) -> StartError {
    StartError::TimedOut {
        server,
        after,
        stderr: String::new(),
        diagnosis: None,
    }
}
