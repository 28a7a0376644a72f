//! Reads, checks, shows and edits the configuration.
//!
//! [`Config`] is what the program runs on: typed, complete, built once for each reading.
//!
//! # Layout
//! - `load`: where a configuration is found, and what lies over it
//! - `project`: the servers a project brings along; `trust`: the projects that the person trusts
//! - `raw`: what people write into the file; `keys`: which keys there are
//! - `build`, `server`, `agents`, `oauth`, `provider`, `index`, `surfaces`: from what people write to what the program runs on
//! - `error`: what can be wrong, and what to do about it
//! - [`show`]: the configuration in force, with where each value comes from
//! - [`edit`]: adding and removing servers, with comments and order kept

mod agents;
#[cfg(test)]
mod anything;
mod build;
pub mod edit;
mod edit_log;
mod error;
mod index;
mod keys;
mod load;
mod oauth;
mod project;
mod provider;
mod raw;
#[cfg(test)]
mod reference;
mod server;
pub mod show;
mod surfaces;
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

pub use agents::Agents;
pub use build::{parse_bind, parse_registry};
pub use edit_log::{Edit, take_edits};
pub use error::{ConfigError, Place, Problem};
pub use index::{DeclaredTool, Embedder, EmbeddingsEndpoint, ModelDirectory, Prefixes};
pub use keys::nearest;
pub use load::{Overrides, Surroundings, Whereabouts, parse};
pub use project::{LeftOut, Obstacle, Project, ProjectFile, granting, wanted};
pub use provider::ProviderConfig;
pub use surfaces::Surfaces;
pub use trust::{Trust, TrustError, TrustFile, create_private};

#[derive(Debug, Clone)]
pub struct Config {
    pub serve: Serve,
    /// Where everything lives that Kitbag writes for itself.
    pub data_dir: PathBuf,
    pub store_path: PathBuf,
    /// Where the key is that secrets are encrypted under, unless the environment holds it.
    pub secret_key: KeyPlace,
    pub audit: Audit,
    pub embedder: Embedder,
    /// The built-in server, unless it is switched off.
    pub agents: Option<Agents>,
    /// What is declared of single tools, by the name clients call them.
    pub tools: BTreeMap<String, DeclaredTool>,
    pub surfaces: Surfaces,
    pub telemetry: Telemetry,
    /// Where `kitbag servers find` looks.
    pub registry: Url,
    pub policy: Policy,
    pub servers: BTreeMap<ServerName, ServerSpec>,
    /// Configured, but switched off with `enabled = false`.
    pub disabled: BTreeMap<ServerName, ServerSpec>,
    pub providers: BTreeMap<ServerName, ProviderConfig>,
    /// Clients whose new servers are taken over while the gateway runs.
    pub follow: Vec<Client>,
    /// The file it was read from; absent when it is all defaults.
    pub origin: Option<PathBuf>,
    /// The file of the project in the current directory.
    pub project: Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPlace {
    /// A file beside the database.
    #[default]
    File,
    /// The keyring of the operating system.
    Keyring,
    /// Nowhere but in the environment.
    Env,
}

/// How figures leave the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Telemetry {
    /// The collector of OpenTelemetry that figures and spans are sent to.
    pub collector: Option<Url>,
    /// Whether every tool has series of its own. They grow with tenants times tools: 500 tools used by
    /// 20 tenants are some 160,000 series, more than most who watch would store for it.
    pub per_tool: bool,
}

/// The record of what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    /// How long it is kept.
    pub keep: Duration,
    /// Whether a call that cannot be recorded is refused.
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
    /// Whether each HTTP request leaves a line in the log.
    pub access_log: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("listening on {bind} would let anyone who reaches this machine use your tools")]
pub struct OpenDoor {
    pub bind: SocketAddr,
}

impl Config {
    /// What tells this configuration from others over the same store: the files it comes from.
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

    /// Where what a server says beside its answers is kept.
    pub fn server_log(&self, server: &ServerName) -> PathBuf {
        self.data_dir.join("logs").join(format!("{server}.log"))
    }

    /// Those that run: the ones somebody configured, and what is built in.
    pub fn running(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers
            .values()
            .chain(self.agents.iter().map(|agents| &agents.spec))
    }

    /// Enabled or not, or built in.
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
    /// Whether somebody on this machine needs no key. A gateway that others can reach,
    /// directly or through a proxy that gives it another name, cannot tell who is local.
    pub fn keyless(&self) -> bool {
        !self.require_key && self.bind.ip().is_loopback() && self.allowed_hosts.is_empty()
    }

    /// Beyond loopback, a key is all that stands between a stranger and the tools.
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
