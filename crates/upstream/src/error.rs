//! Errors between the gateway and a server: the event, its origin, and the remedy.

use std::time::Duration;

use kitbag_domain::{MissingVariable, Remedy, ServerName};
use kitbag_wire::{ErrorObject, MAX_NESTING};

use crate::cause::{Cause, Diagnosis};
use crate::oauth::LoginNeeded;
use crate::time::format_duration;

/// The reason why a server does not take calls.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartError {
    #[error("`{server}` needs a variable: {source}")]
    Variable {
        server: ServerName,
        source: MissingVariable,
    },
    #[error("`{server}` could not be launched: `{command}`: {reason}")]
    Launch {
        server: ServerName,
        command: String,
        reason: String,
        diagnosis: Option<Box<Diagnosis>>,
    },
    #[error("`{server}` exited before it was ready ({status})")]
    Exited {
        server: ServerName,
        status: String,
        stderr: String,
        diagnosis: Option<Box<Diagnosis>>,
    },
    #[error("`{server}` was not ready within {after:?}")]
    TimedOut {
        server: ServerName,
        after: Duration,
        stderr: String,
        diagnosis: Option<Box<Diagnosis>>,
    },
    #[error("`{server}` could not be reached: {reason}")]
    Unreachable { server: ServerName, reason: String },
    /// Its URL or headers are unusable once variables are expanded.
    #[error("`{server}` is misconfigured: {reason}")]
    Invalid { server: ServerName, reason: String },
    #[error("{}", retry_later_message(server, *status, *wait, said))]
    RetryLater {
        server: ServerName,
        status: u16,
        wait: Duration,
        said: String,
    },
    #[error("`{server}` started, but then answered neither a call nor a ping")]
    Unresponsive { server: ServerName },
    #[error("the built-in server `{server}` could not start: {reason}")]
    BuiltIn {
        server: ServerName,
        reason: String,
        remedy: Option<String>,
    },
    #[error("`{server}` requires a login (HTTP {status})")]
    Unauthorized { server: ServerName, status: u16 },
    #[error(transparent)]
    Login(LoginNeeded),
    #[error("`{server}` does not speak MCP as expected: {reason}")]
    Protocol { server: ServerName, reason: String },
    #[error(
        "`{server}` failed {failures} times in a row; the next attempt is in {}; last: {last}", format_duration(*wait)
    )]
    BackingOff {
        server: ServerName,
        failures: u32,
        wait: Duration,
        last: Box<Self>,
    },
    #[error("`{server}` is being stopped")]
    Stopping { server: ServerName },
}

/// The reason why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Login(LoginNeeded),
    /// The server answered with an error of its own.
    #[error("`{server}` answered with an error: {}", error.message)]
    Refused {
        server: ServerName,
        error: ErrorObject,
    },
    /// `own` is true if other callers may still queue, and only this caller has too many calls.
    #[error("`{server}` has {running} {} running and {queued} waiting", calls_noun(*own))]
    Busy {
        server: ServerName,
        running: usize,
        queued: usize,
        own: bool,
    },
    #[error("`{server}` does not read its input; {waiting} bytes are queued already")]
    Clogged { server: ServerName, waiting: usize },
    #[error("`{server}` did not answer within {}", format_duration(*after))]
    TimedOut { server: ServerName, after: Duration },
    /// It did not answer a ping after a call timed out.
    #[error("`{server}` does not answer at all (no reply to a ping either); {outcome}")]
    Unresponsive {
        server: ServerName,
        outcome: RestartOutcome,
    },
    /// It asked the gateway to wait.
    #[error("{}", retry_later_message(server, *status, *wait, said))]
    RetryLater {
        server: ServerName,
        status: u16,
        wait: Duration,
        /// The message that came with the wait, for the call that received it.
        said: String,
    },
    #[error("`{server}` disconnected during the call: {reason}")]
    Lost {
        server: ServerName,
        reason: String,
        stderr: String,
        diagnosis: Option<Box<Diagnosis>>,
    },
    #[error("`{server}` answered with more than {max} bytes")]
    TooLarge { server: ServerName, max: usize },
    #[error("`{server}` answered with JSON that is nested deeper than {MAX_NESTING} levels")]
    TooDeep { server: ServerName },
    #[error("`{server}` answered HTTP {status}{}", first_line_suffix(body))]
    Http {
        server: ServerName,
        status: u16,
        body: String,
    },
    /// The server dropped the session before it read the call.
    #[error("`{server}` has ended the session")]
    SessionExpired { server: ServerName },
    /// The server's listing changed since the request was checked.
    #[error("`{server}` lists different definitions than before")]
    Unapproved { server: ServerName },
    /// The server's list could not be read, so the request cannot be checked.
    #[error("`{server}` did not return its lists within {}", format_duration(*after))]
    Unlisted { server: ServerName, after: Duration },
    /// Any other error without the details meant for operators.
    #[error("{what}")]
    Brief {
        server: ServerName,
        what: String,
        remedy: String,
    },
}

/// The outcome of restarting an unresponsive server.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RestartOutcome {
    #[error("it was restarted")]
    Restarted,
    #[error("the connection to it was replaced")]
    Reconnected,
    #[error("it is being restarted, which takes longer than usual")]
    Pending,
    #[error("restarting it failed: {0}")]
    Failed(Box<StartError>),
}

impl CallError {
    /// Returns the error for a connection that ended without further output.
    pub(crate) fn for_lost_connection(server: &ServerName, reason: impl Into<String>) -> Self {
        let (server, reason) = (server.clone(), reason.into());
        Self::Lost {
            server,
            reason,
            stderr: String::new(),
            diagnosis: None,
        }
    }

    pub fn server(&self) -> &ServerName {
        match self {
            Self::Start(start) => start.server(),
            Self::Login(needed) => &needed.server,
            Self::Refused { server, .. }
            | Self::Busy { server, .. }
            | Self::Clogged { server, .. }
            | Self::TimedOut { server, .. }
            | Self::Unresponsive { server, .. }
            | Self::RetryLater { server, .. }
            | Self::Lost { server, .. }
            | Self::TooLarge { server, .. }
            | Self::TooDeep { server }
            | Self::Unapproved { server }
            | Self::Unlisted { server, .. }
            | Self::Http { server, .. }
            | Self::Brief { server, .. }
            | Self::SessionExpired { server } => server,
        }
    }

    /// Returns the last lines of stderr, if they may explain the failure.
    pub fn stderr(&self) -> Option<&str> {
        match self {
            Self::Start(start) => start.stderr(),
            Self::Lost { stderr, .. } if !stderr.is_empty() => Some(stderr),
            _ => None,
        }
    }

    /// Returns the cause, if it is a known one.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Self::Start(start) => start.cause(),
            Self::Login(_) => Some(Cause::LoginNeeded),
            Self::Unresponsive {
                outcome: RestartOutcome::Failed(start),
                ..
            } => start.cause(),
            Self::Lost { diagnosis, .. } => {
                diagnosis.as_ref().map(|diagnosis| diagnosis.cause.clone())
            }
            Self::Refused { .. } | Self::Http { .. } => Cause::recognize(&self.to_string()),
            Self::Busy { .. }
            | Self::Clogged { .. }
            | Self::Brief { .. }
            | Self::TimedOut { .. }
            | Self::Unresponsive { .. }
            | Self::RetryLater { .. }
            | Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::Unapproved { .. }
            | Self::Unlisted { .. }
            | Self::SessionExpired { .. } => None,
        }
    }
}

impl StartError {
    /// True for a mistake in the configuration or in a file it refers to: a start cannot succeed
    /// until that changes, and checking it is cheap.
    pub(crate) fn is_mistake(&self) -> bool {
        match self {
            Self::Variable { .. } | Self::Invalid { .. } => true,
            Self::Launch { diagnosis, .. } => {
                diagnosis.as_ref().is_some_and(|it| it.cause.is_mistake())
            }
            _ => false,
        }
    }

    /// True if this error adds nothing to an earlier one.
    pub(crate) fn is_repeat_of(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::RetryLater { .. }, Self::RetryLater { .. }) => true,
            _ => self.to_string() == before.to_string(),
        }
    }

    pub fn server(&self) -> &ServerName {
        match self {
            Self::Variable { server, .. }
            | Self::Launch { server, .. }
            | Self::Exited { server, .. }
            | Self::TimedOut { server, .. }
            | Self::Unreachable { server, .. }
            | Self::Invalid { server, .. }
            | Self::RetryLater { server, .. }
            | Self::Unresponsive { server }
            | Self::BuiltIn { server, .. }
            | Self::Unauthorized { server, .. }
            | Self::Protocol { server, .. }
            | Self::BackingOff { server, .. }
            | Self::Stopping { server } => server,
            Self::Login(needed) => &needed.server,
        }
    }

    /// Returns the last lines of stderr, if they may explain the failure.
    pub fn stderr(&self) -> Option<&str> {
        match self {
            Self::Exited { stderr, .. } | Self::TimedOut { stderr, .. } if !stderr.is_empty() => {
                Some(stderr)
            }
            Self::BackingOff { last, .. } => last.stderr(),
            _ => None,
        }
    }

    /// Returns the cause, if it is a known one.
    pub fn cause(&self) -> Option<Cause> {
        Some(match self {
            Self::Variable { source, .. } => Cause::MissingVariable {
                variable: source.variable.clone(),
            },
            Self::Launch { diagnosis, .. }
            | Self::Exited { diagnosis, .. }
            | Self::TimedOut { diagnosis, .. } => {
                return diagnosis.as_ref().map(|diagnosis| diagnosis.cause.clone());
            }
            Self::Unreachable { reason, .. } => match Cause::recognize(reason) {
                Some(cause @ (Cause::NoNetwork { .. } | Cause::Untrusted)) => cause,
                _ => Cause::Unreachable,
            },
            Self::Unauthorized { .. } => Cause::BadCredentials,
            Self::Login(_) => Cause::LoginNeeded,
            Self::Protocol { .. } => Cause::NotMcp,
            Self::BackingOff { last, .. } => return last.cause(),
            Self::BuiltIn { .. }
            | Self::Invalid { .. }
            | Self::RetryLater { .. }
            | Self::Unresponsive { .. }
            | Self::Stopping { .. } => return None,
        })
    }
}

impl Remedy for CallError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Start(start) => return start.remedy(),
            Self::Login(needed) => return needed.remedy(),
            Self::Lost { diagnosis: Some(diagnosis), .. } => diagnosis.remedy.clone(),
            Self::Lost { server, .. } => {
                format!(
                    "the next call restarts it; if it exits again, see `kitbag logs {server}`"
                )
            }
            Self::Brief { remedy, .. } => remedy.clone(),
            Self::Unresponsive { outcome, .. } => return outcome.remedy(),
            Self::RetryLater { wait, .. } => format!("call again in {}", format_duration(*wait)),
            Self::Busy { .. } | Self::Clogged { .. } => {
                "wait for a running call to end, then try again".to_owned()
            }
            Self::Unlisted { .. } => "try again in a moment".to_owned(),
            Self::TimedOut { server, .. } => {
                format!("try a smaller request, or raise `call_timeout` of [servers.{server}]")
            }
            Self::TooLarge { server, .. } => {
                format!("request less data, or raise `max_message_bytes` of [servers.{server}]")
            }
            Self::TooDeep { .. } => {
                "request less data if the tool allows it, and report this to the server's authors; programs that read such \
                 an answer may crash"
                    .to_owned()
            }
            Self::Refused { .. }
            | Self::Http { .. }
            | Self::Unapproved { .. }
            | Self::SessionExpired { .. } => return None,
        })
    }
}

impl StartError {
    /// Labels the problem in one or two words.
    pub fn label(&self) -> String {
        match self {
            Self::Variable { source, .. } => source.short_label(),
            Self::Unauthorized { .. } | Self::Login(_) => "needs a login".to_owned(),
            Self::BackingOff { last, .. } => last.label(),
            _ => "does not work".to_owned(),
        }
    }
}

impl Remedy for StartError {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Variable { source, .. } => source.remedy(),
            Self::Launch { diagnosis, .. } | Self::Exited { diagnosis, .. } => {
                diagnosis.as_ref().map(|diagnosis| diagnosis.remedy.clone())
            }
            Self::TimedOut {
                diagnosis: Some(diagnosis),
                ..
            } => Some(diagnosis.remedy.clone()),
            Self::TimedOut { server, .. } => Some(Cause::Silent.advice_for_remote(server)),
            Self::Unauthorized { server, .. } => {
                Some(Cause::BadCredentials.advice_for_remote(server))
            }
            Self::Unreachable { server, .. } => {
                self.cause().map(|cause| cause.advice_for_remote(server))
            }
            Self::BuiltIn { remedy, .. } => remedy.clone(),
            Self::Login(needed) => needed.remedy(),
            Self::BackingOff { last, .. } => last.remedy(),
            Self::Invalid { server, .. } => {
                Some(format!("correct `url` or `headers` of [servers.{server}]"))
            }
            Self::RetryLater { wait, .. } => {
                Some(format!("call again in {}", format_duration(*wait)))
            }
            Self::Unresponsive { server } => Some(format!("see `kitbag logs {server}`")),
            Self::Protocol { .. } | Self::Stopping { .. } => None,
        }
    }
}

impl Remedy for RestartOutcome {
    fn remedy(&self) -> Option<String> {
        match self {
            Self::Restarted | Self::Reconnected => Some("try once more".to_owned()),
            Self::Pending => Some("try again in a minute".to_owned()),
            Self::Failed(error) => error.remedy(),
        }
    }
}

/// Describes a server that asked for a wait, with the message that came with it.
pub(crate) fn retry_later_message(
    server: &ServerName,
    status: u16,
    wait: Duration,
    said: &str,
) -> String {
    let (said, wait) = (first_line_suffix(said), format_duration(wait));
    format!("`{server}` answered HTTP {status}{said}; it accepts no requests for another {wait}")
}

fn calls_noun(own: bool) -> &'static str {
    if own { "calls of yours" } else { "calls" }
}

/// Returns the beginning of an error page; its first line usually contains the reason.
fn first_line_suffix(body: &str) -> String {
    let line = body.trim().lines().next().unwrap_or_default();
    let short: String = line.chars().take(200).collect();
    if short.is_empty() {
        short
    } else {
        format!(": {short}")
    }
}
