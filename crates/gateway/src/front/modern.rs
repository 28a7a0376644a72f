//! Reads the metadata of every modern request: version, client, capabilities.

use std::sync::Arc;

use kitbag_domain::Caller;
use kitbag_upstream::{LogLevel, RequestedLogs};
use kitbag_wire::{Era, ProtocolVersion, Raw, RawObject, meta};
use serde_json::value::RawValue;

use crate::call::failure::Failure;
use crate::turn::client::{ClientCapabilities, McpClient};

/// True if a request is modern, according to a single key.
pub(super) fn is_modern(params: &RawObject) -> bool {
    params
        .get("_meta")
        .and_then(|meta| RawObject::peek_member(meta, meta::PROTOCOL_VERSION))
        .is_some()
}

/// Reads the client's identity, and removes the hop-specific keys from `params`.
pub(super) fn read_client(caller: Caller, params: &mut RawObject) -> Result<McpClient, Failure> {
    let mut meta = params
        .get_object("_meta")
        .ok_or_else(|| missing_key(meta::PROTOCOL_VERSION))?;
    check_version(&meta)?;
    let capabilities = take_capabilities(&mut meta)?;
    let logs = take_log_level(&mut meta)?;
    let name = McpClient::read_name(meta.get_object(meta::CLIENT_INFO).as_ref());
    meta.remove(meta::PROTOCOL_VERSION);
    let info = meta.remove(meta::CLIENT_INFO);
    if meta.is_empty() {
        params.remove("_meta");
    } else {
        params.put("_meta", &meta);
    }
    Ok(McpClient {
        id: client_id(info.as_deref()),
        caller,
        era: Era::Modern,
        name,
        capabilities: ClientCapabilities::new(Some(capabilities)),
        logs,
    })
}

fn check_version(meta: &RawObject) -> Result<(), Failure> {
    let version: String = meta
        .read(meta::PROTOCOL_VERSION)
        .ok_or_else(|| missing_key(meta::PROTOCOL_VERSION))?;
    match ProtocolVersion::parse(&version) {
        Some(known) if known.era() == Era::Modern => Ok(()),
        _ => Err(Failure::UnsupportedVersion { requested: version }),
    }
}

fn take_capabilities(meta: &mut RawObject) -> Result<Raw, Failure> {
    const KEY: &str = meta::CLIENT_CAPABILITIES;
    let capabilities = meta.remove(KEY).ok_or_else(|| missing_key(KEY))?;
    if !capabilities.get().starts_with('{') {
        return Err(Failure::bad_params(format!("`{KEY}` must be an object")));
    }
    Ok(capabilities)
}

fn take_log_level(meta: &mut RawObject) -> Result<RequestedLogs, Failure> {
    let Some(written) = meta.remove(meta::LOG_LEVEL) else {
        return Ok(RequestedLogs::None);
    };
    let level: Option<String> = serde_json::from_str(written.get()).ok();
    let level = level.and_then(|level| LogLevel::parse(&level));
    level
        .map(RequestedLogs::From)
        .ok_or_else(|| Failure::bad_params(format!("{written} is not a log level")))
}

fn missing_key(key: &str) -> Failure {
    Failure::bad_params(format!(
        "`_meta` lacks `{key}`, which every request must carry"
    ))
}

/// There is no session; the same program with the same credential counts as one client. Its name is
/// hashed, because it may be long.
fn client_id(info: Option<&RawValue>) -> Arc<str> {
    info.map_or("".into(), |info| {
        blake3::hash(info.get().as_bytes()).to_hex().as_str().into()
    })
}
