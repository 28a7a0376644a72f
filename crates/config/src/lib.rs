//! Reads, checks, shows and edits the configuration.
//!
//! [`Config`] is what the program uses: typed, complete, built once per read.
//!
//! # Layout
//! - `load`: finds the configuration, and applies environment and flags
//! - `project`: servers from a project's file; `trust`: trusted projects
//! - `sections`: one file per section, one row per key; `rows`: the row type
//! - `raw`: the file as written; `keys`: unknown keys
//! - `build`: converts the file to [`Config`]; `values`: parsers for single values
//! - `changes`: difference between two configurations
//! - `error`: errors and remedies
//! - [`show`]: the effective configuration, with the origin of each value
//! - [`edit`]: edits that keep comments and order

#[cfg(test)]
mod anything;
mod build;
mod changes;
pub mod edit;
mod edit_log;
mod error;
mod keys;
mod load;
mod project;
mod raw;
#[cfg(test)]
mod reference;
mod rows;
mod sections;
pub mod show;
#[cfg(test)]
mod tests;
mod trust;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kitbag_clients::Client;
use kitbag_domain::ServerName;
use kitbag_policy::Policy;
use kitbag_upstream::ServerSpec;
use url::Url;

pub use changes::{changed_sections, keys_needing_restart};
pub use edit_log::{Edit, take_edits};
pub use error::{ConfigError, ConfigLocation, Problem};
pub use load::{ConfigSource, Environment, Overrides, absolute_dir_from_env, parse};
pub use project::{Obstacle, Project, ProjectFile, SkippedServer, describe_variable, grant_flag};
pub use sections::agents::Agents;
pub use sections::audit::{ArgumentRecording, Audit};
pub use sections::catalog::{CatalogSettings, ToolEndpoint};
pub use sections::code::Code;
pub use sections::context::ContextSettings;
pub use sections::index::{Embedder, EmbeddingsEndpoint, ModelDirectory, Prefixes};
pub use sections::learning::LearningSettings;
pub use sections::lock::{Lock, LockState, OnDrift, ServerLock};
pub use sections::models::{ForeignTools, ModelVendor, Models};
pub use sections::priors::{CronSchedule, PriorsSettings};
pub use sections::provider::ProviderConfig;
pub use sections::registry::parse_registry_url;
pub use sections::secrets::KeyLocation;
pub use sections::serve::{Serve, UnprotectedBind, parse_bind};
pub use sections::store::StoreLocation;
pub use sections::surfaces::{ColdStart, Surfaces};
pub use sections::telemetry::Telemetry;
pub use sections::tools::{RESERVED as RESERVED_TOOL_NAMES, ToolOverride};
pub use sections::web::{ReaderEndpoint, WebSettings};
pub use trust::{Trust, TrustError, TrustFile, create_private_dir};

#[derive(Debug, Clone)]
pub struct Config {
    pub serve: Serve,
    /// The directory for everything Kitbag writes.
    pub data_dir: PathBuf,
    pub store: StoreLocation,
    /// Where the key that encrypts secrets is stored, unless the environment holds it.
    pub secret_key: KeyLocation,
    pub audit: Audit,
    pub priors: PriorsSettings,
    pub learning: LearningSettings,
    pub embedder: Embedder,
    /// The built-in server, unless it is disabled.
    pub agents: Option<Agents>,
    /// Overrides of single tools, by the name that clients use for the tool.
    pub tools: BTreeMap<String, ToolOverride>,
    /// The effective tool files.
    pub catalog: CatalogSettings,
    /// Approved definitions of the tools and prompts of servers.
    pub lock: Lock,
    pub context: ContextSettings,
    /// The reader and the browser for web pages.
    pub web: WebSettings,
    pub surfaces: Surfaces,
    pub code: Code,
    pub models: Models,
    pub telemetry: Telemetry,
    /// The registry that `kitbag servers find` searches.
    pub registry: Url,
    pub policy: Policy,
    pub servers: BTreeMap<ServerName, ServerSpec>,
    /// Configured servers with `enabled = false`.
    pub disabled: BTreeMap<ServerName, ServerSpec>,
    pub providers: BTreeMap<ServerName, ProviderConfig>,
    /// Clients whose new servers are imported while the gateway runs.
    pub follow: Vec<Client>,
    /// The configuration file; `None` if everything is a default.
    pub origin: Option<PathBuf>,
    /// The project file in the current directory.
    pub project: Project,
}

/// Returns the file in the data directory that receives a server's output other than its answers.
pub fn server_log_path(data_dir: &Path, server: &ServerName) -> PathBuf {
    data_dir.join("logs").join(format!("{server}.log"))
}

impl Config {
    /// Distinguishes this configuration from others that use the same store: the paths of its
    /// files.
    pub fn identity(&self) -> String {
        let files = self.origin.as_deref().into_iter();
        let files = files.chain(self.project.active_path());
        files
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" + ")
    }

    /// The file that receives the server's output other than its answers.
    pub fn server_log_path(&self, server: &ServerName) -> PathBuf {
        server_log_path(&self.data_dir, server)
    }

    /// Returns the enabled servers and the built-in one.
    pub fn running_servers(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers
            .values()
            .chain(self.agents.iter().map(|agents| &agents.spec))
    }

    /// Returns a server by name, whether enabled, disabled or built in.
    pub fn find_server(&self, name: &ServerName) -> Option<&ServerSpec> {
        let mut all = self.running_servers().chain(self.disabled.values());
        all.find(|spec| spec.name == *name)
    }
}
