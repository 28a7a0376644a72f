//! Reads, checks, shows and edits the configuration.
//!
//! [`Config`] is the value that the program runs on: typed, complete, built once for each reading.
//!
//! # Layout
//! - `load`: finds the configuration, and lays the environment and flags over it
//! - `project`: the servers a project brings along; `trust`: the projects that the person trusts
//! - `sections`: one file for each section, with a row for each key; `rows`: the facts of a row
//! - `raw`: the file as people write it; `keys`: refuses unknown keys
//! - `build`: turns the file into [`Config`]; `values`: reads single values
//! - `changes`: compares two readings of the configuration
//! - `error`: the possible errors, each with a remedy
//! - [`show`]: the configuration in force, with the origin of each value
//! - [`edit`]: adds and removes servers, and keeps comments and order

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
use std::path::PathBuf;

use kitbag_clients::Client;
use kitbag_domain::ServerName;
use kitbag_policy::Policy;
use kitbag_upstream::ServerSpec;
use url::Url;

pub use changes::{changed_sections, keys_needing_restart};
pub use edit_log::{Edit, take_edits};
pub use error::{ConfigError, ConfigLocation, Problem};
pub use load::{ConfigSource, Environment, Overrides, parse};
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
    /// The directory of everything that Kitbag writes for itself.
    pub data_dir: PathBuf,
    pub store: StoreLocation,
    /// The place of the key that encrypts secrets, unless the environment holds that key.
    pub secret_key: KeyLocation,
    pub audit: Audit,
    pub priors: PriorsSettings,
    pub learning: LearningSettings,
    pub embedder: Embedder,
    /// The built-in server, unless it is switched off.
    pub agents: Option<Agents>,
    /// The facts declared about single tools, by the name that clients use for the tool.
    pub tools: BTreeMap<String, ToolOverride>,
    /// The tool files in force.
    pub catalog: CatalogSettings,
    /// The definitions of other people's tools and prompts that were approved.
    pub lock: Lock,
    pub context: ContextSettings,
    /// The reader and the browser for pages of the web.
    pub web: WebSettings,
    pub surfaces: Surfaces,
    pub code: Code,
    pub models: Models,
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

impl Config {
    /// Returns the text that tells this configuration from others over the same store: the paths of
    /// the files that it comes from.
    pub fn identity(&self) -> String {
        let project = match &self.project {
            Project::Active { path, .. } => Some(path),
            _ => None,
        };
        let files = self.origin.iter().chain(project);
        files
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" + ")
    }

    /// The file that keeps the output of a server other than its answers.
    pub fn server_log_path(&self, server: &ServerName) -> PathBuf {
        self.data_dir.join("logs").join(format!("{server}.log"))
    }

    /// Returns the servers that run: the configured ones and the built-in one.
    pub fn running_servers(&self) -> impl Iterator<Item = &ServerSpec> {
        self.servers
            .values()
            .chain(self.agents.iter().map(|agents| &agents.spec))
    }

    /// Returns the server of that name, whether it is enabled, disabled or built in.
    pub fn find_server(&self, name: &ServerName) -> Option<&ServerSpec> {
        let mut all = self.running_servers().chain(self.disabled.values());
        all.find(|spec| spec.name == *name)
    }
}
