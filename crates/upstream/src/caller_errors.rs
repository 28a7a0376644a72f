//! Errors for callers who do not run this gateway: the event and the advice, without server output,
//! paths, addresses or configuration lines.
//!
//! A server has several callers, so its last output may concern another caller's call.

use crate::cause::Cause;
use crate::error::{CallError, RestartOutcome, StartError, retry_later_message};
use crate::time::format_duration;

impl CallError {
    /// Returns the same error without the details meant for operators.
    pub fn without_details(&self) -> Self {
        let what = match self {
            Self::Start(start) => start.summarize(),
            Self::Lost { server, reason, .. } => {
                format!(
                    "`{server}` disconnected during the call{}",
                    exit_suffix(reason)
                )
            }
            Self::Http { server, status, .. } => format!("`{server}` answered HTTP {status}"),
            Self::Unresponsive {
                server,
                outcome: RestartOutcome::Failed(start),
            } => format!(
                "`{server}` does not answer at all (no reply to a ping either), and could not be restarted: {}",
                start.summarize()
            ),
            Self::RetryLater {
                server,
                status,
                wait,
                ..
            } => retry_later_message(server, *status, *wait, ""),
            Self::Login(_)
            | Self::Refused { .. }
            | Self::Busy { .. }
            | Self::Brief { .. }
            | Self::Clogged { .. }
            | Self::TimedOut { .. }
            | Self::Unresponsive { .. }
            | Self::TooLarge { .. }
            | Self::TooDeep { .. }
            | Self::Unapproved { .. }
            | Self::Unlisted { .. }
            | Self::SessionExpired { .. } => return self.clone(),
        };
        let what = match self.cause() {
            Some(cause) => format!("{what}: {}", cause.summarize()),
            None => what,
        };
        Self::Brief {
            server: self.server().clone(),
            what,
            remedy: self.caller_advice(),
        }
    }

    fn caller_advice(&self) -> String {
        let operator = "ask the operator of this gateway, whose log has the details";
        match self {
            Self::Lost { .. } => {
                format!("call again to restart it; if it exits again, {operator}")
            }
            Self::Start(StartError::BackingOff { wait, .. }) => {
                format!(
                    "try again in {}; if it still fails, {operator}",
                    format_duration(*wait)
                )
            }
            Self::RetryLater { wait, .. } | Self::Start(StartError::RetryLater { wait, .. }) => {
                format!("call again in {}", format_duration(*wait))
            }
            Self::Start(StartError::Stopping { .. }) => "try again".to_owned(),
            _ => operator.to_owned(),
        }
    }
}

impl StartError {
    fn summarize(&self) -> String {
        match self {
            Self::Exited { server, status, .. } => {
                format!(
                    "`{server}` exited before it was ready{}",
                    exit_suffix(status)
                )
            }
            Self::BackingOff {
                server, failures, ..
            } => {
                format!("`{server}` failed {failures} times in a row; the next attempt is delayed")
            }
            Self::Variable { server, .. } | Self::Invalid { server, .. } => {
                format!("`{server}` is misconfigured")
            }
            Self::RetryLater {
                server,
                status,
                wait,
                ..
            } => retry_later_message(server, *status, *wait, ""),
            Self::Launch { server, .. } => format!("`{server}` could not be launched"),
            Self::Unreachable { server, .. } => format!("`{server}` could not be reached"),
            Self::BuiltIn { server, .. } => {
                format!("the built-in server `{server}` could not start")
            }
            Self::Protocol { server, .. } => format!("`{server}` does not speak MCP as expected"),
            Self::TimedOut { .. }
            | Self::Unauthorized { .. }
            | Self::Login(_)
            | Self::Unresponsive { .. }
            | Self::Stopping { .. } => self.to_string(),
        }
    }
}

impl Cause {
    /// Returns only the kind of cause, since its details come from the output of the server.
    fn summarize(&self) -> &'static str {
        match self {
            Self::MissingVariable { .. } => "it needs a variable that is not set",
            Self::OldNode { .. } => "it needs a later version of Node.js",
            Self::NewMcpLibrary | Self::NewPydantic => {
                "it is incompatible with an installed library"
            }
            Self::MissingModule { .. } => "a part of it is not installed",
            Self::MissingFile { .. } => "it needs a file or folder that does not exist",
            Self::NoSuchPackage { .. } | Self::NotAProgram { .. } => "its package cannot be run",
            Self::NotFound { .. } | Self::NotExecutable { .. } | Self::NoInterpreter { .. } => {
                "its program cannot be run"
            }
            Self::NoFolder { .. } => "its working directory does not exist",
            Self::WrongArguments { .. } => "it rejected its arguments",
            Self::NoNetwork { .. } => "it cannot reach the network",
            Self::Untrusted => "it does not trust the certificate of the service it talks to",
            Self::ServiceDown { .. } => "it needs a service that is not running",
            Self::PortTaken { .. } => "its port is already in use",
            Self::Forbidden { .. } => "it has no permission to use a file or folder",
            Self::BadCredentials => "its key or password was rejected",
            Self::LoginNeeded | Self::OwnLogin { .. } => "it requires a login",
            Self::ServesHttp { .. } => "it serves HTTP instead of stdin and stdout",
            Self::NotMcp => "it is not an MCP server",
            Self::Silent => "it runs but prints nothing",
            Self::Retired => "it exited without an error",
            Self::Unreachable => "no server answers at its address",
        }
    }
}

/// Describes how a process ended. Messages of a network library are omitted, because they contain
/// addresses.
fn exit_suffix(reason: &str) -> String {
    let by_itself = reason.starts_with("exit code ") || reason.starts_with("signal");
    if by_itself {
        format!(" ({reason})")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kitbag_domain::Remedy as _;

    use super::*;
    use crate::cause::Diagnosis;

    const SECRET: &str = "HIGH-TENANT-ORDER-4711";

    #[track_caller]
    fn check(error: &CallError, expected: &str) {
        let brief = error.without_details();
        let text = format!("{brief} | {}", brief.remedy().unwrap_or_default());
        assert!(text.contains(expected), "{text}");
        assert!(
            !text.contains(SECRET) && !text.contains("/srv") && !text.contains("servers."),
            "{text}"
        );
        assert_eq!(brief.stderr(), None);
    }

    #[test]
    fn a_brief_failure_holds_no_output_of_the_server() {
        let server: kitbag_domain::ServerName = "orders".parse().unwrap();
        let stderr = format!("Traceback: File \"/srv/orders.py\": {SECRET}");
        let cause = Cause::MissingFile {
            path: format!("/srv/{SECRET}"),
        };
        let diagnosis = Some(Box::new(Diagnosis {
            cause,
            remedy: format!("see [servers.x] {SECRET}"),
        }));
        let exited = StartError::Exited {
            server: server.clone(),
            status: "exit code 1".to_owned(),
            stderr: stderr.clone(),
            diagnosis: diagnosis.clone(),
        };
        check(
            &exited.clone().into(),
            "`orders` exited before it was ready (exit code 1): it needs a file or folder that does not exist",
        );
        let wait = Duration::from_millis(996);
        let again = StartError::BackingOff {
            server: server.clone(),
            failures: 2,
            wait,
            last: Box::new(exited),
        };
        check(&again.into(), "try again in 1 s");
        let lost = |reason: &str| CallError::Lost {
            server: server.clone(),
            reason: reason.to_owned(),
            stderr: stderr.clone(),
            diagnosis: diagnosis.clone(),
        };
        check(
            &lost("exit code 3"),
            "`orders` disconnected during the call (exit code 3)",
        );
        check(
            &lost("error for http://10.0.0.1/srv"),
            "`orders` disconnected during the call: it needs",
        );
        let body = format!("<pre>/srv/app.py {SECRET}</pre>");
        let held_off = CallError::RetryLater {
            server: server.clone(),
            status: 429,
            wait,
            said: body.clone(),
        };
        check(
            &held_off,
            "`orders` answered HTTP 429; it accepts no requests for another 1 s | call again in 1 s",
        );
        let unreachable = StartError::Unreachable {
            server: server.clone(),
            reason: format!("error for http://10.0.0.1/srv {SECRET}"),
        };
        let deaf = CallError::Unresponsive {
            server: server.clone(),
            outcome: RestartOutcome::Failed(Box::new(unreachable)),
        };
        check(
            &deaf,
            "could not be restarted: `orders` could not be reached",
        );
        check(
            &CallError::Http {
                server,
                status: 500,
                body,
            },
            "`orders` answered HTTP 500",
        );
    }
}
