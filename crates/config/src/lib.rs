//! Reads, checks, shows and edits the configuration.
//!
//! [`Config`] is the value that the program runs on: typed, complete, built once for each reading.
//!
//! # Layout
//! - `load`: finds the configuration, and lays the environment and flags over it
//! - `project`: the servers a project brings along; `trust`: the projects that the person trusts
//! - `raw`: the file as people write it; `keys`: the known keys
//! - `build`, `sections`: turn the file into [`Config`]
//! - `error`: the possible errors, each with a remedy
//! - [`show`]: the configuration in force, with the origin of each value
//! - [`edit`]: adds and removes servers, and keeps comments and order

#[cfg(test)]
mod anything;
mod build;
pub mod edit;
mod edit_log;
mod error;
mod keys;
mod load;
mod project;
mod raw;
#[cfg(test)]
mod reference;
mod sections;
pub mod show;
#[cfg(test)]
mod tests;
mod trust;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use kitbag_clients::Client;
use kitbag_domain::ServerName;
use kitbag_policy::Policy;
use kitbag_upstream::ServerSpec;
use url::Url;

pub use build::{parse_bind, parse_registry};
pub use edit_log::{Edit, take_edits};
pub use error::{ConfigError, Place, Problem};
pub use keys::nearest;
pub use load::{Overrides, Surroundings, Whereabouts, parse};
pub use project::{LeftOut, Obstacle, Project, ProjectFile, granting, wanted};
pub use sections::agents::Agents;
pub use sections::index::{DeclaredTool, Embedder, EmbeddingsEndpoint, ModelDirectory, Prefixes};
pub use sections::provider::ProviderConfig;
pub use sections::surfaces::Surfaces;
pub use trust::{Trust, TrustError, TrustFile, create_private};

#[derive(Debug, Clone)]
pub struct Config {
    pub serve: Serve,
    /// The directory of everything that Kitbag writes for itself.
    pub data_dir: PathBuf,
    pub store_path: PathBuf,
    /// The place of the key that encrypts secrets, unless the environment holds that key.
    pub secret_key: KeyPlace,
    pub audit: Audit,
    pub embedder: Embedder,
    /// The built-in server, unless it is switched off.
    pub agents: Option<Agents>,
    /// The facts declared about single tools, by the name that clients use for the tool.
    pub tools: BTreeMap<String, DeclaredTool>,
    pub surfaces: Surfaces,
    pub telemetry: Telemetry,
    /// The registry that `kitbag servers find` searches.
    pub registry: Url,
    pub policy: Policy,
    pub servers: BTreeMap<ServerName, ServerSpec>,
    /// The servers that are configured, but switched off with `enabled = false`.
    pub disabled: BTreeMap<ServerName, ServerSpec>,
    pub providers: BTreeMap<ServerName, ProviderConfig>,
    /// Clients whose new servers are taken over while the gateway runs.
    pub follow: Vec<Client>,
    /// The file that the configuration was read from; absent if everything is a default.
    pub origin: Option<PathBuf>,
    /// The file of the project in the current directory.
    pub project: Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPlace {
    /// The key is in a file beside the database.
    #[default]
    File,
    /// The key is in the keyring of the operating system.
    Keyring,
    /// The key is only in the environment.
    Env,
}

/// The way in which figures leave the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// The OpenTelemetry collector that receives figures and spans.
    pub collector: Option<Url>,
    /// True if every tool has series of its own. Their number grows with tenants times tools: 500
    /// tools used by 20 tenants are some 160,000 series, more than most operators would store.
    pub per_tool: bool,
}

/// The record of what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// The time for which a record is kept.
    pub keep: Duration,
    /// True if a call that cannot be recorded is refused.
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    pub bind: SocketAddr,
    pub require_key: bool,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    pub max_body_bytes: usize,
    pub page_size: usize,
    /// True if each HTTP request leaves a line in the log.
    pub access_log: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("listening on {bind} would let anyone who reaches this machine use your tools")]
pub struct OpenDoor {
    pub bind: SocketAddr,
}

impl Config {
    /// Returns the text that tells this configuration from others over the same store: the paths of
    /// the files that it comes from.
    pub fn identity(&self) -> String {
        let project = match &self.project {
            Project::InForce { path, .. } => Some(path),
            _ => None,
        };
        let files = self.origin.iter().chain(project);
        files
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" + ")
    }

    /// The file that keeps the output of a server other than its answers.
    pub fn server_log(&self, server: &ServerName) -> PathBuf {
        self.data_dir.join("logs").join(format!("{server}.log"))
    }

    /// Returns the servers that run: the configured ones and the built-in one.
    pub fn running(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers
            .values()
            .chain(self.agents.iter().map(|agents| &agents.spec))
    }

    /// Returns the server of that name, whether it is enabled, disabled or built in.
    pub fn server(&self, name: &ServerName) -> Option<&ServerSpec> {
        let built_in = || {
            self.agents
                .as_ref()
                .map(|agents| &agents.spec)
                .filter(|spec| spec.name == *name)
        };
        self.servers
            .get(name)
            .or_else(|| self.disabled.get(name))
            .or_else(built_in)
    }
}

impl KeyPlace {
    pub const ALL: [(&str, Self); 3] = [
        ("file", Self::File),
        ("keyring", Self::Keyring),
        ("env", Self::Env),
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Keyring => "keyring",
            Self::Env => "env",
        }
    }
}

impl Serve {
    /// True if a caller on this machine needs no key. A gateway that other machines can reach,
    /// directly or through a proxy that gives it another name, cannot tell which caller is local.
    pub fn keyless(&self) -> bool {
        !self.require_key && self.bind.ip().is_loopback() && self.allowed_hosts.is_empty()
    }

    /// Refuses to listen beyond loopback without a key, since only a key keeps strangers from the
    /// tools.
    pub fn guarded(&self) -> Result<(), OpenDoor> {
        if self.require_key || self.bind.ip().is_loopback() {
            Ok(())
        } else {
            Err(OpenDoor { bind: self.bind })
        }
    }
}

impl OpenDoor {
    pub const REMEDY: &str = "create a key with `kitbag key create` and start with --require-key \
         (or `require_key = true` under [serve]), or listen on 127.0.0.1";
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 7420)),
            require_key: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body_bytes: 4 * 1024 * 1024,
            page_size: 1000,
            access_log: false,
        }
    }
}
