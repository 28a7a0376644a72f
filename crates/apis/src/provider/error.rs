//! The failures of a call by path, each with the responsible side and advice.

use std::time::Duration;

use http::Method;
use kitbag_domain::{MissingVariable, Remedy, ServerName};

use crate::fault::{RequestFault, format_seconds};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{provider}` {fault}")]
pub struct ProviderError {
    pub provider: ServerName,
    pub fault: ProviderFault,
}

/// The message continues after the name of the API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFault {
    #[error("needs a variable: {0}")]
    Variable(MissingVariable),
    #[error("may not be called with {method}, only with {}", method_list(allowed))]
    Method {
        method: Method,
        allowed: Vec<Method>,
    },
    #[error("was not called, because the path is invalid: {reason}")]
    Path { reason: &'static str },
    /// It requested a wait, which is not over.
    #[error("accepts no requests for another {}", format_seconds(*wait))]
    RateLimited { wait: Duration },
    #[error(transparent)]
    Request(#[from] RequestFault),
}

impl Remedy for ProviderError {
    fn remedy(&self) -> Option<String> {
        let table = format!("[providers.{}]", self.provider);
        match &self.fault {
            ProviderFault::Variable(missing) => missing.remedy(),
            ProviderFault::Method { method, .. } => Some(format!(
                "if it should be allowed, add \"{method}\" to `methods` of {table}"
            )),
            ProviderFault::Path { .. } => None,
            ProviderFault::RateLimited { wait } => {
                Some(format!("try again in {}", format_seconds(*wait)))
            }
            ProviderFault::Request(RequestFault::Address { .. }) => Some(format!(
                "if it should be reachable, set `allow_private` or `allow_addresses` of {table}"
            )),
            ProviderFault::Request(fault) => fault.remedy_in(&table),
        }
    }
}

pub(super) fn method_list(methods: &[Method]) -> String {
    methods
        .iter()
        .map(Method::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
