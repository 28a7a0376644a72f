//! The known causes why a server cannot be used.
//!
//! The advice for each is in `advice`; `recognise` finds the cause in the last words of a server.

use std::path::{Path, PathBuf};

use kitbag_domain::{Launch, Remedy, Template};
use serde::Serialize;

use crate::programs;
use crate::spec::ServerSpec;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    #[error("it needs the variable `{variable}`")]
    MissingVariable { variable: String },
    #[error("it needs Node.js {needs} or later{}", in_parentheses(found.as_deref().map(|version| format!("found {version}"))))]
    OldNode { found: Option<String>, needs: u32 },
    #[error("it was written for the `mcp` library before version 2, and runs with a later one")]
    NewMcpLibrary,
    #[error("it was written for an older `pydantic` than the one it runs with")]
    NewPydantic,
    #[error("a part of it is not installed{}", in_parentheses(module.clone()))]
    MissingModule { module: Option<String> },
    #[error("it needs a file or folder that does not exist: {path}")]
    MissingFile { path: String },
    #[error("there is no such package{}", in_parentheses(package.clone()))]
    NoSuchPackage { package: Option<String> },
    #[error("the package has no program of that name{}", in_parentheses(package.clone()))]
    NotAProgram { package: Option<String> },
    #[error("there is no program `{command}`{}", if programs::is_path(command) { "" } else { " on the PATH of this process" })]
    NotFound { command: String },
    #[error("`{}` may not be executed", path.display())]
    NotExecutable { path: PathBuf },
    #[error("`{}` is a script for `{interpreter}`, which is not installed", script.display())]
    NoInterpreter {
        script: PathBuf,
        interpreter: String,
    },
    #[error("the folder to launch it in does not exist: {}", path.display())]
    NoFolder { path: PathBuf },
    #[error("it does not accept the arguments it was given{}", in_parentheses(said.clone()))]
    WrongArguments { said: Option<String> },
    #[error("it cannot reach the network{}", in_parentheses(host.clone()))]
    NoNetwork { host: Option<String> },
    #[error("it does not trust the certificate of the service it talks to")]
    Untrusted,
    #[error("it needs a service that is not running{}", in_parentheses(address.clone()))]
    ServiceDown { address: Option<String> },
    #[error("another process uses the port it wants{}", in_parentheses(port.map(|port| port.to_string())))]
    PortTaken { port: Option<u16> },
    #[error("it has no permission to use a file or folder{}", in_parentheses(path.clone()))]
    Forbidden { path: Option<String> },
    #[error("the key or password it was given is not accepted")]
    BadCredentials,
    #[error("a person has to log in there")]
    LoginNeeded,
    #[error("it waits for someone to log in, with its own kind of login")]
    OwnLogin { url: Option<String> },
    #[error("it serves HTTP instead of stdin and stdout{}", in_parentheses(url.clone()))]
    ServesHttp { url: Option<String> },
    #[error("the program or service there is not an MCP server")]
    NotMcp,
    #[error("it runs but prints nothing")]
    Silent,
    #[error("it exited without an error, as packages do after they have moved")]
    Retired,
    #[error("no server answers at its address")]
    Unreachable,
}

/// A cause together with the advice for one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub cause: Cause,
    pub remedy: String,
}

impl Diagnosis {
    pub fn new(cause: Cause, spec: &ServerSpec) -> Self {
        let remedy = cause.advice_for(spec);
        Self { cause, remedy }
    }

    /// Recognises the cause in the last words of a server that was running. A cause that only keeps
    /// servers from starting is left out, although the server may have mentioned it at its start.
    pub(crate) fn for_crash(words: &str, spec: &ServerSpec) -> Option<Self> {
        Self::from_output(words, spec).filter(|diagnosis| !diagnosis.cause.prevents_start_only())
    }

    /// Recognises the cause in the output of a server before it failed.
    pub fn from_output(words: &str, spec: &ServerSpec) -> Option<Self> {
        Cause::recognise(words).map(|cause| Self::new(cause, spec))
    }
}

impl Remedy for Diagnosis {
    fn remedy(&self) -> Option<String> {
        Some(self.remedy.clone())
    }
}

impl Cause {
    /// True for a cause that only keeps servers from starting.
    fn prevents_start_only(&self) -> bool {
        matches!(
            self,
            Self::Retired
                | Self::ServesHttp { .. }
                | Self::OwnLogin { .. }
                | Self::WrongArguments { .. }
        )
    }

    /// Returns the obstacle to a launch, as far as it shows without trying.
    pub fn before_launch(launch: &Launch<Template>) -> Option<Self> {
        if let Some(path) = launch.cwd.clone().filter(|folder| !folder.is_dir()) {
            return Some(Self::NoFolder { path });
        }
        let command = launch.command.source();
        let path = Path::new(command);
        match command.contains('/') {
            // Only the values that are filled in at launch say which program it is.
            _ if command.contains("${") => None,
            true if !path.exists() => Some(Self::program_not_found(command)),
            true if !programs::is_program(path) => Some(Self::NotExecutable {
                path: path.to_owned(),
            }),
            false if programs::find_on_path(command).is_none() => {
                Some(Self::program_not_found(command))
            }
            _ => None,
        }
    }

    /// True for a mistake in `command` or `cwd`, or a program that is not installed: it shows
    /// without a process.
    pub(crate) fn is_mistake(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::NotExecutable { .. }
                | Self::NoInterpreter { .. }
                | Self::NoFolder { .. }
        )
    }

    fn program_not_found(command: &str) -> Self {
        Self::NotFound {
            command: command.to_owned(),
        }
    }
}

fn in_parentheses(text: Option<String>) -> String {
    text.map(|text| format!(" ({text})")).unwrap_or_default()
}
