//! The errors of a model's endpoint: which are transient, which are final, and their remedies.

use std::time::Duration;

use http::StatusCode;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelEndpointError {
    #[error("the key for {endpoint} is not a valid header value")]
    InvalidKey { endpoint: String },
    #[error("{endpoint} cannot be reached: {reason}")]
    Unreachable { endpoint: String, reason: String },
    #[error("{endpoint} did not answer within {after:?}")]
    TimedOut { endpoint: String, after: Duration },
    #[error("{endpoint} rejected the key ({status})")]
    Unauthorized {
        endpoint: String,
        status: StatusCode,
    },
    #[error("{endpoint} is rate-limiting requests ({status})")]
    Busy {
        endpoint: String,
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    #[error("{endpoint} answered {status}: {message}")]
    Refused {
        endpoint: String,
        status: StatusCode,
        message: String,
    },
    #[error("{endpoint} sent an invalid answer: {reason}")]
    Unreadable { endpoint: String, reason: String },
}

impl ModelEndpointError {
    /// True if a retry may succeed. A request that timed out is not retried, because it may have
    /// been answered and charged.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            _ => false,
        }
    }

    /// True if the error is about the content of the request and not about the key or the URL. Then
    /// another prompt may succeed.
    pub(crate) fn is_about_the_request(&self) -> bool {
        const ABOUT_THE_REQUEST: [StatusCode; 3] = [
            StatusCode::BAD_REQUEST,
            StatusCode::PAYLOAD_TOO_LARGE,
            StatusCode::UNPROCESSABLE_ENTITY,
        ];
        matches!(self, Self::Refused { status, .. } if ABOUT_THE_REQUEST.contains(status))
    }

    /// True if another prompt would fail as well.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::InvalidKey { .. } | Self::Unauthorized { .. } => true,
            Self::Refused { status, .. } => {
                status.is_client_error() && !self.is_about_the_request()
            }
            Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Unreadable { .. } => false,
        }
    }

    pub fn remedy(&self) -> &'static str {
        match self {
            Self::InvalidKey { .. } => "check the key for stray characters",
            Self::Unreachable { .. } => {
                "check the address in --model and that the service is running"
            }
            Self::TimedOut { .. } => "raise --timeout or lower --concurrency",
            Self::Unauthorized { .. } => "check the variable that holds the key",
            Self::Busy { .. } => "lower --rpm, or wait and run it again",
            Self::Refused { .. } => "check the name of the model and the address in --model",
            Self::Unreadable { .. } => {
                "check that the address serves Chat Completions, or Messages with the prefix `anthropic:`"
            }
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy {
                retry_after: again_after,
                ..
            } => *again_after,
            _ => None,
        }
    }
}
