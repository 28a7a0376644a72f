//! Carries a call between a client of one era and a server of either.
//!
//! The eras differ in how a server gets an answer from the person: a legacy server asks in
//! the middle of a call, a modern one ends the call with a list of questions and is called
//! again. Four pairs follow from that:
//!
//! | client | server | |
//! |---|---|---|
//! | legacy | legacy | the question is passed on, under another number (`legacy_client`) |
//! | legacy | modern | questions are put one by one, then the call is repeated (`legacy_client`) |
//! | modern | legacy | the call is parked, it returns the question (`modern_client`, `parking`) |
//! | modern | modern | everything passes as it is (`modern_client`) |
//!
//! If servers are merged, the text of a question begins with the name of the server that asks.

mod legacy_client;
mod modern_client;

use kitbag_domain::ServerName;
use kitbag_upstream::{CallError, CallEvent, ClientQuestion, InFlight, Server};
use kitbag_wire::meta::{code, method, result_type};
use kitbag_wire::{Era, ErrorObject, MAX_NESTING, Raw, RawObject, is_too_deep};
use serde_json::json;

pub(crate) use self::modern_client::{QUESTION_GAP, input_required_result, mark_complete};
use crate::call::failure::Failure;
use crate::call::resolve::McpTarget;
use crate::catalog::resources::ORIGIN_SERVER;
use crate::surface::authored;
use crate::turn::Turn;
use crate::turn::view::View;

/// Questions a server may put in one call before the first is answered; a person could not answer
/// that many.
const MAX_QUESTIONS: usize = 32;

pub(crate) async fn carry_call(turn: &Turn, target: &mut McpTarget) -> Result<Raw, Failure> {
    match turn.client.era {
        Era::Legacy => legacy_client::carry_call(turn, target).await,
        Era::Modern => modern_client::carry_call(turn, target).await,
    }
}

/// A call under way, with the first thing the server said.
///
/// A server that has forgotten our session has not looked at the call, so it is sent again.
async fn send_call(target: &McpTarget) -> Result<(InFlight, CallEvent), Failure> {
    match target.server.send(&target.outbound).await {
        // The session had ended when the server was asked for its lists.
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

/// The next thing the server says that a client can be told. What is nested too deep is dropped on
/// the way; an answer is for the pipeline to judge.
async fn next_event(in_flight: &mut InFlight) -> CallEvent {
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

/// Hands on what a server says along the way, as far as the client wants to hear it.
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

/// Tells the client what a server said, in the form that the surface gives to text of servers.
fn notify_client(turn: &Turn, server: &Server, method: &str, params: Option<Raw>) {
    let shown = match turn.view.is_frugal() {
        true => params.map(|params| authored::sanitize_json(params, &server.secrets())),
        false => params,
    };
    turn.back.notify(method, shown);
}

/// Tells a server that this client cannot answer such a question, in the words of the
/// client's era, since many servers pass them on.
fn decline_question(turn: &Turn, ask: ClientQuestion) {
    let capability = match ask.method.as_str() {
        method::LIST_ROOTS => "roots",
        method::CREATE_MESSAGE => "sampling",
        _ => "elicitation",
    };
    let message = format!("the client has not declared the capability `{capability}`");
    let error = match turn.client.era {
        Era::Legacy => ErrorObject::new(code::METHOD_NOT_FOUND, message),
        Era::Modern => ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, message)
            .with_data(&json!({ "requiredCapabilities": { capability: {} } })),
    };
    ask.answer(Err(error));
}

/// Tells a server that it has asked enough for now.
fn refuse_question(ask: ClientQuestion) {
    let message = format!("{MAX_QUESTIONS} questions of this call are open already");
    ask.answer(Err(ErrorObject::new(code::INVALID_REQUEST, message)));
}

/// A result as clients of an era want it.
pub(crate) fn for_era(era: Era, result: Raw) -> Raw {
    match era {
        Era::Modern => mark_complete(result),
        Era::Legacy => result,
    }
}

/// The questions a result consists of, if it is none yet.
pub(crate) fn input_requests(result: &Raw) -> Option<RawObject> {
    if !result.get().contains(result_type::INPUT_REQUIRED) {
        return None;
    }
    let result = RawObject::open(result).ok()?;
    (result.read::<String>("resultType")? == result_type::INPUT_REQUIRED).then_some(result)
}

/// A question for a client that is asked in the middle of its call. Where servers are merged its
/// text names the server that asks, and on the frugal surfaces the text is data like all text of
/// servers.
fn prepare_question(turn: &Turn, server: &Server, method: &str, params: Option<&Raw>) -> Raw {
    let name = server.name();
    let signed = add_origin(params, name);
    match turn.view {
        View::One(_) => signed,
        View::Merged(_) if !turn.view.is_frugal() => {
            authored::name_server_in_params(method, signed, name)
        }
        View::Merged(_) => authored::sanitize_json(
            authored::name_server_in_params(method, signed, name),
            &server.secrets(),
        ),
    }
}

/// Adds to a question the name of the server that asks it, for programs.
fn add_origin(params: Option<&Raw>, server: &ServerName) -> Raw {
    let mut params = params
        .and_then(|params| RawObject::open(params).ok())
        .unwrap_or_default();
    let mut meta = params.object("_meta").unwrap_or_default();
    meta.put(ORIGIN_SERVER, server.as_str());
    params.put("_meta", &meta);
    params.to_raw()
}
