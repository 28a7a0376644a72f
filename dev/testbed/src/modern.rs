//! The protocol of 2026-07-28: every request is self-contained.

use kitbag_wire::meta::{self, code, method, result_type};
use kitbag_wire::{ErrorObject, Notification, ProtocolVersion, RawObject, Request};
use serde_json::json;

use crate::call::{CallEnd, CallOutcome, Reply, TestCall, invalid};
use crate::cli::Misbehaviour;
use crate::server::implementation;
use crate::subscriptions::{Interests, tag_params};
use crate::{legacy, lists, tasks};

pub(crate) async fn serve(call: TestCall) -> CallOutcome {
    check_greeting(&call.method, &call.params)?;
    check_meta(&call.params)?;
    let cacheable = CACHEABLE.contains(&call.method.as_str());
    let outcome = match call.method.as_str() {
        method::INITIALIZE => Err(CallEnd::Error(removed_method_error(method::INITIALIZE))),
        method::DISCOVER => Ok(Reply::Object(discover(&call))),
        method::LISTEN => listen(&call).await,
        tasks::GET => call.server.tasks.get(&call),
        tasks::UPDATE => call.server.tasks.update(&call),
        tasks::CANCEL => call.server.tasks.cancel(&call),
        _ => lists::serve(call).await,
    };
    match outcome {
        Ok(Reply::Object(result)) => Ok(Reply::Object(complete_result(result, cacheable))),
        Err(CallEnd::InputRequired(result)) => Ok(Reply::Object(complete_result(result, false))),
        other => other,
    }
}

/// Rejects a legacy client, which cannot continue by itself: the error tells its user the supported
/// versions.
pub(crate) fn check_greeting(name: &str, params: &RawObject) -> Result<(), ErrorObject> {
    let meant_for_us = params
        .get_object("_meta")
        .is_some_and(|meta| meta.contains(meta::PROTOCOL_VERSION));
    if name != method::INITIALIZE || meant_for_us {
        return Ok(());
    }
    Err(unsupported_error(
        &params.read::<String>("protocolVersion").unwrap_or_default(),
    ))
}

/// Checks the required `_meta` of a modern request.
pub(crate) fn check_meta(params: &RawObject) -> Result<(), ErrorObject> {
    let meta = params.get_object("_meta").unwrap_or_default();
    let version: String = meta
        .read(meta::PROTOCOL_VERSION)
        .ok_or_else(|| missing_error(meta::PROTOCOL_VERSION))?;
    meta.get_object(meta::CLIENT_CAPABILITIES)
        .ok_or_else(|| missing_error(meta::CLIENT_CAPABILITIES))?;
    if ProtocolVersion::parse(&version) == Some(ProtocolVersion::LATEST) {
        Ok(())
    } else {
        Err(unsupported_error(&version))
    }
}

fn missing_error(key: &str) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, format!("`_meta` lacks `{key}`"))
}

/// Returns the body member that `Mcp-Name` must repeat, for methods that have one.
pub(crate) fn name_of(request: &Request, params: &RawObject) -> Option<String> {
    let member = match request.method.as_str() {
        method::CALL_TOOL | method::GET_PROMPT => "name",
        method::READ_RESOURCE => "uri",
        tasks::GET | tasks::UPDATE | tasks::CANCEL => "taskId",
        _ => return None,
    };
    params.read(member)
}

const CACHEABLE: [&str; 8] = [
    method::DISCOVER,
    method::LIST_TOOLS,
    method::LIST_PROMPTS,
    method::LIST_RESOURCES,
    method::LIST_TEMPLATES,
    method::READ_RESOURCE,
    method::LIST_SKILLS,
    method::GET_SKILL,
];

fn supported_versions() -> [&'static str; 1] {
    [ProtocolVersion::LATEST.as_str()]
}

fn unsupported_error(requested: &str) -> ErrorObject {
    let message = format!(
        "unsupported protocol version; this server speaks {}",
        supported_versions().join(", ")
    );
    ErrorObject::new(code::UNSUPPORTED_VERSION, message)
        .with_data(&json!({ "supported": supported_versions(), "requested": requested }))
}

fn removed_method_error(name: &str) -> ErrorObject {
    let message = format!(
        "`{name}` is gone; this server speaks {}",
        supported_versions().join(", ")
    );
    ErrorObject::new(code::METHOD_NOT_FOUND, message)
        .with_data(&json!({ "supported": supported_versions() }))
}

fn discover(call: &TestCall) -> RawObject {
    if call.server.has(Misbehaviour::OddMessages) {
        legacy::send_odd_messages(&call.peer);
    }
    let mut capabilities = legacy::capabilities_of(&call.server);
    capabilities["extensions"][tasks::EXTENSION] = json!({});
    let mut result = RawObject::new()
        .with("supportedVersions", &supported_versions())
        .with("capabilities", &capabilities);
    if let Some(instructions) = call.server.instructions() {
        result.put("instructions", &instructions);
    }
    result
}

async fn listen(call: &TestCall) -> CallOutcome {
    let interests: Interests = call
        .params
        .read("notifications")
        .ok_or_else(|| invalid("`notifications` is missing or malformed"))?;
    let agreed = RawObject::new().with("notifications", &interests);
    let acknowledged = Notification::new(
        method::SUBSCRIPTION_ACKNOWLEDGED,
        Some(tag_params(agreed, &call.id).to_raw()),
    );
    let (outbox, tag) = (call.outbox.clone(), call.id.clone());
    let listener = call
        .server
        .listeners
        .greet(acknowledged, interests, outbox, tag);
    call.cancelled.cancelled().await;
    call.server.listeners.remove(listener);
    Err(CallEnd::Cancelled)
}

/// Adds the members that every modern result has; existing ones stay unchanged.
fn complete_result(mut result: RawObject, cacheable: bool) -> RawObject {
    if !result.contains("resultType") {
        result.put("resultType", result_type::COMPLETE);
    }
    if cacheable {
        result.put("ttlMs", &60_000);
        result.put("cacheScope", "public");
    }
    let meta = result
        .get_object("_meta")
        .unwrap_or_default()
        .with(meta::SERVER_INFO, &implementation());
    result.put("_meta", &meta);
    result
}
