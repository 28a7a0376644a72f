//! The failures of a request that both forms of a call share.
//!
//! Only the origin of a URL is ever shown: a path or a query may hold a secret.

use std::time::Duration;

use kitbag_fetch::guard::AddressRefusal;
use kitbag_fetch::{BodyError, describe_error};
use url::Url;

/// The message continues after the name of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    #[error("has invalid headers: {reason}")]
    Header { reason: String },
    #[error("was not called, because the request could not be signed: {reason}")]
    Unsigned { reason: String },
    #[error("was not called: `{host}` is not an allowed destination: {reason}")]
    Address { host: String, reason: String },
    #[error("could not be reached at {origin}: {reason}")]
    Unreachable {
        origin: String,
        reason: String,
        /// True if the connection broke after the request may have arrived.
        was_connected: bool,
    },
    #[error("redirects {reason}")]
    Redirect { reason: String },
    #[error("redirects more than {max} times")]
    TooManyRedirects { max: usize },
    #[error("did not answer within {after:?}")]
    TimedOut { after: Duration },
    #[error("answered with more than {max} bytes")]
    TooLarge { max: usize },
    #[error("broke off in the middle of its answer: {reason}")]
    Lost { reason: String },
}

impl RequestFault {
    pub(crate) fn redirect(reason: impl Into<String>) -> Self {
        Self::Redirect {
            reason: reason.into(),
        }
    }

    /// Returns advice on the table of the configuration or file that describes the API.
    pub(crate) fn remedy_in(&self, table: &str) -> Option<String> {
        Some(match self {
            Self::Header { .. } => {
                format!("check the headers and the credential of {table}")
            }
            Self::Unreachable { .. } => {
                format!("check that it is running, and the `url` of {table}")
            }
            Self::TimedOut { .. } => format!("if it is only slow, raise `timeout` of {table}"),
            Self::TooLarge { .. } => {
                format!(
                    "request less data, for example one page, or raise `max_response_bytes` of {table}"
                )
            }
            Self::Unsigned { .. }
            | Self::Address { .. }
            | Self::Redirect { .. }
            | Self::TooManyRedirects { .. }
            | Self::Lost { .. } => return None,
        })
    }
}

impl From<AddressRefusal> for RequestFault {
    fn from(AddressRefusal { host, reason }: AddressRefusal) -> Self {
        Self::Address { host, reason }
    }
}

impl From<BodyError> for RequestFault {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { most } => Self::TooLarge { max: most },
            BodyError::Lost(error) => Self::Lost {
                reason: describe_error(error),
            },
        }
    }
}

/// Returns scheme, host and port, the parts of a URL that may be shown.
pub(crate) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Rounds half a second up: a caller that comes too early is rejected again.
pub(crate) fn format_seconds(wait: Duration) -> String {
    format!("{} s", wait.as_secs_f64().ceil())
}
