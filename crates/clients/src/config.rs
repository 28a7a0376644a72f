//! What was found in a client's file: its servers, in our words, and what is wrong with the rest.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use crate::client::{Client, Scope};
use crate::value::Value;

/// The servers of one file, or of one project within a file.
#[derive(Debug, Serialize)]
pub struct Found {
    pub client: Client,
    pub path: PathBuf,
    /// Where alone they count, if not everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// For whom the file counts: one that lies in a project came along with it.
    #[serde(skip)]
    pub scope: Scope,
    pub servers: Vec<FoundServer>,
    /// Whether Kitbag is among them; it is not listed.
    pub kitbag: bool,
    /// How the client reaches it then.
    #[serde(skip)]
    pub door: Option<Launch>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundServer {
    /// As the client calls it.
    pub name: String,
    pub launch: Launch,
    pub disabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Launch {
    Stdio {
        command: Value,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        args: Vec<Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        env: Vec<(String, Value)>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Http {
        url: Value,
        transport: Transport,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        headers: Vec<(String, Value)>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Http,
    Sse,
}

/// A variable that must have a value before the server can start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// `NAME`, or `secret:NAME` for a secret that goes by this name in the file.
    pub name: String,
    pub source: Source,
}

/// Where the client had the value from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Environment,
    /// The client asked the person, with these words, and kept the answer for itself.
    Asked(String),
    /// The client kept it in a place of its own that we cannot open.
    Keyring,
    /// The folder that was open in the client.
    Folder,
    /// A file that could not be read.
    File(PathBuf),
    /// A kind of variable that only this client knows.
    Foreign,
}

/// Something to know about a server that is no obstacle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Settings Kitbag has no use for.
    NotCarried { keys: Vec<String> },
    /// It stands in a project and names files there.
    LaunchedIn { folder: String },
    /// A variable for the open folder has become the folder of today, wherever it is used later.
    FixedTo { folder: String },
    /// The client takes variables for plain text.
    FillsIn,
    /// An address cannot begin with a variable, so its default was taken.
    TookDefault,
    /// Variables came from a file.
    EnvFile { path: PathBuf },
}

/// What is wrong, and where. The rest of the file is read all the same.
#[derive(Debug)]
pub struct Problem {
    pub path: PathBuf,
    pub line: Option<usize>,
    pub what: Wrong,
}

#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    #[error("the file cannot be read: {source}")]
    Unreadable { source: io::Error },
    #[error("the file is misspelt: {message}")]
    Misspelt { message: String },
    #[error("`{key}` is {found}, not {expected}")]
    Type {
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{server}` has neither a command nor a URL")]
    Nowhere { server: String },
    #[error("`{server}`: `{key}` is {found}, not {expected}")]
    ServerType {
        server: String,
        key: String,
        expected: &'static str,
        found: &'static str,
    },
    #[error("`{server}`: its address is not one Kitbag can reach: {reason}")]
    Address { server: String, reason: String },
    #[error("`{server}`: `{found}` is no way to reach a server that Kitbag knows")]
    Transport { server: String, found: String },
    #[error("`{server}` is part of the client and stays there")]
    PartOfClient { server: String },
    #[error("a server has no name")]
    Nameless,
}

impl Problem {
    /// Whether nobody could do anything about it, nor need to.
    pub fn is_harmless(&self) -> bool {
        matches!(self.what, Wrong::PartOfClient { .. })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCarried { keys } => write!(f, "not carried over: {}", keys.join(", ")),
            Self::LaunchedIn { folder } => write!(f, "launched in {folder}"),
            Self::FixedTo { folder } => {
                write!(f, "fixed to {folder}, in whichever folder it is used")
            }
            Self::FillsIn => {
                f.write_str("variables will be filled in; the client took them literally")
            }
            Self::TookDefault => {
                f.write_str("the default was taken for the variable in its address")
            }
            Self::EnvFile { path } => write!(f, "variables read from {}", path.display()),
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
