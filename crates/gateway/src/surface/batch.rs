//! `batch_execute`: several calls, answered in request order. Calls to different servers and calls
//! that only read run concurrently; calls that may write to a server run in order.

use futures::future::join_all;
use kitbag_domain::WriteClass;
use kitbag_schema::RereadArguments;
use kitbag_upstream::CallError;
use kitbag_wire::meta::code;
use kitbag_wire::{Raw, RawObject, raw};
use serde::Deserialize;
use serde_json::json;

use super::parse_arguments::parse_arguments;
use super::request::ApiRequest;
use super::tool_answer::add_correction_note;
use super::tools::AlwaysOnTool;
use crate::call::failure::Failure;
use crate::call::reply;
use crate::turn::client::ClientCapabilities;
use crate::turn::{AskStyle, Turn};

pub(super) const MAX_CALLS: usize = 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// Parsed one by one, so that a mistake in one affects only that one.
    pub(super) calls: Vec<Raw>,
}

pub(super) async fn run_batch(
    turn: &Turn,
    batch: Batch,
    params: RawObject,
) -> Result<Raw, Failure> {
    let count = batch.calls.len();
    if count == 0 || count > MAX_CALLS {
        let what =
            format!("batch_execute takes 1 to {MAX_CALLS} calls and got {count}; nothing was run");
        return Err(Failure::bad_params(what));
    }
    let tokens = turn.gateway.surfaces.result_tokens / count;
    let turn = &without_questions(turn);
    let calls = batch.calls.iter().enumerate();
    let calls = calls.map(|(number, call)| BatchedCall::parse(turn, number, call));
    let each = build_lanes(calls.collect()).into_iter();
    let each = each.map(|lane| run_lane(turn, lane, &params, tokens));
    let mut answers: Vec<_> = join_all(each).await.into_iter().flatten().collect();
    answers.sort_by_key(|answer| answer.number);
    let mut content = Vec::new();
    for answer in answers {
        let result = answer.result?;
        let object = RawObject::open(&result).unwrap_or_default();
        let how = if object.read("isError") == Some(true) {
            "error"
        } else {
            "ok"
        };
        let heading = format!("[{}/{count}] {}: {how}", answer.number + 1, answer.subject);
        content.push(raw(&json!({ "type": "text", "text": heading })));
        content.extend(object.read::<Vec<Raw>>("content").unwrap_or_default());
    }
    Ok(RawObject::new().with("content", &content).to_raw())
}

/// One call of a batch.
struct BatchedCall {
    number: usize,
    read: Result<(ApiRequest, Option<RereadArguments>), Failure>,
    route: CallRoute,
}

/// The target server or API of a call, if any, and whether the call may write there.
struct CallRoute {
    target: Option<String>,
    writes: bool,
}

/// The name and result of one call. Only a cancellation of the whole batch is an error here.
struct BatchedAnswer {
    number: usize,
    subject: String,
    result: Result<Raw, Failure>,
}

/// Calls to one server, in sequential stages. The calls of a stage run concurrently.
type Lane = Vec<Vec<BatchedCall>>;

/// Orders the calls to each server: a call that may write waits for all earlier calls, and a call
/// that only reads for the earlier writes. Calls to different servers do not wait for each other.
fn build_lanes(calls: Vec<BatchedCall>) -> Vec<Lane> {
    let mut lanes: Vec<(Option<String>, bool, Lane)> = Vec::new();
    for call in calls {
        let CallRoute { target, writes } = &call.route;
        let known = lanes
            .iter_mut()
            .find(|(other, ..)| target.is_some() && other == target);
        match known {
            Some((_, last_writes, lane)) => {
                let waits = *writes || *last_writes;
                *last_writes = *writes;
                match lane.last_mut().filter(|_| !waits) {
                    Some(stage) => stage.push(call),
                    None => lane.push(vec![call]),
                }
            }
            None => lanes.push((target.clone(), *writes, vec![vec![call]])),
        }
    }
    lanes.into_iter().map(|(.., lane)| lane).collect()
}

async fn run_lane(
    turn: &Turn,
    lane: Lane,
    params: &RawObject,
    tokens: usize,
) -> Vec<BatchedAnswer> {
    let mut answers = Vec::new();
    for stage in lane {
        let calls = stage
            .into_iter()
            .map(|call| call.run_call(turn, params_for_call(params), tokens));
        answers.extend(join_all(calls).await);
    }
    answers
}

impl BatchedCall {
    fn parse(turn: &Turn, number: usize, call: &Raw) -> Self {
        let read = parse_arguments(
            &turn.gateway.services.checker,
            AlwaysOnTool::Call,
            Some(call),
        );
        let read = read.and_then(|(arguments, correction)| {
            Ok((ApiRequest::from_arguments(arguments)?, correction))
        });
        let route = match &read {
            Ok((request, _)) => CallRoute::for_request(turn, request),
            Err(_) => CallRoute::NOWHERE,
        };
        Self {
            number,
            read,
            route,
        }
    }

    async fn run_call(self, turn: &Turn, params: RawObject, tokens: usize) -> BatchedAnswer {
        let era = turn.client.era;
        let to_result = |failure: Failure| Ok(reply::to_tool_result(&failure, era));
        let (request, correction) = match self.read {
            Ok(read) => read,
            Err(failure) => {
                return BatchedAnswer {
                    number: self.number,
                    subject: "not a call".to_owned(),
                    result: to_result(failure),
                };
            }
        };
        let subject = request.subject();
        let result = match request.run_request(turn, params, tokens).await {
            Err(failure) if needs_input(&failure) => to_result(Failure::bad_params(
                "it asks for input first; call it separately with call_api",
            )),
            Err(Failure::Cancelled) => Err(Failure::Cancelled),
            Err(failure) => to_result(failure),
            Ok(result) => Ok(add_correction_note(result, correction.as_ref())),
        };
        BatchedAnswer {
            number: self.number,
            subject,
            result,
        }
    }
}

impl CallRoute {
    const NOWHERE: Self = Self {
        target: None,
        writes: false,
    };

    /// A tool that does not declare that it only reads may write.
    fn for_request(turn: &Turn, request: &ApiRequest) -> Self {
        match request {
            ApiRequest::Tool { name, .. } => {
                turn.catalog.tool(name).map_or(Self::NOWHERE, |tool| {
                    let class = turn.gateway.write_class(tool);
                    Self {
                        target: Some(tool.server_or_provider().to_owned()),
                        writes: class != WriteClass::Read,
                    }
                })
            }
            ApiRequest::Provider { provider, call } => Self {
                target: Some(provider.clone()),
                writes: !call.method.is_safe(),
            },
            ApiRequest::Remainder { .. } => Self::NOWHERE,
        }
    }
}

/// True if a server asked for input that only the client can give.
fn needs_input(failure: &Failure) -> bool {
    match failure {
        Failure::CannotOpenUrl { .. } => true,
        Failure::Upstream(CallError::Refused { error, .. }) => {
            error.code == code::MISSING_CLIENT_CAPABILITY
        }
        _ => false,
    }
}

/// Removes the members that concern only the batch: calls cannot share a progress token, nor the
/// answers to one call's questions.
fn params_for_call(params: &RawObject) -> RawObject {
    let mut params = params.clone();
    for key in ["_meta", "inputResponses", "requestState", "task"] {
        params.remove(key);
    }
    params
}

/// A modern client gets questions in the result of its call, and a batch has one result for all
/// calls. So servers get a client that cannot answer questions; otherwise they would wait for an
/// answer that never comes.
fn without_questions(turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    if turn.ask_style == AskStyle::ByResult {
        turn.client.capabilities = ClientCapabilities::new(None);
    }
    turn
}
