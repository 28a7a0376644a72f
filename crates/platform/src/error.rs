//! The errors of actions: a code for programs, a message and a remedy.

use kitbag_domain::Remedy;
use kitbag_web::{BrowserError, PageError};

use crate::{browser, web_fetch};

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error("`{tool}` has no action `{action}`")]
    UnknownAction { tool: String, action: String },
    #[error("invalid arguments: {reason}")]
    Arguments { reason: String },
    #[error("no value is stored under the key `{key}`")]
    NoValue { key: String },
    #[error("the key `{key}` has version {found}, not {wanted}: it changed since it was read")]
    OtherVersion {
        key: String,
        wanted: i64,
        found: i64,
    },
    #[error("the value has {bytes} bytes as JSON; the limit is {most}")]
    ValueTooLarge { bytes: usize, most: usize },
    #[error("this tenant has reached its limit of {most} keys")]
    TooManyKeys { most: i64 },
    #[error("this tenant would exceed its limit of {most} bytes")]
    TooManyBytes { most: i64 },
    #[error("this tenant has reached its limit of {most} unresolved reports")]
    TooManyReports { most: i64 },
    #[error("the context plane is not enabled on this gateway")]
    NoContextPlane,
    #[error("no fact says anything about `{predicate}` of `{subject}`")]
    NoFact { subject: String, predicate: String },
    #[error("no ideal customer profile is valid today")]
    NoIcpProfile,
    #[error("invalid data file: {reason}")]
    DataFile { reason: String },
    #[error("there is no ideal customer profile `{wanted}`")]
    UnknownIcpProfile { wanted: String, known: Vec<String> },
    #[error("there are several ideal customer profiles; `profile` is missing")]
    WhichIcpProfile { known: Vec<String> },
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Browser(BrowserError),
    #[error("the browser that the configuration names does not exist")]
    NoBrowser { advice: String },
    #[error("the browser could not be started")]
    BrowserNotStarted { advice: String },
    #[error("the configured certificate authorities cannot be used")]
    NoWebPages,
    /// Only the log has the reason, which is for the operator.
    #[error("the store is unavailable at the moment")]
    Store,
}

impl PlatformError {
    /// Returns the error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownAction { .. } => "UNKNOWN_ACTION",
            Self::Arguments { .. } | Self::WhichIcpProfile { .. } => "INVALID_ARGUMENTS",
            Self::NoValue { .. } | Self::NoFact { .. } | Self::UnknownIcpProfile { .. } => {
                "NOT_FOUND"
            }
            Self::OtherVersion { .. } => "CONFLICT",
            Self::ValueTooLarge { .. } => "TOO_LARGE",
            Self::TooManyKeys { .. } | Self::TooManyBytes { .. } | Self::TooManyReports { .. } => {
                "LIMIT_REACHED"
            }
            Self::NoContextPlane => "CONTEXT_PLANE_UNAVAILABLE",
            Self::NoIcpProfile | Self::NoBrowser { .. } => "CONFIG_MISSING",
            Self::DataFile { .. } | Self::NoWebPages => "CONFIG_INVALID",
            Self::Page(error) => web_fetch::error_code(error),
            Self::Browser(error) => browser::error_code(error),
            Self::BrowserNotStarted { .. } => "BROWSER_FAILED",
            Self::Store => "STORE_UNAVAILABLE",
        }
    }
}

impl Remedy for PlatformError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Page(error) => return error.remedy(),
            Self::Browser(error) => return error.remedy(),
            Self::NoBrowser { advice } | Self::BrowserNotStarted { advice } => advice.clone(),
            Self::NoWebPages => {
                "ask the operator to correct the file that `certificate_authorities` under [web] names; the reason is in the \
                 gateway's log"
                    .to_owned()
            }
            Self::UnknownAction { .. } | Self::Arguments { .. } => {
                "read the schema of the tool, and call it again".to_owned()
            }
            Self::NoValue { .. } => "list the keys with the action `list`".to_owned(),
            Self::OtherVersion { found: 0, .. } => {
                "the key does not exist: write it with `if_version` 0 or without `if_version`".to_owned()
            }
            Self::OtherVersion { .. } => {
                "read the key again, apply the change to that value, and write with its version"
                    .to_owned()
            }
            Self::ValueTooLarge { .. } => {
                "store less, or split the value over several keys".to_owned()
            }
            Self::TooManyKeys { .. } | Self::TooManyBytes { .. } => {
                "delete keys that are no longer needed, and write with `ttl_seconds`".to_owned()
            }
            Self::TooManyReports { .. } => {
                "ask the operator to resolve some: kitbag feedback list".to_owned()
            }
            Self::NoContextPlane => {
                "continue without it; the operator enables it with `enabled = true` under [context] and fills it with \
                 `kitbag context import FILE`"
                    .to_owned()
            }
            Self::NoFact { .. } => {
                "ask context_query in plain words to find the names of the subject and the property"
                    .to_owned()
            }
            Self::NoIcpProfile => {
                "the operator lists a file with a [[profile]] table in `data` under [catalog]; see \
                 docs/tools/icp-scorer.md"
                    .to_owned()
            }
            Self::DataFile { .. } => "ask the operator to correct the file".to_owned(),
            Self::UnknownIcpProfile { known, .. } | Self::WhichIcpProfile { known } => {
                format!("name one of these as `profile`: {}", known.join(", "))
            }
            Self::Store => {
                "try again later; the reason is in the gateway's log".to_owned()
            }
        })
    }
}

impl From<kitbag_store::Error> for PlatformError {
    fn from(error: kitbag_store::Error) -> Self {
        tracing::error!(%error, "a built-in tool could not use the store");
        Self::Store
    }
}
