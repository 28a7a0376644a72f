//! The known causes why a server cannot be used.
//!
//! The advice for each is in `advice`; `recognize` finds the cause in the server's last output.

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
    #[error("no such package{}", in_parentheses(package.clone()))]
    NoSuchPackage { package: Option<String> },
    #[error("the package has no program with that name{}", in_parentheses(package.clone()))]
    NotAProgram { package: Option<String> },
    #[error("program `{command}` not found{}", if programs::is_path(command) { "" } else { " on the PATH of this process" })]
    NotFound { command: String },
    #[error("`{}` is not executable", path.display())]
    NotExecutable { path: PathBuf },
    #[error("`{}` is a script for `{interpreter}`, which is not installed", script.display())]
    NoInterpreter {
        script: PathBuf,
        interpreter: String,
    },
    #[error("its working directory does not exist: {}", path.display())]
    NoFolder { path: PathBuf },
    #[error("it rejected its arguments{}", in_parentheses(said.clone()))]
    WrongArguments { said: Option<String> },
    #[error("it cannot reach the network{}", in_parentheses(host.clone()))]
    NoNetwork { host: Option<String> },
    #[error("it does not trust the certificate of the service it talks to")]
    Untrusted,
    #[error("it needs a service that is not running{}", in_parentheses(address.clone()))]
    ServiceDown { address: Option<String> },
    #[error("its port is already in use{}", in_parentheses(port.map(|port| port.to_string())))]
    PortTaken { port: Option<u16> },
    #[error("it has no permission to use a file or folder{}", in_parentheses(path.clone()))]
    Forbidden { path: Option<String> },
    #[error("its key or password was rejected")]
    BadCredentials,
    #[error("it requires a login")]
    LoginNeeded,
    #[error("it is waiting for a login of its own")]
    OwnLogin { url: Option<String> },
    #[error("it serves HTTP instead of stdin and stdout{}", in_parentheses(url.clone()))]
    ServesHttp { url: Option<String> },
    #[error("it is not an MCP server")]
    NotMcp,
    #[error("it runs but prints nothing")]
    Silent,
    #[error("it exited without an error, as packages that have moved often do")]
    Retired,
    #[error("no server answers at its address")]
    Unreachable,
}

/// A cause with the advice for one server.
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

    /// Recognizes the cause in the last output of a running server. Causes that only prevent a
    /// start are skipped, although the server may have printed them at its start.
    pub(crate) fn for_crash(output: &str, spec: &ServerSpec) -> Option<Self> {
        Self::from_output(output, spec).filter(|diagnosis| !diagnosis.cause.prevents_start_only())
    }

    /// Recognizes the cause in the output of a server before it failed.
    pub fn from_output(output: &str, spec: &ServerSpec) -> Option<Self> {
        Cause::recognize(output).map(|cause| Self::new(cause, spec))
    }
}

impl Remedy for Diagnosis {
    fn remedy(&self) -> Option<String> {
        Some(self.remedy.clone())
    }
}

impl Cause {
    /// True for a cause that only prevents a start.
    fn prevents_start_only(&self) -> bool {
        matches!(
            self,
            Self::Retired
                | Self::ServesHttp { .. }
                | Self::OwnLogin { .. }
                | Self::WrongArguments { .. }
        )
    }

    /// Returns the obstacle to a launch, if it can be seen without trying.
    pub fn before_launch(launch: &Launch<Template>) -> Option<Self> {
        if let Some(path) = launch.cwd.clone().filter(|folder| !folder.is_dir()) {
            return Some(Self::NoFolder { path });
        }
        let command = launch.command.source();
        let path = Path::new(command);
        match command.contains('/') {
            // The program is known only once the variables are filled in at launch.
            _ if command.contains("${") => None,
            true if !path.exists() => Some(Self::program_not_found(command)),
            true if !programs::is_program(path) => Some(Self::NotExecutable {
                path: path.to_owned(),
            }),
            false if programs::find_program(command).is_none() => {
                Some(Self::program_not_found(command))
            }
            _ => None,
        }
    }

    /// True for a mistake in `command` or `cwd`, or a missing program: it can be found without
    /// launching.
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
