//! The failures of a call, each with the fault of one side and the advice for it.
//!
//! Of a URL only the origin is ever shown: a path or a query may hold a secret.

use std::time::Duration;

use http::Method;
use kitbag_domain::{MissingVariable, Remedy, ServerName};
use kitbag_fetch::guard::AddressRefused;
use url::Url;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{provider}` {fault}")]
pub struct ProviderError {
    pub provider: ServerName,
    pub fault: ProviderFault,
}

/// Its sentence continues after the name of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFault {
    #[error("needs a variable: {0}")]
    Variable(MissingVariable),
    #[error("cannot be sent its headers: {reason}")]
    Header { reason: String },
    #[error("may not be called with {method}, only with {}", method_list(allowed))]
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

impl Remedy for ProviderError {
    fn remedy(&self) -> Option<String> {
        let table = format!("[providers.{}]", self.provider);
        match &self.fault {
            ProviderFault::Variable(missing) => missing.remedy(),
            fault => fault.remedy_in(&table),
        }
    }
}

impl ProviderFault {
    /// Advises on the table of the configuration that describes the API.
    fn remedy_in(&self, table: &str) -> Option<String> {
        Some(match self {
            Self::Header { .. } => {
                format!("check `headers` and `bearer` of {table} and their variables")
            }
            Self::Method { method, .. } => {
                format!("if it should be allowed, add \"{method}\" to `methods` of {table}")
            }
            Self::Address { .. } => {
                format!(
                    "if it should be reachable, say so with `allow_private` or `allow_addresses` of {table}"
                )
            }
            Self::Unreachable { .. } => {
                format!("check that it is running, and the `url` of {table}")
            }
            Self::TimedOut { .. } => format!("if it is only slow, raise `timeout` of {table}"),
            Self::TooLarge { .. } => {
                format!("ask for less, such as one page, or raise `max_response_bytes` of {table}")
            }
            Self::Variable(_)
            | Self::Path { .. }
            | Self::Redirect { .. }
            | Self::TooManyRedirects { .. }
            | Self::Lost { .. } => return None,
        })
    }
}

impl From<AddressRefused> for ProviderFault {
    fn from(AddressRefused { host, reason }: AddressRefused) -> Self {
        Self::Address { host, reason }
    }
}

/// Returns scheme, host and port, which may be shown of a URL.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

pub(crate) fn method_list(methods: &[Method]) -> String {
    methods
        .iter()
        .map(Method::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
