//! The protocol up to 2025-11-25: a handshake, then a session.

use std::sync::Arc;

use kitbag_wire::meta::{extension, method};
use kitbag_wire::{Notification, ProtocolVersion, RawObject, Request, raw};
use serde_json::{Value, json};

use crate::call::{CallEnd, CallOutcome, Reply, TestCall, invalid};
use crate::cli::Misbehaviour;
use crate::connected_client::{ConnectedClient, Handshake, Level};
use crate::dispatch::method_not_found;
use crate::lists;
use crate::server::{TestServer, implementation};
use crate::subscriptions::Interests;

pub(crate) async fn serve(call: TestCall) -> CallOutcome {
    let Some(greeting) = call.peer.handshake() else {
        return before_greeting(call).await;
    };
    match call.method.as_str() {
        method::INITIALIZE => Err(invalid("this session is initialized already")),
        method::PING => Reply::empty(),
        method::SET_LEVEL => {
            let level: Level = call
                .params
                .read("level")
                .ok_or_else(|| invalid("unknown `level`"))?;
            call.peer.set_log_level(level);
            Reply::empty()
        }
        method::SUBSCRIBE => {
            call.server
                .listeners
                .subscribe(greeting.listener, call.required_member("uri")?);
            Reply::empty()
        }
        method::UNSUBSCRIBE => {
            let uri: String = call.required_member("uri")?;
            call.server.listeners.unsubscribe(greeting.listener, &uri);
            Reply::empty()
        }
        _ => lists::serve(call).await,
    }
}

/// Sends the messages that some servers send as soon as the client is initialized.
pub(crate) fn send_early_messages(server: &Arc<TestServer>, peer: &Arc<ConnectedClient>) {
    if server.has(Misbehaviour::OddMessages) {
        send_odd_messages(peer);
    }
    ask_for_roots(server, peer);
    if server.has(Misbehaviour::EarlyRoots) {
        let peer = peer.clone();
        tokio::spawn(async move {
            if peer
                .ask(&peer.general, method::LIST_ROOTS, &json!({}))
                .await
                .is_ok()
            {
                peer.roots_are_known();
            }
        });
    }
}

pub(crate) fn ask_for_roots(server: &TestServer, peer: &ConnectedClient) {
    if server.has(Misbehaviour::RememberRoots) {
        peer.ask_for_roots();
    }
}

pub(crate) fn send_odd_messages(peer: &ConnectedClient) {
    let params = raw(&json!({ "level": "info", "message": "connected" }));
    peer.general
        .send(Request::new("log-1", "log", Some(params.clone())));
    peer.general.send(Notification::new("log", Some(params)));
}

async fn before_greeting(call: TestCall) -> CallOutcome {
    match call.method.as_str() {
        method::INITIALIZE => initialize(&call),
        method::PING => Reply::empty(),
        name if call.server.has(Misbehaviour::NoDiscoverAnswer) => {
            call.server.note(&format!("ignored {name}"));
            call.wait(std::future::pending()).await?
        }
        name => Err(method_not_found(name)),
    }
}

fn initialize(call: &TestCall) -> CallOutcome {
    let proposed: String = call.required_member("protocolVersion")?;
    let version = ProtocolVersion::negotiate_legacy(&proposed);
    greet(call, version)?;
    let mut result = RawObject::new()
        .with("protocolVersion", version.as_str())
        .with("capabilities", &capabilities_of(&call.server))
        .with("serverInfo", &implementation());
    if let Some(instructions) = call.server.instructions() {
        result.put("instructions", &instructions);
    }
    Ok(Reply::Object(result))
}

fn greet(call: &TestCall, version: ProtocolVersion) -> Result<(), CallEnd> {
    let (listeners, general) = (&call.server.listeners, call.peer.general.clone());
    let listener = listeners.add(Interests::every_list(), general, None);
    let handshake = Handshake {
        version,
        capabilities: call.params.get_object("capabilities").unwrap_or_default(),
        listener,
    };
    if call.peer.greet(handshake) {
        return Ok(());
    }
    listeners.remove(listener);
    Err(invalid("this session is initialized already"))
}

pub(crate) fn capabilities_of(server: &TestServer) -> Value {
    let mut capabilities = json!({
        "completions": {},
        "logging": {},
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "tools": { "listChanged": true },
    });
    if server.has(Misbehaviour::Skills) {
        capabilities["extensions"] = json!({ extension::SKILLS: { "directoryRead": true } });
    }
    capabilities
}
