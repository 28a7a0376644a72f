//! Reports about a gateway, its servers, and a call in progress.

use std::net::SocketAddr;
use std::time::Duration;

use kitbag_domain::{ServerName, Timestamp, WriteClass};
use kitbag_upstream::{Listing, Server};
use kitbag_wire::{Era, RawObject};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::catalog::catalog_entry::ToolEffect;

#[derive(Debug, Serialize, Deserialize)]
pub struct ServerReport {
    pub era: Era,
    pub version: String,
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    /// The tools without effect hints, and how many of them are assumed to only read.
    #[serde(default)]
    pub unannotated: usize,
    #[serde(default)]
    pub taken_to_read: usize,
    #[serde(
        rename = "took_ms",
        serialize_with = "to_milliseconds",
        deserialize_with = "from_milliseconds"
    )]
    pub took: Duration,
    pub problems: Vec<String>,
}

/// The progress that a server reports for a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallProgress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// A gateway's status.
#[derive(Debug, Serialize, Deserialize)]
pub struct Status {
    pub pid: u32,
    pub version: String,
    /// The address on which the gateway serves HTTP.
    pub address: Option<SocketAddr>,
    pub since: Timestamp,
    pub servers: Vec<ServerStatus>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct ServerStatus {
    pub name: ServerName,
    pub running: bool,
    /// The number of tools in the server's last listing.
    pub tools: usize,
}

impl ServerReport {
    pub(super) fn new(server: &ServerName, listing: &Listing, took: Duration) -> Self {
        let effects = listing.tools.iter().filter_map(|definition| {
            let definition = RawObject::open(definition).ok()?;
            let name: String = definition.read("name")?;
            Some(ToolEffect::for_tool(server, &name, &definition))
        });
        let unannotated: Vec<ToolEffect> = effects.filter(|it| it.lacks_hints).collect();
        let taken_to_read = unannotated.iter().filter(|it| it.class == WriteClass::Read);
        let problems = listing.problems.iter();
        Self {
            era: listing.era,
            version: listing.version.clone(),
            tools: listing.tools.len(),
            prompts: listing.prompts.len(),
            resources: listing.resources.len() + listing.templates.len(),
            taken_to_read: taken_to_read.count(),
            unannotated: unannotated.len(),
            took,
            problems: problems
                .map(|it| format!("{}: {}", it.about, it.what))
                .collect(),
        }
    }
}

impl ServerStatus {
    pub(super) fn for_server(server: &Server) -> Self {
        Self {
            name: server.name().clone(),
            running: server.is_running(),
            tools: server.listing().map_or(0, |listing| listing.tools.len()),
        }
    }
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(Duration::from_millis(u64::deserialize(deserializer)?))
}

fn to_milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(duration.as_millis())
}
