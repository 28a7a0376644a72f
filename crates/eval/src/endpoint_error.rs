//! The errors of a model's endpoint: which of them pass, which are final, and the remedy for each.

use std::time::Duration;

use http::StatusCode;

#[derive(Debug, Clone, thiserror::Error)]
pub enum ModelEndpointError {
    #[error("the key for {place} cannot be sent in a header")]
    InvalidKey { place: String },
    #[error("{place} cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    #[error("{place} did not answer within {after:?}")]
    TimedOut { place: String, after: Duration },
    #[error("{place} does not accept the key ({status})")]
    Unauthorized { place: String, status: StatusCode },
    #[error("{place} takes no more requests for now ({status})")]
    Busy {
        place: String,
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    #[error("{place} answered {status}: {message}")]
    Refused {
        place: String,
        status: StatusCode,
        message: String,
    },
    #[error("{place} sent something that is no answer: {reason}")]
    Unreadable { place: String, reason: String },
}

impl ModelEndpointError {
    /// True if the same request may succeed in a moment. A request that took too long is not
    /// repeated, because it may have been answered and paid for.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            _ => false,
        }
    }

    /// True if the error is about the content of the request and not about the key or the address.
    /// Then another prompt may succeed.
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
            Self::Unreachable { .. } => "check the address in --model, and that the service runs",
            Self::TimedOut { .. } => {
                "give it longer with --timeout, or ask less at once with --concurrency"
            }
            Self::Unauthorized { .. } => "check the variable that holds the key",
            Self::Busy { .. } => "ask more slowly with --rpm, or wait and run it again",
            Self::Refused { .. } => "check the name of the model and the address in --model",
            Self::Unreadable { .. } => {
                "check that the address speaks Chat Completions, or with `anthropic:` in front of it, Messages"
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
