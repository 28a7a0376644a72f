//! The connection settings and limits of a server.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use kitbag_domain::{Launch, Lookup, MissingVariable, Reach, RemoteEndpoint, ServerName, Template};
use kitbag_wire::Era;
use url::Url;

use crate::oauth;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec {
    pub name: ServerName,
    pub kind: ServerKind,
    /// The operator's description of its purpose.
    pub description: Option<String>,
    /// The settings for logging in at a remote server.
    pub oauth: oauth::Settings,
    /// Set when the operator knows better than the probe.
    pub era: Option<Era>,
    pub limits: ServerLimits,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerKind {
    External(Reach<Template>),
    /// A server in this process. The version changes whenever its tools may have changed.
    BuiltIn {
        version: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLimits {
    /// From launch to a usable connection.
    pub start_timeout: Duration,
    /// The timeout of a call without progress; progress restarts it.
    pub call_timeout: Duration,
    /// The timeout of a whole call, with or without progress.
    pub call_deadline: Duration,
    /// After this long without a call, the connection is closed and the child stopped.
    pub idle_timeout: Duration,
    pub max_concurrent: usize,
    /// Calls that may wait for a free slot; further calls are rejected.
    pub max_queued: usize,
    pub max_message_bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            // The first start of `npx` or `uvx` downloads the package.
            start_timeout: Duration::from_secs(60),
            call_timeout: Duration::from_secs(120),
            call_deadline: Duration::from_secs(3600),
            idle_timeout: Duration::from_secs(600),
            max_concurrent: 64,
            max_queued: 256,
            // Screenshots and file contents travel as base64 inside a message.
            max_message_bytes: 16 * 1024 * 1024,
        }
    }
}

impl ServerSpec {
    /// Returns how the server is launched, if it is.
    pub fn launch(&self) -> Option<&Launch<Template>> {
        match &self.kind {
            ServerKind::External(Reach::Command(launch)) => Some(launch),
            ServerKind::External(Reach::Remote(_)) | ServerKind::BuiltIn { .. } => None,
        }
    }

    /// Returns the endpoint of a remote server.
    pub fn endpoint(&self) -> Option<&RemoteEndpoint<Template>> {
        match &self.kind {
            ServerKind::External(Reach::Remote(endpoint)) => Some(endpoint),
            ServerKind::External(Reach::Command(_)) | ServerKind::BuiltIn { .. } => None,
        }
    }

    pub fn is_built_in(&self) -> bool {
        matches!(self.kind, ServerKind::BuiltIn { .. })
    }

    /// Returns its environment variables or headers, as configured.
    pub fn named_values(&self) -> &[(String, Template)] {
        match &self.kind {
            ServerKind::External(reach) => reach.named_values(),
            ServerKind::BuiltIn { .. } => &[],
        }
    }

    /// Returns a text that changes with everything that could change the server's tools.
    pub fn fingerprint(&self) -> String {
        let text = match &self.kind {
            ServerKind::External(Reach::Command(launch)) => launch_fingerprint(launch),
            ServerKind::External(Reach::Remote(endpoint)) => self.endpoint_fingerprint(endpoint),
            ServerKind::BuiltIn { version } => format!("inside {version}"),
        };
        blake3::hash(format!("{text} {:?}", self.era).as_bytes()).to_hex()[..32].to_owned()
    }

    fn endpoint_fingerprint(&self, endpoint: &RemoteEndpoint<Template>) -> String {
        let headers = source_pairs(&endpoint.headers);
        let client = self.oauth.client_id.as_deref().unwrap_or_default();
        let kind = endpoint.transport.as_str();
        format!("{kind} {} {headers:?}{client}", encode_url(&endpoint.url))
    }

    /// Returns the missing variables without which it cannot be reached.
    pub fn missing_variables(&self, lookup: &Lookup) -> Vec<MissingVariable> {
        let mut missing = Vec::new();
        for template in self.templates() {
            if let Err(variable) = template.resolve(|name| lookup(name))
                && !missing.contains(&variable)
            {
                missing.push(variable);
            }
        }
        missing
    }

    /// Returns every text that has variables to expand before it can be reached.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let (first, args): (_, &[Template]) = match &self.kind {
            ServerKind::External(Reach::Command(launch)) => (Some(&launch.command), &launch.args),
            ServerKind::External(Reach::Remote(endpoint)) => (Some(&endpoint.url), &[]),
            ServerKind::BuiltIn { .. } => (None, &[]),
        };
        let values = self.named_values().iter().map(|(_, value)| value);
        first.into_iter().chain(args).chain(values)
    }

    /// Returns the names of all its variables, with `secret:` before the names of secrets.
    pub fn variables(&self) -> BTreeSet<String> {
        self.templates_and_login()
            .flat_map(Template::variables)
            .map(str::to_owned)
            .collect()
    }

    /// Returns every text that may contain a variable, including the secret that only a login
    /// needs.
    pub fn templates_and_login(&self) -> impl Iterator<Item = &Template> {
        self.templates().chain(&self.oauth.client_secret)
    }

    /// Returns the package or script that a runner such as `npx` runs. It is the only argument that
    /// is never a secret.
    pub fn package(&self) -> Option<&str> {
        self.launch().and_then(find_package)
    }
}

fn find_package(launch: &Launch<Template>) -> Option<&str> {
    const RUNNERS: [&str; 8] = [
        "npx", "bunx", "pnpx", "uvx", "node", "bun", "python", "python3",
    ];
    const FLAGS_BEFORE_IT: [&str; 3] = ["-y", "--yes", "-m"];
    let command = launch.command.source();
    let runner = command.rsplit('/').next().unwrap_or_default();
    let mut words = launch.args.iter().map(Template::source);
    let first = words.find(|word| !FLAGS_BEFORE_IT.contains(word))?;
    (RUNNERS.contains(&runner) && !first.starts_with('-')).then_some(first)
}

fn launch_fingerprint(launch: &Launch<Template>) -> String {
    let command = launch.command.source();
    let args: Vec<_> = launch.args.iter().map(Template::source).collect();
    let env = source_pairs(&launch.env);
    format!("stdio {command:?} {args:?} {env:?} {:?}", launch.cwd)
}

fn source_pairs(values: &[(String, Template)]) -> Vec<(&str, &str)> {
    values
        .iter()
        .map(|(name, value)| (name.as_str(), value.source()))
        .collect()
}

/// Returns the URL in its encoded form, with the braces of its variables encoded.
fn encode_url(url: &Template) -> Cow<'_, str> {
    Url::parse(url.source()).map_or(Cow::Borrowed(url.source()), |url| {
        Cow::Owned(url.to_string())
    })
}
