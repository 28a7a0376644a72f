//! The errors of an embeddings service, and their remedies.

use std::time::Duration;

use http::StatusCode;
use kitbag_domain::MissingVariable;

#[derive(Debug, Clone, thiserror::Error)]
pub enum EmbeddingServiceError {
    #[error("the key for the embeddings endpoint is not set")]
    NoKey(#[from] MissingVariable),
    #[error("the key for the embeddings endpoint is not a valid header value")]
    InvalidKey,
    #[error("the embeddings endpoint {endpoint} cannot be reached: {reason}")]
    Unreachable { endpoint: String, reason: String },
    #[error("the embeddings endpoint {endpoint} did not answer within {after:?}")]
    TimedOut { endpoint: String, after: Duration },
    #[error("the embeddings endpoint {endpoint} rejected the key ({status})")]
    Unauthorized {
        endpoint: String,
        status: StatusCode,
    },
    #[error("the embeddings endpoint {endpoint} is rate-limiting requests (429)")]
    Busy {
        endpoint: String,
        retry_after: Option<Duration>,
    },
    #[error("the embeddings endpoint {endpoint} answered {status}: {message}")]
    Refused {
        endpoint: String,
        status: StatusCode,
        message: String,
    },
    #[error("the embeddings endpoint {endpoint} sent an invalid answer: {reason}")]
    Unreadable { endpoint: String, reason: String },
    #[error(
        "the embeddings endpoint {endpoint} returned vectors with {found} dimensions, expected {expected}"
    )]
    Dimension {
        endpoint: String,
        expected: usize,
        found: usize,
    },
}

impl EmbeddingServiceError {
    /// True if a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Busy { .. } => true,
            Self::Refused { status, .. } => status.is_server_error(),
            Self::NoKey(_)
            | Self::InvalidKey
            | Self::TimedOut { .. }
            | Self::Unauthorized { .. }
            | Self::Unreadable { .. }
            | Self::Dimension { .. } => false,
        }
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    pub(crate) fn remedy(&self) -> String {
        let remedy = match self {
            Self::NoKey(MissingVariable { variable }) => {
                return format!("set the variable `{variable}`");
            }
            Self::InvalidKey => "check `api_key` under [index.embedder] for stray characters",
            Self::Unreachable { .. } => {
                "check `endpoint` under [index.embedder] and that the service is running"
            }
            Self::TimedOut { .. } => {
                "check that the service is running, or raise `timeout` under [index.embedder]"
            }
            Self::Unauthorized { .. } => "check `api_key` under [index.embedder]",
            Self::Busy { .. } => "wait, or ask the service for a higher limit",
            Self::Refused { .. } => "check `endpoint` and `model` under [index.embedder]",
            Self::Unreadable { .. } => {
                "check that `endpoint` under [index.embedder] speaks OpenAI's embeddings format"
            }
            Self::Dimension { .. } => {
                "if the service has changed its model, set another name in `model`; or correct \
                 `dimensions` under [index.embedder]"
            }
        };
        remedy.to_owned()
    }
}
