//! Configuration errors. Each says what is wrong, where, and how to fix it.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use kitbag_domain::toml_problem::line_number;
use kitbag_domain::{Remedy, ServerName, ServerNameError, TenantError, TomlProblem};
use kitbag_policy::{NetworkError, PatternError};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("no configuration file at {}", path.display())]
    Missing { path: PathBuf },
    #[error("cannot read the configuration file {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{location}: {problem}")]
    Invalid {
        location: ConfigLocation,
        problem: Box<Problem>,
    },
    #[error("no directory for Kitbag's files: neither XDG_DATA_HOME nor HOME is set")]
    NoHome,
}

/// The file, line and key of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigLocation {
    pub file: Option<PathBuf>,
    pub line: usize,
    /// The key with its tables: `servers.git.command`. Empty for the whole file.
    pub key: String,
}

/// Messages quote only names and a few harmless settings, because other values may be secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Toml(#[from] TomlProblem),
    #[error(transparent)]
    ServerName(#[from] ServerNameError),
    #[error(transparent)]
    Tenant(#[from] TenantError),
    #[error("{reason}")]
    ToolId { reason: String },
    #[error("`unknown` is not a tenant name: it is the setting for tenants without a table")]
    ReservedTenant,
    #[error("`{found}` is not a valid listen address")]
    Bind { found: String },
    #[error("`{found}` is not a valid origin")]
    Origin { found: String },
    #[error("not a URL: {reason}")]
    Url { reason: String },
    #[error("unsupported URL scheme `{scheme}:`")]
    Scheme { scheme: String },
    #[error("the command is empty")]
    EmptyCommand,
    #[error("`{name}` is not a valid environment variable name")]
    VariableName { name: String },
    #[error("both `command` and `url` are set")]
    CommandAndUrl,
    #[error("neither `command` nor `url` is set")]
    NeitherCommandNorUrl,
    #[error("`{key}` does not apply to {kind}")]
    Foreign {
        key: &'static str,
        kind: &'static str,
    },
    #[error("both `directory` and `endpoint` are set")]
    DirectoryAndEndpoint,
    #[error("neither `directory` nor `endpoint` is set")]
    NeitherDirectoryNorEndpoint,
    #[error("`endpoint` is set but `model` is not")]
    NoModel,
    #[error("invalid embeddings URL: {reason}")]
    EmbedderUrl { reason: String },
    #[error("expected a number between 0 and {most}, found {found}")]
    OutOfRange { found: String, most: &'static str },
    #[error("`url` is not set")]
    NoUrl,
    #[error("a server named `{name}` already exists")]
    NameTaken { name: ServerName },
    #[error("`{name}` is reserved for tools from tool files")]
    NameReserved { name: ServerName },
    #[error("not a valid tool name")]
    Alias,
    #[error("another tool is already named `{name}`")]
    AliasTaken { name: String },
    #[error("invalid API URL: {reason}")]
    ProviderUrl { reason: String },
    #[error("the header `Authorization` is already set")]
    BearerTwice,
    #[error("`client_secret` is set but `client_id` is not")]
    SecretWithoutClient,
    #[error("`client_credentials` needs a client ID and a client secret")]
    FlowWithoutSecret,
    #[error("not a valid client metadata URL")]
    ClientDocument,
    #[error("{found} is not a valid port")]
    Port { found: i64 },
    #[error("both `path` and `url` are set")]
    PathAndUrl,
    #[error("not a valid PostgreSQL URL")]
    StoreUrl,
    #[error("the store's password cannot be a secret in that store")]
    SecretOfStore,
    #[error("not a valid collector URL")]
    Collector,
    #[error("`{found}` is not a valid schedule")]
    Schedule { found: String },
    #[error("not a valid vendor URL")]
    VendorUrl,
    #[error("not a valid registry URL")]
    RegistryUrl,
    #[error("not a valid reader URL")]
    ReaderUrl,
    #[error("`reader_token` is set but `reader` is not")]
    NoReader,
    #[error("`methods` is empty, so the API could never be called")]
    NoMethods,
    #[error(transparent)]
    Network(NetworkError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(
        "`{section}` belongs in your own configuration; a project's file may only have `servers`"
    )]
    NotForProjects { section: String },
    #[error("an empty list is ambiguous: it could allow nothing or everything")]
    EmptyAllowList { key: &'static str },
}

/// A problem at a range of the text, before the file is known.
#[derive(Debug)]
pub(super) struct Fault {
    span: Range<usize>,
    key: String,
    problem: Problem,
}

impl ConfigError {
    /// Returns the suggested next step, if there is one.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => {
                Some("check the path, or omit it to use the defaults".to_owned())
            }
            Self::Unreadable { .. } => {
                Some("check that it is a text file and that you may read it".to_owned())
            }
            Self::Invalid { problem, .. } => problem.remedy(),
            Self::NoHome => Some("set a directory with --data-dir or KITBAG_DATA_DIR".to_owned()),
        }
    }
}

impl Problem {
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Toml(problem) => return problem.remedy(),
            Self::Bind { .. } => "write an address and a port, like \"127.0.0.1:7420\"".to_owned(),
            Self::Origin { .. } => "write scheme and host, like \"https://app.example\"".to_owned(),
            Self::Url { .. } | Self::Scheme { .. } => {
                "write it like \"https://host/mcp\"; to launch a program, use `command`".to_owned()
            }
            Self::CommandAndUrl => {
                "keep `command` to launch a program, or `url` to reach a running server".to_owned()
            }
            Self::EmptyCommand | Self::NeitherCommandNorUrl => {
                "set a `command` to launch, or the `url` of a running server".to_owned()
            }
            Self::Foreign { key, .. } => format!("remove `{key}`"),
            Self::DirectoryAndEndpoint => {
                "keep `directory` for a local model, or `endpoint` for a service".to_owned()
            }
            Self::NeitherDirectoryNorEndpoint => {
                "set the `directory` of a model, or the `endpoint` of a service and its `model`".to_owned()
            }
            Self::NoModel => {
                "set the model that the service should use, like \"text-embedding-3-small\"".to_owned()
            }
            Self::EmbedderUrl { .. } => {
                "write the part before `/embeddings`, like \"https://host/v1\"".to_owned()
            }
            Self::NoUrl | Self::ProviderUrl { .. } => "write it like \"https://api.example/v1\"".to_owned(),
            Self::Collector => {
                "write the part before `/v1/traces`, like \"http://127.0.0.1:4318\"".to_owned()
            }
            Self::VendorUrl => {
                "write the part before `/v1`, like \"https://api.anthropic.com\"".to_owned()
            }
            Self::PathAndUrl => {
                "keep `path` for a local file, or `url` for a PostgreSQL database".to_owned()
            }
            Self::StoreUrl => {
                "write it like \"postgres://user@host/database\"; a file goes under `path`".to_owned()
            }
            Self::SecretOfStore => {
                "use an environment variable, like ${PGPASSWORD}, or a password file (~/.pgpass)".to_owned()
            }
            Self::Schedule { .. } => {
                "write minute, hour, day, month and weekday, like \"0 3 * * *\", or \"never\"".to_owned()
            }
            Self::ReaderUrl => {
                "write the part before the page's URL, like \"https://reader.example\", and a token as \
                 `reader_token`"
                    .to_owned()
            }
            Self::NoReader => {
                "set `reader` to the service, or remove `reader_token`".to_owned()
            }
            Self::RegistryUrl => "write the part before `/v0.1/servers`, like \"https://host\"".to_owned(),
            Self::ReservedTenant => {
                "write `unknown = \"deny\"` or `unknown = \"allow\"` under [tenants], and give the tenant another \
                 name"
                    .to_owned()
            }
            Self::NameReserved { .. } => "give it another name".to_owned(),
            Self::NameTaken { .. } => "give one of the two another name".to_owned(),
            Self::Alias => {
                "write at most 50 letters, digits, `_` and `-`, without `__`".to_owned()
            }
            Self::AliasTaken { .. } => "choose another name".to_owned(),
            Self::BearerTwice => "keep one of the two".to_owned(),
            Self::SecretWithoutClient => "set `client_id` as well".to_owned(),
            Self::FlowWithoutSecret => {
                "set `client_id` and `client_secret`, like \"${secret:NAME}\"".to_owned()
            }
            Self::ClientDocument => "write it like \"https://host/client.json\"".to_owned(),
            Self::NoMethods => "remove `methods` to allow GET and HEAD, or name some".to_owned(),
            Self::Network(_) => "write it like \"10.0.0.0/8\" or \"10.1.2.3\"".to_owned(),
            Self::NotForProjects { section } => format!("remove `{section}`"),
            Self::EmptyAllowList { key } => {
                let deny = key.replace("allow", "deny");
                format!("remove `{key}` to allow everything, or write `{deny} = [\"*\"]` to allow nothing")
            }
            Self::ServerName(_)
            | Self::Tenant(_)
            | Self::ToolId { .. }
            | Self::OutOfRange { .. }
            | Self::Port { .. }
            | Self::Pattern(_)
            | Self::VariableName { .. } => return None,
        })
    }
}

impl Fault {
    pub(super) fn new(
        span: Range<usize>,
        key: impl Into<String>,
        problem: impl Into<Problem>,
    ) -> Self {
        Self {
            span,
            key: key.into(),
            problem: problem.into(),
        }
    }

    pub(super) fn into_error(self, text: &str, file: Option<&Path>) -> ConfigError {
        let line = line_number(text, self.span.start);
        let location = ConfigLocation {
            file: file.map(Path::to_owned),
            line,
            key: self.key,
        };
        ConfigError::Invalid {
            location,
            problem: Box::new(self.problem),
        }
    }
}

impl fmt::Display for ConfigLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}, ", file.display())?;
        }
        write!(f, "line {}", self.line)?;
        if self.key.is_empty() {
            Ok(())
        } else {
            write!(f, ", in `{}`", self.key)
        }
    }
}
