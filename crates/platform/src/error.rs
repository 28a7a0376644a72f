//! The reasons why an action was not carried out: a word for programs, a sentence, and advice.

use kitbag_domain::Remedy;
use kitbag_web::{BrowserError, PageError};

use crate::{browser, web_fetch};

#[derive(Debug, thiserror::Error)]
pub enum PlatformError {
    #[error("`{tool}` has no action `{action}`")]
    UnknownAction { tool: String, action: String },
    #[error("the arguments cannot be used: {reason}")]
    Arguments { reason: String },
    #[error("nothing is kept under the key `{key}`")]
    NoValue { key: String },
    #[error(
        "the key `{key}` has version {found} and not {wanted}: it was changed since it was read"
    )]
    OtherVersion {
        key: String,
        wanted: i64,
        found: i64,
    },
    #[error("the value has {bytes} bytes as JSON, and a value may have {most}")]
    ValueTooLarge { bytes: usize, most: usize },
    #[error("this tenant keeps {most} keys, and may not keep more")]
    TooManyKeys { most: i64 },
    #[error("this tenant would keep more than {most} bytes")]
    TooManyBytes { most: i64 },
    #[error(
        "this tenant has {most} reports that no operator has resolved yet, and may not leave more"
    )]
    TooManyReports { most: i64 },
    #[error("this gateway has no context plane: the operator has not switched it on")]
    NoContextPlane,
    #[error("no fact says anything about `{predicate}` of `{subject}`")]
    NoFact { subject: String, predicate: String },
    #[error("the operator has no ideal customer profile that is in force today")]
    NoIcpProfile,
    #[error("a data file of the operator has a mistake: {reason}")]
    DataFile { reason: String },
    #[error("there is no ideal customer profile `{wanted}`")]
    UnknownIcpProfile { wanted: String, known: Vec<String> },
    #[error("there are several ideal customer profiles")]
    WhichIcpProfile { known: Vec<String> },
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Browser(BrowserError),
    #[error(
        "pages are pictured with a browser, and the one that the configuration names is not there"
    )]
    NoBrowser { advice: String },
    #[error("the browser could not be started")]
    BrowserNotStarted { advice: String },
    #[error("the certificate authorities of the configuration cannot be used")]
    NoWebPages,
    /// The reason is for the operator; it is in the log.
    #[error("what Kitbag keeps cannot be reached at the moment")]
    Store,
}

impl PlatformError {
    /// Returns the word by which programs tell errors apart.
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
            Self::Page(error) => web_fetch::code(error),
            Self::Browser(error) => browser::code(error),
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
                 log of the gateway"
                    .to_owned()
            }
            Self::UnknownAction { .. } | Self::Arguments { .. } => {
                "read the schema of the tool, and call it again".to_owned()
            }
            Self::NoValue { .. } => "see which keys there are with the action `list`".to_owned(),
            Self::OtherVersion { found: 0, .. } => {
                "the key is not there: write it with `if_version` 0, or without".to_owned()
            }
            Self::OtherVersion { .. } => {
                "read the key again, apply the change to that value, and write with its version"
                    .to_owned()
            }
            Self::ValueTooLarge { .. } => {
                "keep less, or split the value over several keys".to_owned()
            }
            Self::TooManyKeys { .. } | Self::TooManyBytes { .. } => {
                "delete keys that are no longer needed, and write with `ttl_seconds`".to_owned()
            }
            Self::TooManyReports { .. } => {
                "ask the operator to look through them: kitbag feedback list".to_owned()
            }
            Self::NoContextPlane => {
                "go on without it; the operator switches it on with `enabled = true` under [context] and fills it with \
                 `kitbag context import FILE`"
                    .to_owned()
            }
            Self::NoFact { .. } => {
                "ask context_query in plain words to see how the subject and the property are called"
                    .to_owned()
            }
            Self::NoIcpProfile => {
                "the operator names a file with a table [[profile]] in `data` under [catalog]; docs/tools/icp-scorer.md \
                 has an example"
                    .to_owned()
            }
            Self::DataFile { .. } => "ask the operator to correct the file".to_owned(),
            Self::UnknownIcpProfile { known, .. } | Self::WhichIcpProfile { known } => {
                format!("name one of these as `profile`: {}", known.join(", "))
            }
            Self::Store => {
                "try again later; the operator finds the reason in the log of the gateway".to_owned()
            }
        })
    }
}

impl From<kitbag_store::Error> for PlatformError {
    fn from(error: kitbag_store::Error) -> Self {
        tracing::error!(%error, "a tool of Kitbag itself could not use the store");
        Self::Store
    }
}
