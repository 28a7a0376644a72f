//! Introduces the gateway to a client, in the answers to `initialize` and `server/discover`.

use kitbag_domain::Caller;
use kitbag_domain::Surface;
use kitbag_upstream::Listing;
use kitbag_wire::{ProtocolVersion, Raw, RawObject, meta, raw};
use serde_json::{Map, Value, json};

use super::lists::CACHE_MS;
use crate::call::failure::Failure;
use crate::catalog::Catalog;
use crate::front::session::Session;
use crate::state::gateway::Gateway;
use crate::surface::tool_list::surface_instructions;
use crate::turn::Turn;
use crate::turn::view::View;

pub(super) async fn answer_initialize(
    gateway: &Gateway,
    catalog: &Catalog,
    session: &Session,
) -> Result<Raw, Failure> {
    let introduction =
        Introduction::for_view(gateway, catalog, session.caller(), &session.view).await?;
    let mut result = RawObject::new()
        .with("protocolVersion", session.version.as_str())
        .with("capabilities", &introduction.capabilities)
        .with("serverInfo", &introduction.info);
    if let Some(instructions) = introduction.instructions {
        result.put("instructions", &instructions);
    }
    Ok(result.to_raw())
}

pub(super) async fn answer_discover(turn: &Turn) -> Result<Raw, Failure> {
    let introduction =
        Introduction::for_view(&turn.gateway, &turn.catalog, turn.caller(), &turn.view).await?;
    let mut result = RawObject::new()
        .with("resultType", "complete")
        .with("supportedVersions", &[ProtocolVersion::LATEST.as_str()])
        .with("capabilities", &introduction.capabilities)
        .with("ttlMs", &CACHE_MS)
        .with("cacheScope", "private")
        .with(
            "_meta",
            &RawObject::new().with(meta::SERVER_INFO, &introduction.info),
        );
    if let Some(instructions) = introduction.instructions {
        result.put("instructions", &instructions);
    }
    Ok(result.to_raw())
}

/// The gateway's description for a client of an endpoint.
struct Introduction {
    capabilities: Value,
    info: Raw,
    instructions: Option<String>,
}

impl Introduction {
    async fn for_view(
        gateway: &Gateway,
        catalog: &Catalog,
        caller: &Caller,
        view: &View,
    ) -> Result<Self, Failure> {
        match view {
            View::Merged(surface) => Ok(Self::for_all_servers(gateway, catalog, caller, *surface)),
            View::Server(name) => {
                let server = gateway.upstreams.get(name);
                let server = server.ok_or_else(|| Failure::UnknownServer {
                    server: name.to_string(),
                })?;
                Ok(Self::for_server(&*server.describe_itself().await?))
            }
        }
    }

    /// Offers every capability, because servers come and go while clients stay connected.
    fn for_all_servers(
        gateway: &Gateway,
        catalog: &Catalog,
        caller: &Caller,
        surface: Surface,
    ) -> Self {
        let mut capabilities = add_bridged_capabilities(Map::from_iter([
            ("tools".to_owned(), json!({ "listChanged": true })),
            ("prompts".to_owned(), json!({ "listChanged": true })),
            (
                "resources".to_owned(),
                json!({ "listChanged": true, "subscribe": true }),
            ),
            ("completions".to_owned(), json!({})),
            ("logging".to_owned(), json!({})),
        ]));
        for (_, listing) in catalog
            .listings()
            .filter(|(name, _)| gateway.is_server_visible(catalog, caller, name))
        {
            let capabilities_of_server: Map<String, Value> =
                serde_json::from_str(listing.capabilities.get()).unwrap_or_default();
            for key in ["tasks", "extensions"] {
                if let Some(value) = capabilities_of_server.get(key) {
                    merge_capability(capabilities.entry(key).or_insert_with(|| json!({})), value);
                }
            }
        }
        Self {
            capabilities: Value::Object(capabilities),
            info: own_info(),
            instructions: surface_instructions(gateway, catalog, caller, surface),
        }
    }

    fn for_server(listing: &Listing) -> Self {
        let capabilities = serde_json::from_str(listing.capabilities.get()).unwrap_or_default();
        Self {
            capabilities: Value::Object(add_bridged_capabilities(capabilities)),
            info: listing.server_info.clone().unwrap_or_else(own_info),
            instructions: listing.instructions.clone(),
        }
    }
}

/// Adds the capabilities that the gateway implements regardless of the server's era: it forwards
/// log messages and watches resources in the server's protocol.
fn add_bridged_capabilities(mut capabilities: Map<String, Value>) -> Map<String, Value> {
    capabilities.entry("logging").or_insert_with(|| json!({}));
    capabilities
}

/// The gateway supports the capabilities of all servers.
fn merge_capability(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(key) {
                    Some(known) => merge_capability(known, value),
                    None => drop(into.insert(key.clone(), value.clone())),
                }
            }
        }
        (into @ Value::Bool(false), Value::Bool(true)) => *into = Value::Bool(true),
        _ => {}
    }
}

pub(super) fn own_info() -> Raw {
    raw(&json!({ "name": "kitbag", "title": "Kitbag", "version": env!("CARGO_PKG_VERSION") }))
}
