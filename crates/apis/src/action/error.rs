//! The failures of an action, each with an error code, the responsible side, and advice.

use std::time::Duration;

use kitbag_domain::Remedy;
use kitbag_tool_spec::{CredentialName, PathFillError, WireName};

use crate::auth::TokenFault;
use crate::fault::{RequestFault, format_seconds};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{tool}` {fault}")]
pub struct ActionError {
    pub tool: WireName,
    pub fault: ActionFault,
}

/// The message continues after the name of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionFault {
    #[error(
        "is not set up: the credential `{credential}` has no {}",
        quote_fields(fields)
    )]
    ConfigMissing {
        credential: CredentialName,
        fields: Vec<String>,
        /// True if `refresh_token` comes from a user's login.
        by_login: bool,
    },
    #[error("is not set up: {reason}")]
    ConfigInvalid { reason: String },
    #[error("was not called: {0}")]
    Path(#[from] PathFillError),
    #[error("was not called: {reason}")]
    Arguments { reason: String },
    #[error("has reached its rate limit; the next request is possible in {}", format_seconds(*wait))]
    RateLimited { wait: Duration },
    #[error(transparent)]
    Token(#[from] TokenFault),
    #[error(transparent)]
    Request(#[from] RequestFault),
}

/// The side that can fix a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Culprit {
    Caller,
    Operator,
    Api,
}

impl ActionError {
    /// Returns the code by which programs recognize the failure.
    pub fn code(&self) -> &'static str {
        match &self.fault {
            ActionFault::ConfigMissing { .. } => "CONFIG_MISSING",
            ActionFault::ConfigInvalid { .. } => "CONFIG_INVALID",
            ActionFault::Path(_) | ActionFault::Arguments { .. } => "ARGUMENTS_INVALID",
            ActionFault::RateLimited { .. } => "RATE_LIMITED",
            ActionFault::Token(TokenFault::Refused { .. }) => "CREDENTIAL_REFUSED",
            ActionFault::Token(_) => "TOKEN_UNAVAILABLE",
            ActionFault::Request(fault) => fault.code(),
        }
    }

    pub fn culprit(&self) -> Culprit {
        match &self.fault {
            ActionFault::Path(_) | ActionFault::Arguments { .. } => Culprit::Caller,
            ActionFault::ConfigMissing { .. }
            | ActionFault::ConfigInvalid { .. }
            | ActionFault::Token(TokenFault::Refused { .. })
            | ActionFault::Request(RequestFault::Address { .. } | RequestFault::Header { .. }) => {
                Culprit::Operator
            }
            ActionFault::RateLimited { .. } | ActionFault::Token(_) | ActionFault::Request(_) => {
                Culprit::Api
            }
        }
    }
}

impl RequestFault {
    fn code(&self) -> &'static str {
        match self {
            Self::Header { .. } | Self::Unsigned { .. } => "CONFIG_INVALID",
            Self::Address { .. } => "ADDRESS_REFUSED",
            Self::Unreachable { .. } => "UNREACHABLE",
            Self::Redirect { .. } | Self::TooManyRedirects { .. } => "REDIRECT_REFUSED",
            Self::TimedOut { .. } => "TIMED_OUT",
            Self::TooLarge { .. } => "ANSWER_TOO_LARGE",
            Self::Lost { .. } => "ANSWER_BROKE_OFF",
        }
    }
}

impl Remedy for ActionError {
    fn remedy(&self) -> Option<String> {
        let table = format!("[api] in the file of `{}`", self.tool);
        match &self.fault {
            ActionFault::ConfigMissing {
                credential,
                fields,
                by_login,
            } => Some(credential_commands(credential, fields, *by_login)),
            ActionFault::ConfigInvalid { .. } | ActionFault::Token(TokenFault::Refused { .. }) => {
                Some(format!("check the credential and {table}"))
            }
            ActionFault::Request(RequestFault::Address { .. }) => Some(
                "if it should be reachable, the operator can allow the address in the configuration"
                    .to_owned(),
            ),
            ActionFault::Request(fault) => fault.remedy_in(&table),
            ActionFault::Path(_)
            | ActionFault::Arguments { .. }
            | ActionFault::RateLimited { .. }
            | ActionFault::Token(_) => None,
        }
    }
}

fn credential_commands(credential: &CredentialName, fields: &[String], by_login: bool) -> String {
    let commands: Vec<String> = fields
        .iter()
        .map(|field| match field.as_str() {
            "refresh_token" if by_login => format!("`kitbag secret login {credential}`"),
            field => format!("`kitbag secret set {credential} {field}`"),
        })
        .collect();
    format!("run {}", commands.join(" and "))
}

fn quote_fields(fields: &[String]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    quoted.join(" and no ")
}
