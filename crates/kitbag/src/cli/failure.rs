//! Error output: what failed, why, and what to try.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::anyhow;
use kitbag_config::{ConfigError, UnprotectedBind};
use kitbag_domain::Remedy;
use kitbag_registry::{ChoiceError, RegistryError};
use kitbag_upstream::{CallError, StartError};
use serde::{Deserialize, Serialize};

use super::help::find_new_spelling;
use super::output::{is_closed_pipe, stderr, strip_controls};
use crate::key_check::NoKeys;
use crate::local::gateway_connection::UnansweredRequest;
use crate::local::relay::GatewayEnded;
use kitbag_embedding::EmbedderError;
use kitbag_gateway::admin::app::NotIndexed;
use kitbag_gateway::call::failure::Failure;
use kitbag_gateway::learning::marks::MarkError;
use kitbag_gateway::state::store_address::StoreConfigError;
use kitbag_gateway::state::web_pages::BrowserError;

/// The parts of an error. `Display` formats them for people.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandFailure {
    pub error: String,
    pub why: Vec<String>,
    #[serde(rename = "try")]
    pub advice: Vec<String>,
    /// Stderr of the failed server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
}

/// An error with a remedy; displayed like the error itself.
#[derive(Debug)]
struct AdvisedError {
    error: anyhow::Error,
    advice: String,
}

/// An error relayed from the running gateway.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.error)]
pub struct RelayedError(pub CommandFailure);

pub trait Advise<T> {
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| with_advice(error, advice()))
    }
}

/// Attaches a remedy to an error.
pub fn with_advice(error: impl Into<anyhow::Error>, advice: String) -> anyhow::Error {
    anyhow::Error::new(AdvisedError {
        error: error.into(),
        advice,
    })
}

/// Attaches the error's own remedy, if it has one.
pub(super) fn with_own_remedy(error: impl Remedy + Into<anyhow::Error>) -> anyhow::Error {
    match error.remedy() {
        Some(remedy) => with_advice(error, remedy),
        None => error.into(),
    }
}

/// Suggests the nearest name, or else `otherwise`.
pub(super) fn suggest_name<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    match kitbag_domain::nearest_name(name, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => otherwise.to_owned(),
    }
}

/// Prints the error to stderr and returns the exit code.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let failure = CommandFailure::from_error(error);
    let text = if json {
        serde_json::json!(failure).to_string()
    } else {
        failure.to_string()
    };
    // Nothing can be done if stderr is closed too.
    let _unheard = writeln!(stderr(), "{text}");
    ExitCode::FAILURE
}

/// Prints a usage error, or the requested help, as clap would; with `--json`, errors are JSON.
pub(super) fn report_usage(error: &clap::Error, json: bool) -> ExitCode {
    if let Some((old, new)) = find_new_spelling(error) {
        let renamed = with_advice(
            anyhow!("`kitbag {old}` was renamed"),
            format!("{new} --help"),
        );
        report(&renamed, json);
        return ExitCode::from(USAGE_EXIT_CODE);
    }
    if json && error.use_stderr() {
        // Nothing can be done if stderr is closed too.
        let _unheard = writeln!(
            stderr(),
            "{}",
            serde_json::json!(CommandFailure::from_usage_error(error))
        );
    } else {
        let _unheard = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE_EXIT_CODE))
}

/// Exit code for an invalid command line.
const USAGE_EXIT_CODE: u8 = 2;

impl CommandFailure {
    fn from_usage_error(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let mut parts = text.trim().split("\n\n");
        let what = parts.next().unwrap_or_default();
        let (tips, rest): (Vec<_>, Vec<_>) =
            parts.partition(|part| part.trim_start().starts_with("tip:"));
        Self {
            error: what
                .trim_start_matches("error:")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" "),
            why: rest
                .into_iter()
                .filter(|part| part.starts_with("Usage:"))
                .map(str::to_owned)
                .collect(),
            advice: tips
                .into_iter()
                .map(|tip| tip.trim().trim_start_matches("tip:").trim().to_owned())
                .collect(),
            last_words: None,
        }
    }

    pub fn from_error(error: &anyhow::Error) -> Self {
        if let Some(RelayedError(failure)) = error.downcast_ref() {
            return failure.clone();
        }
        let mut messages = vec![error.to_string()];
        for cause in error.chain().skip(1).map(ToString::to_string) {
            // Some errors quote their cause; do not print it twice.
            if !messages.last().is_some_and(|last| last.contains(&cause)) {
                messages.push(cause);
            }
        }
        let why = messages.split_off(1);
        Self {
            error: messages.remove(0),
            why,
            advice: error.chain().filter_map(find_remedy).collect(),
            last_words: error.chain().find_map(last_words),
        }
    }
}

/// Returns the remedy of this error, if its type has one.
fn find_remedy(cause: &(dyn Error + 'static)) -> Option<String> {
    let remedies = [
        downcast_remedy(cause, |it: &AdvisedError| Some(it.advice.clone())),
        downcast_remedy(cause, ConfigError::remedy),
        downcast_remedy(cause, |it: &CallError| it.remedy()),
        downcast_remedy(cause, |it: &StartError| it.remedy()),
        downcast_remedy(cause, |it: &EmbedderError| it.remedy()),
        downcast_remedy(cause, |it: &StoreConfigError| it.remedy()),
        downcast_remedy(cause, |it: &BrowserError| it.remedy()),
        downcast_remedy(cause, |it: &kitbag_agents::DataError| it.remedy()),
        downcast_remedy(cause, |it: &RegistryError| it.remedy()),
        downcast_remedy(cause, |it: &ChoiceError| it.remedy()),
        downcast_remedy(cause, |it: &MarkError| it.remedy()),
        downcast_remedy(cause, failure_remedy),
    ];
    let mut remedies = remedies.into_iter().flatten();
    remedies
        .next()
        .or_else(|| find_constant_remedy(cause).map(str::to_owned))
}

fn downcast_remedy<E: Error + 'static>(
    cause: &(dyn Error + 'static),
    remedy: impl FnOnce(&E) -> Option<String>,
) -> Option<String> {
    cause.downcast_ref().and_then(remedy)
}

fn failure_remedy(failure: &Failure) -> Option<String> {
    match failure {
        Failure::MissingArguments { prompt, missing } => {
            let given: String = missing.iter().map(|name| format!(" {name}=…")).collect();
            Some(format!("kitbag prompts get {prompt}{given}"))
        }
        Failure::Unapproved { name, .. } => Some(format!(
            "review it with `kitbag lock diff {name}`, then run `kitbag lock approve {name}`"
        )),
        Failure::UnknownTool { near, .. } if near.is_empty() => {
            Some("list the tools with `kitbag tools`".to_owned())
        }
        _ => None,
    }
}

fn find_constant_remedy(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    use kitbag_store::Error::{File, Silent, Unavailable};
    let store_error = cause.downcast_ref();
    let address_in_use = cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::AddrInUse);
    let remedies = [
        (cause.is::<UnprotectedBind>(), UnprotectedBind::REMEDY),
        (cause.is::<NoKeys>(), NoKeys::REMEDY),
        (cause.is::<NotIndexed>(), NotIndexed::REMEDY),
        (cause.is::<UnansweredRequest>(), UnansweredRequest::REMEDY),
        (cause.is::<GatewayEnded>(), GatewayEnded::REMEDY),
        (address_in_use, ADDRESS_IN_USE),
        (
            matches!(store_error, Some(File { .. })),
            STORE_FILE_UNUSABLE,
        ),
        (
            matches!(store_error, Some(Unavailable { .. } | Silent { .. })),
            DATABASE_UNREACHABLE,
        ),
    ];
    let mut fitting = remedies.into_iter().filter(|(fits, _)| *fits);
    fitting.next().map(|(_, remedy)| remedy)
}

const DATABASE_UNREACHABLE: &str = "check that the database server is running and that the store address is right; `kitbag doctor` shows details";
const STORE_FILE_UNUSABLE: &str = "make the folder writable, or choose another with --data-dir";
const ADDRESS_IN_USE: &str = "\
`kitbag serve` may already be running; if not, choose another port: --bind 127.0.0.1:7421";

fn last_words(cause: &(dyn Error + 'static)) -> Option<String> {
    let stderr_text = match cause.downcast_ref::<CallError>() {
        Some(call) => call.stderr(),
        None => cause.downcast_ref::<StartError>()?.stderr(),
    };
    stderr_text.map(str::to_owned)
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const RED: Style = AnsiColor::Red.on_default().bold();
        const CYAN: Style = AnsiColor::Cyan.on_default().bold();
        const DIM: Style = Style::new().dimmed();

        write!(f, "{RED}error:{RED:#} {}", indent(&self.error, "       "))?;
        for why in &self.why {
            write!(f, "\n  {DIM}why:{DIM:#} {}", indent(why, "       "))?;
        }
        if let Some(text) = &self.last_words {
            write!(f, "\n  {DIM}stderr:{DIM:#}\n    {}", indent(text, "    "))?;
        }
        for advice in &self.advice {
            write!(f, "\n  {CYAN}try:{CYAN:#} {}", indent(advice, "       "))?;
        }
        Ok(())
    }
}

fn indent(text: &str, by: &str) -> String {
    strip_controls(text)
        .trim_end()
        .replace('\n', &format!("\n{by}"))
}

impl fmt::Display for AdvisedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for AdvisedError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};
    use kitbag_upstream::{Cause, Diagnosis};

    use super::*;

    fn render(error: &anyhow::Error) -> String {
        anstream::adapter::strip_str(&CommandFailure::from_error(error).to_string()).to_string()
    }

    #[test]
    fn an_error_shows_what_failed_why_and_what_to_try() {
        let result: anyhow::Result<()> = Err(anyhow!("the file is\ngone")).context("no keys");
        let error = result
            .advise(|| "look again".to_owned())
            .context("cannot start")
            .unwrap_err();
        assert_eq!(
            render(&error),
            "error: cannot start\n  why: no keys\n  why: the file is\n       gone\n  try: look again"
        );
    }

    #[test]
    fn a_server_that_ended_is_quoted_and_its_remedy_shown() {
        let cause = Cause::MissingVariable {
            variable: "TOKEN".to_owned(),
        };
        let start = StartError::Exited {
            server: "git".parse().unwrap(),
            status: "exit status 1".to_owned(),
            stderr: "no TOKEN\nbye\n".to_owned(),
            diagnosis: Some(Box::new(Diagnosis {
                cause,
                remedy: "set `TOKEN`".to_owned(),
            })),
        };
        let expected = "error: `git` exited before it was ready (exit status 1)\n  stderr:\n    no TOKEN\n    \
                        bye\n  try: set `TOKEN`";
        assert_eq!(render(&start.clone().into()), expected);
        assert_eq!(render(&CallError::Start(start).into()), expected);
    }
}
