//! Converts errors to the wire format: JSON-RPC code, message, HTTP status.
//!
//! If a tool cannot be run, the model gets a tool result that it can act on; for every other
//! failure, the client gets a protocol error.

use http::StatusCode;
use kitbag_domain::Remedy as _;
use kitbag_domain::text::strip_invisible;
use kitbag_lockfile::UnapprovedReason;
use kitbag_upstream::CallError;
use kitbag_wire::meta::{code, method};
use kitbag_wire::{
    Era, ErrorObject, MalformedMessage, ProtocolVersion, Raw, RequestId, Response, raw,
};
use serde_json::json;

use crate::call::bridge::format_for_era;
use crate::call::failure::Failure;
use crate::front::in_flight::OutgoingMessage;
use crate::turn::Turn;

/// Sends the response, or an error that asks the client to read earlier responses first.
pub(crate) async fn send_response(
    turn: &Turn,
    method: &str,
    response: Response,
) -> OutgoingMessage {
    let (id, client) = (response.id.clone(), &turn.client);
    match turn
        .gateway
        .services
        .in_flight
        .reserve_when_free(&client.caller, response.into())
        .await
    {
        Ok(sent) => sent,
        Err(unread) => {
            let failure = Failure::TooMuchUnread {
                megabytes: unread.bytes >> 20,
            };
            let error = failure_response(id, method, client.era, &failure);
            turn.gateway
                .services
                .in_flight
                .reserve_unconditionally(&client.caller, error.into())
        }
    }
}

/// Builds the response to a failed request.
pub(crate) fn failure_response(
    id: Option<RequestId>,
    method: &str,
    era: Era,
    failure: &Failure,
) -> Response {
    let failure = failure.visible_failure();
    match failure {
        Failure::Upstream(error)
            if method == method::CALL_TOOL && !matches!(error, CallError::Refused { .. }) =>
        {
            Response {
                id,
                outcome: Ok(to_tool_result(failure, era)),
            }
        }
        Failure::Denied { .. }
        | Failure::Unapproved { .. }
        | Failure::Unrecorded(_)
        | Failure::TooMuchUnread { .. }
            if method == method::CALL_TOOL =>
        {
            Response {
                id,
                outcome: Ok(to_tool_result(failure, era)),
            }
        }
        _ => Response::from_error(id, to_error_object(failure, era)),
    }
}

/// Converts a failure to a protocol error.
pub(crate) fn to_error_object(failure: &Failure, era: Era) -> ErrorObject {
    let failure = failure.visible_failure();
    let message = failure.to_string();
    match failure {
        Failure::Malformed(MalformedMessage::NotJson(_)) => {
            ErrorObject::new(code::PARSE_ERROR, message)
        }
        Failure::Malformed(_)
        | Failure::TooLarge { .. }
        | Failure::BrokenBody { .. }
        | Failure::ForeignBody { .. }
        | Failure::SlowBody
        | Failure::UnknownStream
        | Failure::NoSession { .. }
        | Failure::UnknownSession
        | Failure::TooManySessions { .. }
        | Failure::TooManyRequests
        | Failure::TooMuchUnread { .. } => ErrorObject::new(code::INVALID_REQUEST, message),
        Failure::UnknownMethod { .. } => ErrorObject::new(code::METHOD_NOT_FOUND, message),
        Failure::BadParams { .. }
        | Failure::Arguments { .. }
        | Failure::MissingArguments { .. }
        | Failure::UnknownPrompt { .. }
        | Failure::UnknownServer { .. }
        | Failure::UnknownProvider { .. }
        | Failure::UnknownPath { .. }
        | Failure::UnknownGroup { .. }
        | Failure::UnknownResult { .. } => ErrorObject::new(code::INVALID_PARAMS, message),
        Failure::Provider(_) => ErrorObject::new(code::INTERNAL_ERROR, message),
        Failure::UnknownTool { near, .. } => {
            ErrorObject::new(code::INVALID_PARAMS, message).with_data(&json!({ "near": near }))
        }
        Failure::UnknownResource { uri } => {
            let code = match era {
                Era::Modern => code::INVALID_PARAMS,
                Era::Legacy => code::LEGACY_RESOURCE_NOT_FOUND,
            };
            ErrorObject::new(code, message).with_data(&json!({ "uri": uri }))
        }
        Failure::ContestedResource { uri, forms } => {
            ErrorObject::new(code::INVALID_PARAMS, message)
                .with_data(&json!({ "uri": uri, "meant": forms }))
        }
        Failure::Denied { .. } | Failure::Unapproved { .. } | Failure::Hidden { .. } => {
            ErrorObject::new(code::INVALID_REQUEST, message)
        }
        Failure::Upstream(CallError::Refused { error, .. }) | Failure::ClientRefused { error } => {
            error.clone()
        }
        Failure::Upstream(error) => {
            ErrorObject::new(code::INTERNAL_ERROR, explain_call_error(error))
                .with_data(&json!({ "server": error.server() }))
        }
        Failure::Cancelled | Failure::TooManyRounds { .. } | Failure::Unrecorded(_) => {
            ErrorObject::new(code::INTERNAL_ERROR, message)
        }
        Failure::UnsupportedVersion { requested } => {
            let supported = [ProtocolVersion::LATEST.as_str()];
            ErrorObject::new(code::UNSUPPORTED_VERSION, message)
                .with_data(&json!({ "supported": supported, "requested": requested }))
        }
        Failure::CannotOpenUrl { .. } => ErrorObject::new(code::MISSING_CLIENT_CAPABILITY, message)
            .with_data(&json!({ "requiredCapabilities": { "elicitation": { "url": {} } } })),
        Failure::HeaderMismatch { .. } => ErrorObject::new(code::HEADER_MISMATCH, message),
    }
}

/// Returns the HTTP status for a response to a modern client; responses to legacy clients are
/// always sent with 200.
pub(crate) fn http_status(era: Era, response: &Response) -> StatusCode {
    let Err(error) = &response.outcome else {
        return StatusCode::OK;
    };
    match (era, error.code) {
        (Era::Modern, code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        (
            Era::Modern,
            code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY | code::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Returns the status for a message that the endpoint rejected before handling it.
pub(crate) fn rejection_status(failure: &Failure) -> StatusCode {
    match failure {
        Failure::UnknownSession
        | Failure::UnknownStream
        | Failure::UnknownServer { .. }
        | Failure::UnknownMethod { .. } => StatusCode::NOT_FOUND,
        Failure::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Failure::SlowBody => StatusCode::REQUEST_TIMEOUT,
        Failure::ForeignBody { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Failure::TooManySessions { .. } | Failure::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The approval commands are shown only to the operator: a model that can run commands must not
/// approve definitions that a person should review.
fn advice_for(reason: &UnapprovedReason) -> &'static str {
    match reason {
        UnapprovedReason::NotListedYet | UnapprovedReason::NotCompared => "try again in a moment",
        _ => "continue without it, and ask your user to review and approve it",
    }
}

/// Converts a failure to a tool result for a model that may correct its call.
pub(crate) fn to_tool_result(failure: &Failure, era: Era) -> Raw {
    let failure = failure.visible_failure();
    let text = match failure {
        Failure::Upstream(CallError::Refused { server, error }) => {
            format!(
                "`{server}` rejected the call: {} ({})",
                error.message, error.code
            )
        }
        Failure::Upstream(error) => explain_call_error(error),
        Failure::Provider(error) => match error.remedy() {
            Some(remedy) => format!("{error}\nWhat to do: {remedy}"),
            None => error.to_string(),
        },
        Failure::Unapproved { reason, .. } => format!("{failure}; {}", advice_for(reason)),
        Failure::UnknownTool { near, .. } if near.is_empty() => {
            format!("{failure}; find one with search_available_tools")
        }
        other => other.to_string(),
    };
    format_for_era(
        era,
        raw(
            &json!({ "content": [{ "type": "text", "text": strip_invisible(&text) }], "isError": true }),
        ),
    )
}

/// Returns a text that says what failed, who caused it, and what to do next.
pub(crate) fn explain_call_error(error: &CallError) -> String {
    let mut text = error.to_string();
    if let Some(stderr) = error.stderr() {
        text.push_str(&format!("\nLast lines of its stderr:\n{stderr}"));
    }
    if let Some(remedy) = error.remedy() {
        text.push_str(&format!("\nWhat to do: {remedy}"));
    }
    text
}
