//! Finds out which era a server speaks, and introduces us in its manner.
//!
//! The probe for the modern era (`server/discover`) goes first, because no legacy server was
//! ever seen to mind it; a server that stays silent may just be slow to start, so the legacy
//! greeting is sent after a while without giving up on the probe.

use std::time::Duration;

use http::HeaderValue;
use kitbag_domain::ServerName;
use kitbag_wire::meta::{self, code, method};
use kitbag_wire::{Era, ErrorObject, ProtocolVersion, Raw, RawObject, Request, is_too_deep, raw};
use serde_json::json;
use serde_json::value::RawValue;

use crate::dialog::{Asking, Dialog, client_info};
use crate::error::{CallError, StartError};
use crate::exchange::Patience;
use crate::http::HttpLink;
use crate::link::{Link, Packet};

/// How long a server may be silent about the probe before it is greeted the old way.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// What a server said about itself.
#[derive(Debug, Clone)]
pub(crate) struct Hello {
    pub(crate) era: Era,
    pub(crate) version: String,
    pub(crate) capabilities: RawObject,
    pub(crate) server_info: Option<Raw>,
    pub(crate) instructions: Option<String>,
}

pub(crate) enum Greeting {
    Hello(Hello),
    /// Neither era answers over HTTP: it may be a server of the HTTP+SSE transport.
    MaybeSse(StartError),
}

/// Greets a server over any link. `known` is the era it spoke last time.
pub(crate) async fn greet(
    dialog: &Dialog,
    known: Option<Era>,
    patience: Duration,
) -> Result<Greeting, StartError> {
    match &dialog.link {
        Link::Pipe(_) => greet_pipe(dialog, known, patience)
            .await
            .map(Greeting::Hello),
        Link::Http(http) => greet_http(dialog, http, known, patience).await,
    }
}

async fn greet_pipe(
    dialog: &Dialog,
    known: Option<Era>,
    patience: Duration,
) -> Result<Hello, StartError> {
    if known == Some(Era::Legacy) {
        return greet_legacy(dialog, patience).await;
    }
    let mut probe = std::pin::pin!(discover(dialog, patience));
    match tokio::time::timeout(PROBE_PATIENCE, &mut probe).await {
        Ok(Ok(hello)) => Ok(hello),
        Ok(Err(Probe::Broken(error))) => Err(error),
        Ok(Err(Probe::NotModern)) => greet_legacy(dialog, patience).await,
        Err(_silent) => {
            let legacy = std::pin::pin!(greet_legacy(dialog, patience));
            match futures::future::select(probe, legacy).await {
                futures::future::Either::Left((Ok(hello), _)) => Ok(hello),
                futures::future::Either::Left((Err(_), legacy)) => legacy.await,
                futures::future::Either::Right((Ok(hello), _)) => Ok(hello),
                // A slow modern server refuses the old greeting and answers the probe.
                futures::future::Either::Right((Err(error), probe)) => {
                    probe.await.map_err(|_| error)
                }
            }
        }
    }
}

async fn greet_http(
    dialog: &Dialog,
    http: &HttpLink,
    known: Option<Era>,
    patience: Duration,
) -> Result<Greeting, StartError> {
    if known != Some(Era::Legacy) {
        match discover(dialog, patience).await {
            Ok(hello) => return Ok(Greeting::Hello(hello)),
            Err(Probe::Broken(error)) => return Err(error),
            Err(Probe::NotModern) => {}
        }
    }
    let id = dialog.router.next_id();
    let request = Request::new(id, method::INITIALIZE, Some(initialize_params()));
    let packet = Packet {
        request,
        id,
        headers: Vec::new(),
    };
    let answer = tokio::time::timeout(patience, http.initialize(packet))
        .await
        .map_err(|_| timed_out(dialog.server.clone(), patience))?;
    match answer {
        Ok((response, session)) => {
            let result = response
                .outcome
                .map_err(|error| refused(&dialog.server, &error))?;
            let hello = read_initialize(&dialog.server, &result)?;
            begin_http_session(dialog, http, session, &hello.version);
            Ok(Greeting::Hello(hello))
        }
        Err(CallError::Http {
            server,
            status: status @ (400 | 404 | 405 | 406),
            body,
        }) => {
            let reason = CallError::Http {
                server: server.clone(),
                status,
                body,
            }
            .to_string();
            Ok(Greeting::MaybeSse(StartError::Protocol { server, reason }))
        }
        Err(error) => Err(start_error(&dialog.server, error)),
    }
}

fn begin_http_session(
    dialog: &Dialog,
    http: &HttpLink,
    session: Option<HeaderValue>,
    version: &str,
) {
    http.begin_session(session, version);
    dialog.notify(method::INITIALIZED, None);
}

enum Probe {
    NotModern,
    Broken(StartError),
}

async fn discover(dialog: &Dialog, patience: Duration) -> Result<Hello, Probe> {
    let mut answer = probe(dialog, patience).await;
    if answer.as_ref().is_err_and(takes_our_version) {
        answer = probe(dialog, patience).await;
    }
    match answer {
        Ok(result) => read_discover(&result).ok_or(Probe::NotModern),
        // A modern server that does not take our version says so; with nothing newer to
        // offer, the legacy greeting is what is left to try.
        Err(CallError::Refused { .. } | CallError::TimedOut { .. }) => Err(Probe::NotModern),
        Err(CallError::Http { status, .. }) if status != 401 && status != 403 => {
            Err(Probe::NotModern)
        }
        Err(error) => Err(Probe::Broken(start_error(&dialog.server, error))),
    }
}

async fn probe(dialog: &Dialog, patience: Duration) -> Result<Raw, CallError> {
    let asking = Asking {
        era: Era::Modern,
        method: method::DISCOVER,
        params: RawObject::new(),
        client: None,
        mirror: None,
        patience: Patience::of(patience),
    };
    dialog.start(asking).answer().await
}

/// Whether a server refuses our version and names that very version as one it takes. Such a
/// server is modern, and the protocol wants it asked once more.
fn takes_our_version(error: &CallError) -> bool {
    let CallError::Refused { error, .. } = error else {
        return false;
    };
    let supported = error
        .data
        .as_deref()
        .and_then(|data| RawObject::open(data).ok()?.read("supported"));
    error.code == code::UNSUPPORTED_VERSION
        && supported.is_some_and(|it: Vec<String>| {
            it.iter().any(|it| it == ProtocolVersion::LATEST.as_str())
        })
}

fn read_discover(result: &Raw) -> Option<Hello> {
    let result = RawObject::open(result).ok()?;
    let versions: Vec<String> = result.read("supportedVersions")?;
    if !versions
        .iter()
        .any(|version| version == ProtocolVersion::LATEST.as_str())
    {
        return None;
    }
    let server_info = result
        .object("_meta")
        .and_then(|meta| shallow(meta.get(meta::SERVER_INFO)))
        .or_else(|| shallow(result.get("serverInfo")));
    Some(Hello {
        era: Era::Modern,
        version: ProtocolVersion::LATEST.to_string(),
        capabilities: result.object("capabilities").unwrap_or_default(),
        server_info,
        instructions: result.read("instructions"),
    })
}

async fn greet_legacy(dialog: &Dialog, patience: Duration) -> Result<Hello, StartError> {
    let asking = Asking {
        era: Era::Legacy,
        method: method::INITIALIZE,
        params: RawObject::open(&initialize_params()).expect("an object"),
        client: None,
        mirror: None,
        patience: Patience::of(patience),
    };
    let result = dialog
        .start(asking)
        .answer()
        .await
        .map_err(|error| start_error(&dialog.server, error))?;
    let hello = read_initialize(&dialog.server, &result)?;
    dialog.notify(method::INITIALIZED, None);
    Ok(hello)
}

/// One connection serves many clients, so it declares everything the gateway can carry to
/// a client; a client that cannot answer declines when it is asked.
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

fn read_initialize(server: &ServerName, result: &Raw) -> Result<Hello, StartError> {
    let protocol = |reason: String| StartError::Protocol {
        server: server.clone(),
        reason,
    };
    let result = RawObject::open(result)
        .map_err(|error| protocol(format!("its greeting is no object: {error}")))?;
    let version: String = result
        .read("protocolVersion")
        .ok_or_else(|| protocol("its greeting names no protocol version".to_owned()))?;
    match ProtocolVersion::parse(&version) {
        Some(known) if known.era() == Era::Legacy => {}
        _ => {
            return Err(protocol(format!(
                "it insists on protocol version `{version}`"
            )));
        }
    }
    Ok(Hello {
        era: Era::Legacy,
        version,
        capabilities: result.object("capabilities").unwrap_or_default(),
        server_info: shallow(result.get("serverInfo")),
        instructions: result.read("instructions"),
    })
}

/// What a server says of itself reaches clients as it is, unless they might not survive it.
fn shallow(info: Option<&RawValue>) -> Option<Raw> {
    info.filter(|info| !is_too_deep(info.get().as_bytes()))
        .map(ToOwned::to_owned)
}

fn refused(server: &ServerName, error: &ErrorObject) -> StartError {
    let reason = if error.code == code::METHOD_NOT_FOUND {
        "it knows neither `server/discover` nor `initialize`".to_owned()
    } else {
        error.message.clone()
    };
    StartError::Protocol {
        server: server.clone(),
        reason,
    }
}

/// A call that failed while the server was being greeted.
pub(crate) fn start_error(server: &ServerName, error: CallError) -> StartError {
    match error {
        CallError::Start(error) => error,
        CallError::Login(needed) => StartError::Login(needed),
        CallError::Refused { server, error } => refused(&server, &error),
        CallError::TimedOut { server, after } => timed_out(server, after),
        CallError::Http {
            server,
            status: status @ (401 | 403),
            ..
        } => StartError::Unauthorized { server, status },
        CallError::Http { .. } | CallError::Clogged { .. } | CallError::Brief { .. } => {
            StartError::Unreachable {
                server: server.clone(),
                reason: error.to_string(),
            }
        }
        CallError::TooLarge { server, max } => StartError::Protocol {
            server,
            reason: format!("its greeting is larger than {max} bytes"),
        },
        CallError::TooDeep { server } => StartError::Protocol {
            server,
            reason: "its greeting is nested too deep".to_owned(),
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
                reason: "it ended the session at once".to_owned(),
            }
        }
    }
}

/// What it said meanwhile, only its process knows.
fn timed_out(server: ServerName, after: Duration) -> StartError {
    StartError::TimedOut {
        server,
        after,
        stderr: String::new(),
        diagnosis: None,
    }
}
