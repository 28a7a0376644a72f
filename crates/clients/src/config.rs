//! The content of a client's file: its servers in Kitbag's terms, and the problems found in the
//! rest.

use std::fmt;
use std::io;
use std::path::PathBuf;

use kitbag_domain::RemoteTransport;
use serde::{Serialize, Serializer};

use crate::client::{Client, Scope};
use crate::sensitive_text::SensitiveText;

/// The servers of one file, or of one project in a file.
#[derive(Debug, Serialize)]
pub struct ClientConfig {
    pub client: Client,
    pub path: PathBuf,
    /// The folder to which the client limits them, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// A file in a project may have been written by a stranger.
    #[serde(skip)]
    pub scope: Scope,
    pub servers: Vec<FoundServer>,
    /// How the client reaches Kitbag, if it does. Kitbag is not among the servers.
    #[serde(serialize_with = "serialize_presence")]
    pub kitbag: Option<ClientLaunch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FileProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundServer {
    /// The server's name in the client.
    pub name: String,
    pub launch: ClientLaunch,
    pub disabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<NeededVariable>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<ImportNote>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientLaunch {
    Stdio {
        command: SensitiveText,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<SensitiveText>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env: Vec<(String, SensitiveText)>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Http {
        url: SensitiveText,
        #[serde(serialize_with = "serialize_transport")]
        transport: RemoteTransport,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, SensitiveText)>,
    },
}

/// A variable that must have a value before the server can start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NeededVariable {
    /// `NAME`, or `secret:NAME` for a secret that goes by this name in the file.
    pub name: String,
    pub source: VariableSource,
}

/// Where the client got the value from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VariableSource {
    Environment,
    /// The client asked the user this question and stored the answer.
    Asked(String),
    /// The client's own secret storage, which Kitbag cannot open.
    Keyring,
    /// The folder that was open in the client.
    Folder,
    /// A file that could not be read.
    File(PathBuf),
    /// A kind of variable that only this client knows.
    Foreign,
}

/// A fact about a server that the user should know. It does not prevent the import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportNote {
    /// Settings that Kitbag does not use.
    NotCarried { keys: Vec<String> },
    /// The server is in a project's file and refers to files there.
    LaunchedIn { folder: String },
    /// A variable for the open folder was permanently replaced by this project's folder.
    FixedTo { folder: String },
    /// The client took variables literally; Kitbag fills them in.
    VariablesFilledIn,
    /// An address cannot begin with a variable, so the variable's default was used.
    TookDefault,
    /// Variables were read from this file.
    EnvFile { path: PathBuf },
}

/// A fault in a file, and its line. The rest of the file is still read.
#[derive(Debug)]
pub struct FileProblem {
    pub path: PathBuf,
    pub line: Option<usize>,
    pub fault: FileFault,
}

#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("the file cannot be read: {source}")]
    Unreadable { source: io::Error },
    #[error("invalid syntax: {message}")]
    Syntax { message: String },
    #[error("`{key}` is {found}, not {expected}")]
    Type {
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{server}` has neither a command nor a URL")]
    NoCommandNorAddress { server: String },
    #[error("`{server}`: `{key}` is {found}, not {expected}")]
    ServerType {
        server: String,
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{server}`: unsupported URL: {reason}")]
    Address { server: String, reason: String },
    #[error("`{server}`: unknown transport `{found}`")]
    UnknownTransport { server: String, found: String },
    #[error("`{server}` is built into the client and stays there")]
    PartOfClient { server: String },
    #[error("a server has no name")]
    Nameless,
}

/// Serializes whether Kitbag is present.
fn serialize_presence<S: Serializer>(
    kitbag: &Option<ClientLaunch>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(kitbag.is_some())
}

fn serialize_transport<S: Serializer>(
    transport: &RemoteTransport,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match transport {
        RemoteTransport::Http => "http",
        RemoteTransport::Sse => "sse",
    })
}

impl FileProblem {
    /// True if the user need not act on it.
    pub fn is_harmless(&self) -> bool {
        matches!(self.fault, FileFault::PartOfClient { .. })
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.fault)
    }
}

impl Serialize for FileProblem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCarried { keys } => write!(f, "not carried over: {}", keys.join(", ")),
            Self::LaunchedIn { folder } => write!(f, "launched in {folder}"),
            Self::FixedTo { folder } => {
                write!(f, "fixed to {folder}, whichever folder is open")
            }
            Self::VariablesFilledIn => {
                f.write_str("variables will be filled in; the client took them literally")
            }
            Self::TookDefault => f.write_str("used the default of the variable in its URL"),
            Self::EnvFile { path } => write!(f, "variables read from {}", path.display()),
        }
    }
}

impl Serialize for ImportNote {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
