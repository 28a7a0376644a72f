//! Why a call of an API has no answer: what, whose fault, what to do next.
//!
//! Of a URL only the origin is ever told: a path or a query may hold a secret.

use std::time::Duration;

use http::Method;
use kitbag_domain::ServerName;
use url::Url;

use crate::spec::Unresolved;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{provider}` {fault}")]
pub struct ProviderError {
    pub provider: ServerName,
    pub fault: Fault,
}

/// Told after the name of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("needs a variable: {0}")]
    Variable(Unresolved),
    #[error("cannot be sent its headers: {reason}")]
    Header { reason: String },
    #[error("may not be called with {method}, only with {}", listed(allowed))]
    Method {
        method: Method,
        allowed: Vec<Method>,
    },
    #[error("was not called, the path cannot be used: {reason}")]
    Path { reason: &'static str },
    #[error("was not called: `{host}` leads where calls may not go: {reason}")]
    Address { host: String, reason: String },
    #[error("could not be reached at {origin}: {reason}")]
    Unreachable { origin: String, reason: String },
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

impl ProviderError {
    /// What a person can do about it.
    pub fn remedy(&self) -> Option<String> {
        let table = format!("[providers.{}]", self.provider);
        Some(match &self.fault {
            Fault::Variable(unresolved) => unresolved.remedy(),
            Fault::Header { .. } => {
                format!("check `headers` and `bearer` of {table} and their variables")
            }
            Fault::Method { method, .. } => {
                format!("if it should be allowed, add \"{method}\" to `methods` of {table}")
            }
            Fault::Address { .. } => {
                format!(
                    "if it should be reachable, say so with `allow_private` or `allow_addresses` of {table}"
                )
            }
            Fault::Unreachable { .. } => {
                format!("check that it is running, and the `url` of {table}")
            }
            Fault::TimedOut { .. } => format!("if it is only slow, raise `timeout` of {table}"),
            Fault::TooLarge { .. } => {
                format!("ask for less, such as one page, or raise `max_response_bytes` of {table}")
            }
            Fault::Path { .. }
            | Fault::Redirect { .. }
            | Fault::TooManyRedirects { .. }
            | Fault::Lost { .. } => return None,
        })
    }
}

/// Scheme, host and port: what may be told of a URL.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

pub(super) fn listed(methods: &[Method]) -> String {
    methods
        .iter()
        .map(Method::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
