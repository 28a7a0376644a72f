//! Bridges a call between a client of one era and a server of either.
//!
//! The eras differ in how a server asks the user a question: a legacy server asks in mid-call, a
//! modern server ends the call with a list of questions and is called again. This gives four pairs:
//!
//! | client | server | |
//! |---|---|---|
//! | legacy | legacy | forward the question, under another id (`legacy_client`) |
//! | legacy | modern | ask the questions, then repeat the call (`legacy_client`) |
//! | modern | legacy | park the call and return the question (`modern_client`, `conversation`) |
//! | modern | modern | forward everything unchanged (`modern_client`) |
//!
//! A program's calls ask in mid-call, whatever the era of its client. On a merged surface, the text
//! of a question begins with the name of the server that asks.

mod legacy_client;
mod modern_client;

use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, CallEvent, ClientQuestion, InFlightCall, Server};
use kitbag_wire::meta::{code, method, result_type};
use kitbag_wire::{Era, ErrorObject, MAX_NESTING, Raw, RawObject, is_too_deep};
use serde_json::json;

pub(crate) use self::modern_client::mark_complete;
use crate::call::failure::Failure;
use crate::call::resolve::McpTarget;
use crate::catalog::resources::ORIGIN_SERVER;
use crate::surface::sanitize;
use crate::turn::view::View;
use crate::turn::{AskStyle, Turn};

/// The most questions that a server may have open in one call; a user could not answer more.
const MAX_QUESTIONS: usize = 32;

pub(crate) async fn bridge_call(turn: &Turn, target: &mut McpTarget) -> Result<Raw, Failure> {
    match turn.ask_style {
        AskStyle::MidCall => legacy_client::bridge_call(turn, target).await,
        AskStyle::ByResult => modern_client::bridge_call(turn, target).await,
    }
}

/// Sends the call, and returns it with its first event. A server that rejects an expired session
/// has not processed the call, so the call is sent again.
async fn send_call(target: &McpTarget) -> Result<(InFlightCall, CallEvent), Failure> {
    match target.server.send(&target.outbound).await {
        // The session had expired before, when the server was asked for its lists.
        Err(CallError::SessionExpired { .. }) => {}
        sent => {
            let mut in_flight = sent?;
            let first = next_event(&mut in_flight).await;
            if !matches!(
                first,
                CallEvent::Done(Err(CallError::SessionExpired { .. }))
            ) {
                return Ok((in_flight, first));
            }
        }
    }
    let mut in_flight = target.server.send(&target.outbound).await?;
    let first = next_event(&mut in_flight).await;
    Ok((in_flight, first))
}

/// Returns the next event for the client. Messages that are nested too deeply are dropped; the
/// pipeline checks the result.
async fn next_event(in_flight: &mut InFlightCall) -> CallEvent {
    loop {
        match in_flight.next().await {
            CallEvent::Progress(params) | CallEvent::Log(params) if is_deep(&params) => {}
            CallEvent::Other { params, .. } if params.as_ref().is_some_and(is_deep) => {}
            CallEvent::Ask(ask) if ask.params.as_ref().is_some_and(is_deep) => {
                let message = format!("the question is nested deeper than {MAX_NESTING} levels");
                ask.answer(Err(ErrorObject::new(code::INVALID_PARAMS, message)));
            }
            CallEvent::Done(Err(CallError::Refused { server, mut error })) => {
                error.data = error.data.filter(|data| !is_deep(data));
                return CallEvent::Done(Err(CallError::Refused { server, error }));
            }
            event => return event,
        }
    }
}

fn is_deep(text: &Raw) -> bool {
    is_too_deep(text.get().as_bytes())
}

/// Forwards an event to the client, if the client wants it.
fn forward_event(turn: &Turn, server: &Server, event: CallEvent) {
    match event {
        CallEvent::Progress(params) => notify_client(turn, server, method::PROGRESS, Some(params)),
        CallEvent::Log(params) if turn.client.wants_log(&params) => {
            notify_client(turn, server, method::LOG, Some(params));
        }
        CallEvent::Log(_) => {}
        CallEvent::Other { method, params } => notify_client(turn, server, &method, params),
        CallEvent::Ask(ask) => decline_question(turn, ask),
        CallEvent::Done(_) => {}
    }
}

/// Sends a server's notification to the client, sanitized on the small surfaces.
fn notify_client(turn: &Turn, server: &Server, method: &str, params: Option<Raw>) {
    let shown = match turn.view.is_small_surface() {
        true => params.map(|params| sanitize::sanitize_json(params, &server.secrets())),
        false => params,
    };
    turn.back.notify(method, shown);
}

/// Declines a question that the client cannot answer. Many servers forward the error to the client,
/// so its code belongs to the client's era.
fn decline_question(turn: &Turn, ask: ClientQuestion) {
    let capability = match ask.method.as_str() {
        method::LIST_ROOTS => "roots",
        method::CREATE_MESSAGE => "sampling",
        _ => "elicitation",
    };
    let message = format!("the client has not declared the capability `{capability}`");
    let error = match turn.ask_style {
        AskStyle::MidCall => ErrorObject::new(code::METHOD_NOT_FOUND, message),
        AskStyle::ByResult => ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, message)
            .with_data(&json!({ "requiredCapabilities": { capability: {} } })),
    };
    ask.answer(Err(error));
}

/// Declines a question of a server with too many open questions.
fn decline_excess_question(ask: ClientQuestion) {
    let message = format!("this call already has {MAX_QUESTIONS} open questions");
    ask.answer(Err(ErrorObject::new(code::INVALID_REQUEST, message)));
}

/// Returns a result in the format of an era.
pub(crate) fn format_for_era(era: Era, result: Raw) -> Raw {
    match era {
        Era::Modern => mark_complete(result),
        Era::Legacy => result,
    }
}

/// Returns the result's questions if its `resultType` is `input_required`.
pub(crate) fn input_requests(result: &Raw) -> Option<RawObject> {
    if !result.get().contains(result_type::INPUT_REQUIRED) {
        return None;
    }
    let result = RawObject::open(result).ok()?;
    (result.read::<String>("resultType")? == result_type::INPUT_REQUIRED).then_some(result)
}

/// Prepares a question for a client that is asked in mid-call. On a merged surface its text names
/// the server, and on the small surfaces it is sanitized.
fn prepare_question(turn: &Turn, server: &Server, method: &str, params: Option<&Raw>) -> Raw {
    let name = server.name();
    let signed = add_origin(params, name);
    match turn.view {
        View::Server(_) => signed,
        View::Merged(_) if !turn.view.is_small_surface() => {
            sanitize::name_server_in_params(method, signed, name)
        }
        View::Merged(_) => sanitize::sanitize_json(
            sanitize::name_server_in_params(method, signed, name),
            &server.secrets(),
        ),
    }
}

/// Adds the server's name to the `_meta` of a question, for programs.
fn add_origin(params: Option<&Raw>, server: &ServerName) -> Raw {
    let mut params = params
        .and_then(|params| RawObject::open(params).ok())
        .unwrap_or_default();
    let mut meta = params.get_object("_meta").unwrap_or_default();
    meta.put(ORIGIN_SERVER, server.as_str());
    params.put("_meta", &meta);
    params.to_raw()
}
