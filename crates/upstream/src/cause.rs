//! Why a server cannot be used, as far as it is something we have met before.
//!
//! What a person can do about each is in `remedy`; how the words of a dying server lead to one is
//! in `recognise`.

use std::path::{Path, PathBuf};

use kitbag_domain::{Launch, Template};
use serde::Serialize;

use crate::programs;
use crate::spec::ServerSpec;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Cause {
    #[error("it needs the variable `{variable}`")]
    MissingVariable { variable: String },
    #[error("it needs Node.js {needs} or later{}", aside(found.as_deref().map(|it| format!("found {it}"))))]
    OldNode { found: Option<String>, needs: u32 },
    #[error("it was written for the `mcp` library before version 2, and runs with a later one")]
    NewMcpLibrary,
    #[error("it was written for an older `pydantic` than the one it runs with")]
    NewPydantic,
    #[error("a part of it is not installed{}", aside(module.clone()))]
    MissingModule { module: Option<String> },
    #[error("it needs a file or folder that is not there: {path}")]
    MissingFile { path: String },
    #[error("there is no such package{}", aside(package.clone()))]
    NoSuchPackage { package: Option<String> },
    #[error("the package has no program of that name{}", aside(package.clone()))]
    NotAProgram { package: Option<String> },
    #[error("there is no program `{command}`{}", if programs::is_path(command) { "" } else { " on the PATH of this process" })]
    NotFound { command: String },
    #[error("`{}` may not be executed", path.display())]
    NotExecutable { path: PathBuf },
    #[error("`{}` is a script for `{interpreter}`, which is not there", script.display())]
    NoInterpreter {
        script: PathBuf,
        interpreter: String,
    },
    #[error("the folder to launch it in is not there: {}", path.display())]
    NoFolder { path: PathBuf },
    #[error("it does not take the arguments it was given{}", aside(said.clone()))]
    WrongArguments { said: Option<String> },
    #[error("it cannot reach the network{}", aside(host.clone()))]
    NoNetwork { host: Option<String> },
    #[error("it does not trust the certificate of whom it talks to")]
    Untrusted,
    #[error("it needs a service that is not running{}", aside(address.clone()))]
    ServiceDown { address: Option<String> },
    #[error("another process uses the port it wants{}", aside(port.map(|it| it.to_string())))]
    PortTaken { port: Option<u16> },
    #[error("it may not use a file or folder{}", aside(path.clone()))]
    Forbidden { path: Option<String> },
    #[error("the key or password it was given is not accepted")]
    BadCredentials,
    #[error("somebody has to log in there")]
    LoginNeeded,
    #[error("it waits for somebody to log in, in a way of its own")]
    OwnLogin { url: Option<String> },
    #[error("it serves HTTP and not stdin and stdout{}", aside(url.clone()))]
    ServesHttp { url: Option<String> },
    #[error("what runs or answers there is not an MCP server")]
    NotMcp,
    #[error("it runs and says nothing")]
    Silent,
    #[error("it ended by itself without a complaint, as packages do that have moved elsewhere")]
    Retired,
    #[error("nobody answers at its address")]
    Unreachable,
}

/// A cause together with what helps in the case of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnosis {
    pub cause: Cause,
    pub remedy: String,
}

impl Diagnosis {
    pub fn of(cause: Cause, spec: &ServerSpec) -> Self {
        let remedy = cause.remedy(spec);
        Self { cause, remedy }
    }

    /// From the last words of a server that was running. What only keeps servers from starting is
    /// none of its troubles, though it may have mentioned it when it started.
    pub(crate) fn of_death(words: &str, spec: &ServerSpec) -> Option<Self> {
        let at_start = |cause: &Cause| {
            matches!(
                cause,
                Cause::Retired
                    | Cause::ServesHttp { .. }
                    | Cause::OwnLogin { .. }
                    | Cause::WrongArguments { .. }
            )
        };
        Self::from_words(words, spec).filter(|diagnosis| !at_start(&diagnosis.cause))
    }

    /// From what a server wrote before it failed.
    pub fn from_words(words: &str, spec: &ServerSpec) -> Option<Self> {
        Cause::recognise(words).map(|cause| Self::of(cause, spec))
    }
}

impl Cause {
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
            true if !path.exists() => Some(Self::no_program(command)),
            true if !programs::is_program(path) => Some(Self::NotExecutable {
                path: path.to_owned(),
            }),
            false if programs::on_path(command).is_none() => Some(Self::no_program(command)),
            _ => None,
        }
    }

    fn no_program(command: &str) -> Self {
        Self::NotFound {
            command: command.to_owned(),
        }
    }
}

fn aside(text: Option<String>) -> String {
    text.map(|text| format!(" ({text})")).unwrap_or_default()
}
