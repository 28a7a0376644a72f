//! The reasons why a request failed. Only `reply.rs` turns them into a wire format.

use kitbag_apis::ProviderError;
use kitbag_domain::toml_problem::quote_names;
use kitbag_domain::{Caller, DefinitionKind, Outcome, ServerName};
use kitbag_lockfile::UnapprovedReason;
use kitbag_store::AuditBeginError;
use kitbag_upstream::{CallError, StartError};
use kitbag_wire::{MAX_NESTING, MalformedMessage};

use kitbag_schema::Misfit;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Malformed(#[from] MalformedMessage),
    #[error("the message is larger than {max} bytes; `max_body_bytes` in [serve] sets that limit")]
    TooLarge { max: usize },
    #[error("the request body ended early: {reason}")]
    BrokenBody { reason: String },
    #[error("unsupported content type `{kind}`; send `Content-Type: application/json`")]
    ForeignBody { kind: String },
    #[error("timed out while reading the request body")]
    SlowBody,
    #[error("unknown method `{method}`")]
    UnknownMethod { method: String },
    #[error("{reason}")]
    BadParams { reason: String },
    #[error("`{tool}` was not called because its arguments are invalid:\n{misfit}")]
    Arguments { tool: String, misfit: Misfit },
    #[error("the prompt `{prompt}` needs the argument{} {}", if missing.len() == 1 { "" } else { "s" }, quote_names(missing))]
    MissingArguments {
        prompt: String,
        missing: Vec<String>,
    },
    #[error("there is no tool called `{name}`{}", did_you_mean(near))]
    UnknownTool { name: String, near: Vec<String> },
    #[error("there is no prompt called `{name}`")]
    UnknownPrompt { name: String },
    #[error("there is no resource `{uri}`")]
    UnknownResource { uri: String },
    #[error("several servers have a resource `{uri}`; use one of: {}", forms.join(", "))]
    ContestedResource { uri: String, forms: Vec<String> },
    #[error("there is no provider called `{provider}`{}", did_you_mean(known))]
    UnknownProvider {
        provider: String,
        known: Vec<String>,
    },
    #[error("there is no group called `{group}`{}", did_you_mean(near))]
    UnknownGroup { group: String, near: Vec<String> },
    #[error(
        "there is no result `{result}`: it belongs to another caller or expired after an hour; call the tool again"
    )]
    UnknownResult { result: String },
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("there is no server called `{server}`")]
    UnknownServer { server: String },
    #[error("{reason}")]
    Denied { reason: String },
    /// Rules forbid it, and the caller must not learn that it exists.
    #[error("{visible}")]
    Hidden { visible: Box<Self> },
    #[error("the {} `{name}` is unapproved: {reason}", kind.as_str())]
    Unapproved {
        kind: DefinitionKind,
        name: String,
        reason: UnapprovedReason,
    },
    #[error("`{provider}` has nothing at `{subject}`")]
    UnknownPath {
        provider: ServerName,
        subject: String,
    },
    #[error(
        "nothing was called: this gateway must record every call in its audit, but {0}; try again in a moment; if \
         that fails, the operator finds the cause in the gateway's log"
    )]
    Unrecorded(#[from] AuditBeginError),
    #[error(transparent)]
    Upstream(#[from] CallError),
    #[error("the request was cancelled")]
    Cancelled,
    #[error("`{server}` asked for input {rounds} times in a row without completing the call")]
    TooManyRounds { server: ServerName, rounds: usize },
    #[error("unsupported protocol version `{requested}`")]
    UnsupportedVersion { requested: String },
    #[error("{reason}")]
    HeaderMismatch { reason: String },
    #[error("the session is unknown or has ended; send `initialize` again")]
    UnknownSession,
    #[error(
        "{own} sessions of this caller are open and in use; end one with DELETE before starting another"
    )]
    TooManySessions { own: usize },
    #[error(
        "this caller has too many open requests, or too much data in them; wait for some to end"
    )]
    TooManyRequests,
    #[error(
        "the response was dropped because {megabytes} MB of earlier responses are unread; read those first, \
         or ask for less at a time"
    )]
    TooMuchUnread { megabytes: usize },
    #[error("the stream to resume has expired")]
    UnknownStream,
    #[error("{reason}")]
    NoSession { reason: String },
    #[error(
        "`{server}` asks the user to open a web page, and the client has not declared that it can show one"
    )]
    CannotOpenUrl { server: ServerName },
    /// An error with which a client answered a server's question.
    #[error("{}", error.message)]
    ClientRefused { error: kitbag_wire::ErrorObject },
}

impl Failure {
    pub(crate) fn bad_params(reason: impl Into<String>) -> Self {
        Self::BadParams {
            reason: reason.into(),
        }
    }

    pub(crate) fn arguments_too_deep() -> Self {
        Self::bad_params(format!(
            "the arguments are nested deeper than {MAX_NESTING} levels"
        ))
    }

    /// Returns the failure that the caller may see.
    pub(crate) fn visible_failure(&self) -> &Self {
        match self {
            Self::Hidden { visible } => visible,
            other => other,
        }
    }

    /// Returns the outcome for the audit.
    pub(crate) fn audit_outcome(&self) -> Outcome {
        match self {
            Self::Denied { .. }
            | Self::Hidden { .. }
            | Self::Unapproved { .. }
            | Self::Unrecorded(_) => Outcome::Denied,
            Self::Cancelled => Outcome::Cancelled,
            Self::Upstream(CallError::Refused { .. })
            | Self::ClientRefused { .. }
            | Self::CannotOpenUrl { .. }
            | Self::TooManyRounds { .. } => Outcome::Refused,
            Self::Upstream(CallError::TimedOut { .. } | CallError::Unresponsive { .. }) => {
                Outcome::TimedOut
            }
            Self::Upstream(_) | Self::Provider(_) => Outcome::Unavailable,
            Self::Malformed(_)
            | Self::TooLarge { .. }
            | Self::BrokenBody { .. }
            | Self::ForeignBody { .. }
            | Self::SlowBody
            | Self::UnknownStream
            | Self::UnknownMethod { .. }
            | Self::BadParams { .. }
            | Self::Arguments { .. }
            | Self::MissingArguments { .. }
            | Self::UnknownTool { .. }
            | Self::UnknownPrompt { .. }
            | Self::UnknownResource { .. }
            | Self::ContestedResource { .. }
            | Self::UnknownServer { .. }
            | Self::UnknownProvider { .. }
            | Self::UnknownPath { .. }
            | Self::UnknownGroup { .. }
            | Self::UnknownResult { .. }
            | Self::UnsupportedVersion { .. }
            | Self::HeaderMismatch { .. }
            | Self::UnknownSession
            | Self::TooManySessions { .. }
            | Self::TooManyRequests
            | Self::TooMuchUnread { .. }
            | Self::NoSession { .. } => Outcome::Invalid,
        }
    }
}

impl Failure {
    /// Removes the details that this caller may not read.
    pub(crate) fn for_caller(self, caller: &Caller) -> Self {
        match self {
            Self::Upstream(error) if !caller.sees_all_tenants() => {
                Self::Upstream(error.without_details())
            }
            other => other,
        }
    }
}

/// Returns the reason why a server cannot be used, without the details that this caller may not
/// read.
pub(crate) fn start_error_for(caller: &Caller, trouble: &StartError) -> CallError {
    let error = CallError::Start(trouble.clone());
    if caller.sees_all_tenants() {
        error
    } else {
        error.without_details()
    }
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(", ")),
    }
}
