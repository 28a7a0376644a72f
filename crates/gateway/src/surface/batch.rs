//! `batch_execute`: several calls at once, answered in the order they were asked.

use futures::future::join_all;
use kitbag_upstream::CallError;
use kitbag_wire::meta::code;
use kitbag_wire::{Era, Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::json;

use super::answer::with_taken;
use super::own::arguments;
use super::request::ApiRequest;
use super::tools::AlwaysOn;
use crate::client::ClientCapabilities;
use crate::failure::Failure;
use crate::reply;
use crate::turn::Turn;

pub(super) const MOST_CALLS: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// Read one by one, so that a mistake in one costs only that one.
    pub(super) calls: Vec<Raw>,
}

pub(super) async fn run(turn: &Turn, batch: Batch, params: RawObject) -> Result<Raw, Failure> {
    let count = batch.calls.len();
    if count == 0 || count > MOST_CALLS {
        let what =
            format!("batch_execute takes 1 to {MOST_CALLS} calls and got {count}; nothing was run");
        return Err(Failure::params(what));
    }
    let tokens = turn.gateway.surfaces.result_tokens / count;
    let turn = &unasked(turn);
    let each = batch
        .calls
        .iter()
        .map(|call| answer(turn, call, inner(&params), tokens));
    let mut content = Vec::new();
    for (number, (subject, result)) in join_all(each).await.into_iter().enumerate() {
        let result = result?;
        let object = RawObject::open(&result).unwrap_or_default();
        let how = if object.read("isError") == Some(true) {
            "error"
        } else {
            "ok"
        };
        let heading = format!("[{}/{count}] {subject}: {how}", number + 1);
        content.push(raw(&json!({ "type": "text", "text": heading })));
        content.extend(object.read::<Vec<Raw>>("content").unwrap_or_default());
    }
    Ok(RawObject::new().with("content", &content).to_raw())
}

/// One call's name and result. Only a cancellation of the whole batch is an error here.
async fn answer(
    turn: &Turn,
    call: &Raw,
    params: RawObject,
    tokens: usize,
) -> (String, Result<Raw, Failure>) {
    let era = turn.client.era;
    let read = arguments(&turn.gateway.services.checker, AlwaysOn::Call, Some(call));
    let (request, taken) =
        match read.and_then(|(asked, taken)| Ok((ApiRequest::read(asked)?, taken))) {
            Ok(read) => read,
            Err(failure) => {
                return (
                    "not a call".to_owned(),
                    Ok(reply::tool_result(&failure, era)),
                );
            }
        };
    let subject = request.subject();
    let result = match request.run(turn, params, tokens).await {
        Err(failure) if wants_input(&failure) => {
            let failure = Failure::params("it asks for input first; call it alone with call_api");
            Ok(reply::tool_result(&failure, era))
        }
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
        Err(failure) => Ok(reply::tool_result(&failure, era)),
        Ok(result) => Ok(with_taken(result, taken.as_ref())),
    };
    (subject, result)
}

/// True if a server asked for something that only the client can give.
fn wants_input(failure: &Failure) -> bool {
    match failure {
        Failure::CannotVisit { .. } => true,
        Failure::Upstream(CallError::Refused { error, .. }) => {
            error.code == code::MISSING_CLIENT_CAPABILITY
        }
        _ => false,
    }
}

/// Ten calls cannot share one progress token, nor the answers a person gave to one of them.
fn inner(params: &RawObject) -> RawObject {
    let mut params = params.clone();
    for key in ["_meta", "inputResponses", "requestState", "task"] {
        params.remove(key);
    }
    params
}

/// A modern client is asked with the result of its call, and a batch has one result for all calls.
/// So the servers are told that the client cannot answer questions, rather than left waiting for an
/// answer that will not come.
fn unasked(turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    if turn.client.era == Era::Modern {
        turn.client.capabilities = ClientCapabilities::new(None);
    }
    turn
}
