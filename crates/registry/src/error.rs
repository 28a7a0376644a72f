//! The errors of requests to the registry.

use std::time::Duration;

use kitbag_domain::Remedy;

use crate::name::EntryName;

#[derive(Debug, Clone, thiserror::Error)]
pub enum RegistryError {
    #[error("the registry {url} cannot be reached: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("the registry {url} did not answer within {} seconds", after.as_secs())]
    TimedOut { url: String, after: Duration },
    #[error("the registry {url} has no server `{name}`")]
    NoSuchServer {
        url: String,
        name: String,
        near: Vec<EntryName>,
    },
    #[error("the registry {url} has no version `{version}` of `{name}`")]
    NoSuchVersion {
        url: String,
        name: EntryName,
        version: String,
    },
    #[error("the registry {url} is rate limiting requests (429)")]
    Busy {
        url: String,
        again_after: Option<Duration>,
    },
    #[error("the registry {url} answered {status}{message}")]
    Refused {
        url: String,
        status: u16,
        message: String,
    },
    #[error("the registry {url} sent an unexpected response: {reason}")]
    Unreadable { url: String, reason: String },
}

impl Remedy for RegistryError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Unreachable { .. } => format!("check the network, or {ANOTHER}"),
            Self::TimedOut { .. } => format!("try again in a while, or {ANOTHER}"),
            Self::NoSuchServer { near, name, .. } => suggest_commands(name, near),
            Self::NoSuchVersion { name, .. } => {
                format!("add the latest version: kitbag servers add {name}")
            }
            Self::Busy {
                again_after: Some(after),
                ..
            } => {
                format!("try again in {} seconds", after.as_secs().max(1))
            }
            Self::Busy {
                again_after: None, ..
            } => "try again in a minute".to_owned(),
            Self::Refused { status: 500.., .. } => format!("try again in a while, or {ANOTHER}"),
            Self::Refused { .. } | Self::Unreadable { .. } => {
                "check `url` under [registry]: it should be the part before `/v0.1/servers`"
                    .to_owned()
            }
        })
    }
}

fn suggest_commands(name: &str, near: &[EntryName]) -> String {
    if near.is_empty() {
        let short = name.rsplit('/').next().unwrap_or(name);
        return format!("search for it: kitbag servers find {short}");
    }
    let commands = near.iter().map(|name| format!("kitbag servers add {name}"));
    let commands: Vec<_> = commands.collect();
    format!("did you mean one of these?\n{}", commands.join("\n"))
}

const ANOTHER: &str = "use another registry with --registry-url or `url` under [registry]";
