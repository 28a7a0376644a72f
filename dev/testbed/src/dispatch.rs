//! From an incoming message to its effect, over any transport.

use std::sync::Arc;

use kitbag_wire::meta::{self, code, method};
use kitbag_wire::{
    Era, ErrorObject, MalformedMessage, Message, Notification, RawObject, Request, RequestId,
    Response,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::call::{CallEnd, CallOutcome, Dialogue, TestCall};
use crate::cli::{Misbehaviour, Served};
use crate::connected_client::ConnectedClient;
use crate::outbox::Outbox;
use crate::server::TestServer;
use crate::{legacy, modern};

pub(crate) struct Started {
    pub(crate) cancel: CancellationToken,
    pub(crate) done: JoinHandle<()>,
}

/// Serves a request in the background; its answer is the last message in the outbox.
pub(crate) fn start(
    server: &Arc<TestServer>,
    peer: &Arc<ConnectedClient>,
    era: Era,
    request: Request,
    outbox: &Outbox,
) -> Started {
    let dialogue = match era {
        Era::Legacy => Dialogue::Legacy,
        Era::Modern => Dialogue::Modern,
    };
    let call = TestCall::new(
        server.clone(),
        peer.clone(),
        request,
        outbox.clone(),
        dialogue,
    );
    let cancel = call.cancelled.clone();
    Started {
        cancel,
        done: tokio::spawn(answer(call)),
    }
}

/// Handles a message from a pipe; its answer goes out through the same pipe.
pub(crate) fn receive(
    server: &Arc<TestServer>,
    peer: &Arc<ConnectedClient>,
    message: Message,
) -> Option<Started> {
    match message {
        Message::Request(request) => {
            let era = era_of(server.era, &request);
            return Some(start(server, peer, era, request, &peer.general));
        }
        Message::Notification(notification) => notice(server, peer, &notification),
        Message::Response(response) => peer.resolve_question(response),
    }
    None
}

pub(crate) fn notice(
    server: &Arc<TestServer>,
    peer: &Arc<ConnectedClient>,
    notification: &Notification,
) {
    match notification.method.as_str() {
        method::CANCELLED => {
            let id = notification
                .open_params()
                .ok()
                .and_then(|params| params.read::<RequestId>("requestId"));
            if let Some(id) = id {
                peer.cancel(&id);
            }
        }
        method::INITIALIZED => legacy::send_early_messages(server, peer),
        method::ROOTS_CHANGED => legacy::ask_for_roots(server, peer),
        _ => {}
    }
}

/// Returns the era of a request, judged by its members; a server of one era supports only that one.
pub(crate) fn era_of(served: Served, request: &Request) -> Era {
    match served {
        Served::Legacy => Era::Legacy,
        Served::Modern => Era::Modern,
        Served::Dual if is_modern(request) => Era::Modern,
        Served::Dual => Era::Legacy,
    }
}

pub(crate) fn is_modern(request: &Request) -> bool {
    let meta = request
        .open_params()
        .ok()
        .and_then(|params| params.get_object("_meta"));
    request.method == method::DISCOVER
        || meta.is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION))
}

pub(crate) fn malformed_response(why: &MalformedMessage) -> Response {
    let (code, id) = match why {
        MalformedMessage::NotJson(_) => (code::PARSE_ERROR, None),
        MalformedMessage::Batch => (code::INVALID_REQUEST, None),
        MalformedMessage::NotJsonRpc { id, .. } | MalformedMessage::TooDeep { id } => {
            (code::INVALID_REQUEST, id.clone())
        }
    };
    Response::from_error(id, ErrorObject::new(code, why.to_string()))
}

pub(crate) fn method_not_found(name: &str) -> CallEnd {
    CallEnd::Error(ErrorObject::new(
        code::METHOD_NOT_FOUND,
        format!("unknown method `{name}`"),
    ))
}

async fn answer(call: TestCall) {
    let (id, peer, outbox) = (call.id.clone(), call.peer.clone(), call.outbox.clone());
    let outcome = if call.server.has(Misbehaviour::Hang) || is_deaf(&call) {
        call.cancelled.cancelled().await;
        Err(CallEnd::Cancelled)
    } else if matches!(call.dialogue, Dialogue::Legacy) {
        Box::pin(legacy::serve(call)).await
    } else {
        Box::pin(modern::serve(call)).await
    };
    peer.end(&id);
    send(&outbox, id, outcome);
}

/// True if the server has become deaf, or does so now.
fn is_deaf(call: &TestCall) -> bool {
    let (server, peer) = (&call.server, &call.peer);
    if !server.has(Misbehaviour::Deaf) {
        return false;
    }
    let cured = server.read("cured").is_some();
    if call.method == method::CALL_TOOL && !cured {
        peer.ignore();
        server.deafen();
        server.note("became deaf");
    }
    peer.is_ignored() || (server.is_deaf() && !cured)
}

fn send(outbox: &Outbox, id: RequestId, outcome: CallOutcome) {
    match outcome {
        Ok(reply) => outbox.send(Response::from_result(id, reply.into_raw())),
        Err(CallEnd::Error(error)) => outbox.send(Response::from_error(Some(id), error)),
        Err(CallEnd::InputRequired(result)) => {
            outbox.send(Response::from_result(id, RawObject::to_raw(&result)));
        }
        Err(CallEnd::Cancelled) => {}
    }
}
