//! The way in which an error is told to a person: what failed, why, and what to do now.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use anyhow::anyhow;
use kitbag_config::{ConfigError, UnprotectedBind};
use kitbag_domain::Remedy as _;
use kitbag_registry::{ChoiceError, RegistryError};
use kitbag_upstream::{CallError, StartError};
use serde::{Deserialize, Serialize};

use super::help::find_new_spelling;
use super::output::{is_closed_pipe, printable, stderr};
use crate::key_check::NoKeys;
use crate::local::joined::UnansweredRequest;
use crate::local::relay::GatewayEnded;
use kitbag_embedding::EmbedderError;
use kitbag_gateway::admin::app::NotIndexed;
use kitbag_gateway::call::failure::Failure;
use kitbag_gateway::secrets::keyring::KeyringError;
use kitbag_gateway::state::store_address::StoreConfigError;
use kitbag_gateway::state::web_pages::BrowserError;

/// An error, taken apart into the facts that a person wants to know. Its `Display` is for people.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandFailure {
    pub error: String,
    pub why: Vec<String>,
    #[serde(rename = "try")]
    pub advice: Vec<String>,
    /// The text that a server wrote to stderr before it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
}

/// An error together with what the person can do about it; it reads like the error itself.
#[derive(Debug)]
struct Advised {
    error: anyhow::Error,
    advice: String,
}

/// An error of the gateway that a command has joined, as the gateway told it.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.error)]
pub struct Relayed(pub CommandFailure);

pub trait Advise<T> {
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, advice: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| advised(error, advice()))
    }
}

/// Returns the error together with the advice.
pub fn advised(error: impl Into<anyhow::Error>, advice: String) -> anyhow::Error {
    anyhow::Error::new(Advised {
        error: error.into(),
        advice,
    })
}

/// Tells the error on stderr, and returns the exit code.
pub fn report(error: &anyhow::Error, json: bool) -> ExitCode {
    if is_closed_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let failure = CommandFailure::of(error);
    let text = if json {
        serde_json::json!(failure).to_string()
    } else {
        failure.to_string()
    };
    // Nothing is left to do if not even stderr can be written.
    let _unheard = writeln!(stderr(), "{text}");
    ExitCode::FAILURE
}

/// Tells what was wrong with the command line, or prints the help that was asked for, as clap
/// would; a program that wants JSON gets that.
pub(super) fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if let Some((old, new)) = find_new_spelling(error) {
        let renamed = advised(
            anyhow!("`kitbag {old}` was renamed"),
            format!("{new} --help"),
        );
        report(&renamed, json);
        return ExitCode::from(USAGE);
    }
    if json && error.use_stderr() {
        // Nothing is left to do if not even stderr can be written.
        let _unheard = writeln!(
            stderr(),
            "{}",
            serde_json::json!(CommandFailure::of_usage(error))
        );
    } else {
        let _unheard = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USAGE))
}

/// The exit code for a command line that makes no sense.
const USAGE: u8 = 2;

impl CommandFailure {
    fn of_usage(error: &clap::Error) -> Self {
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

    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(Relayed(failure)) = error.downcast_ref() {
            return failure.clone();
        }
        let mut told = vec![error.to_string()];
        for cause in error.chain().skip(1).map(ToString::to_string) {
            // Some errors quote their cause; a person does not want to read it twice.
            if !told.last().is_some_and(|last| last.contains(&cause)) {
                told.push(cause);
            }
        }
        let why = told.split_off(1);
        Self {
            error: told.remove(0),
            why,
            advice: error.chain().filter_map(remedy).collect(),
            last_words: error.chain().find_map(last_words),
        }
    }
}

/// Returns the remedy of every kind of error that has one.
fn remedy(cause: &(dyn Error + 'static)) -> Option<String> {
    let told_by_the_error = [
        remedy_of(cause, |it: &Advised| Some(it.advice.clone())),
        remedy_of(cause, ConfigError::remedy),
        remedy_of(cause, |it: &CallError| it.remedy()),
        remedy_of(cause, |it: &StartError| it.remedy()),
        remedy_of(cause, |it: &KeyringError| Some(it.remedy().to_owned())),
        remedy_of(cause, |it: &EmbedderError| it.remedy()),
        remedy_of(cause, |it: &StoreConfigError| it.remedy()),
        remedy_of(cause, |it: &BrowserError| it.remedy()),
        remedy_of(cause, |it: &kitbag_agents::DataError| it.remedy()),
        remedy_of(cause, |it: &RegistryError| it.remedy()),
        remedy_of(cause, |it: &ChoiceError| it.remedy()),
        remedy_of(cause, of_refusal),
    ];
    let mut told = told_by_the_error.into_iter().flatten();
    told.next()
        .or_else(|| constant_remedy(cause).map(str::to_owned))
}

fn remedy_of<E: Error + 'static>(
    cause: &(dyn Error + 'static),
    remedy: impl FnOnce(&E) -> Option<String>,
) -> Option<String> {
    cause.downcast_ref().and_then(remedy)
}

fn of_refusal(failure: &Failure) -> Option<String> {
    match failure {
        Failure::MissingArguments { prompt, missing } => {
            let given: String = missing.iter().map(|name| format!(" {name}=…")).collect();
            Some(format!("kitbag prompts get {prompt}{given}"))
        }
        Failure::Unapproved { name, .. } => Some(format!(
            "look at it with `kitbag lock diff {name}`, then release it with `kitbag lock approve {name}`"
        )),
        Failure::UnknownTool { near, .. } if near.is_empty() => {
            Some("see which there are with `kitbag tools`".to_owned())
        }
        _ => None,
    }
}

fn constant_remedy(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    let remedies = [
        (cause.is::<UnprotectedBind>(), UnprotectedBind::REMEDY),
        (cause.is::<NoKeys>(), NoKeys::REMEDY),
        (cause.is::<NotIndexed>(), NotIndexed::REMEDY),
        (cause.is::<UnansweredRequest>(), UnansweredRequest::REMEDY),
        (cause.is::<GatewayEnded>(), GatewayEnded::REMEDY),
        (is_taken(cause), TAKEN),
        (is_about_a_file_of_the_store(cause), OUT_OF_REACH),
        (is_about_a_server_of_the_store(cause), AWAY),
    ];
    let mut fitting = remedies.into_iter().filter(|(fits, _)| *fits);
    fitting.next().map(|(_, remedy)| remedy)
}

fn is_taken(cause: &(dyn Error + 'static)) -> bool {
    cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

fn is_about_a_file_of_the_store(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(kitbag_store::Error::File { .. }))
}

fn is_about_a_server_of_the_store(cause: &(dyn Error + 'static)) -> bool {
    matches!(
        cause.downcast_ref(),
        Some(kitbag_store::Error::Away { .. } | kitbag_store::Error::Silent { .. })
    )
}

const AWAY: &str = "check that the database server runs, and the address of the store; `kitbag doctor` looks closer";
const OUT_OF_REACH: &str = "make the folder writable, or choose another with --data-dir";
const TAKEN: &str = "\
perhaps `kitbag serve` is running already; if not, choose another port: --bind 127.0.0.1:7421";

fn last_words(cause: &(dyn Error + 'static)) -> Option<String> {
    let said = match cause.downcast_ref::<CallError>() {
        Some(call) => call.stderr(),
        None => cause.downcast_ref::<StartError>()?.stderr(),
    };
    said.map(str::to_owned)
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const RED: Style = AnsiColor::Red.on_default().bold();
        const CYAN: Style = AnsiColor::Cyan.on_default().bold();
        const DIM: Style = Style::new().dimmed();

        write!(f, "{RED}error:{RED:#} {}", indented(&self.error, "       "))?;
        for why in &self.why {
            write!(f, "\n  {DIM}why:{DIM:#} {}", indented(why, "       "))?;
        }
        if let Some(text) = &self.last_words {
            write!(
                f,
                "\n  {DIM}it said:{DIM:#}\n    {}",
                indented(text, "    ")
            )?;
        }
        for advice in &self.advice {
            write!(f, "\n  {CYAN}try:{CYAN:#} {}", indented(advice, "       "))?;
        }
        Ok(())
    }
}

fn indented(text: &str, by: &str) -> String {
    printable(text).trim_end().replace('\n', &format!("\n{by}"))
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Advised {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};
    use kitbag_upstream::{Cause, Diagnosis};

    use super::*;

    fn told(error: &anyhow::Error) -> String {
        anstream::adapter::strip_str(&CommandFailure::of(error).to_string()).to_string()
    }

    #[test]
    fn an_error_is_told_as_what_why_and_what_now() {
        let result: anyhow::Result<()> = Err(anyhow!("the file is\ngone")).context("no keys");
        let error = result
            .advise(|| "look again".to_owned())
            .context("cannot start")
            .unwrap_err();
        assert_eq!(
            told(&error),
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
        let expected = "error: `git` exited before it was ready (exit status 1)\n  it said:\n    no TOKEN\n    \
                        bye\n  try: set `TOKEN`";
        assert_eq!(told(&start.clone().into()), expected);
        assert_eq!(told(&CallError::Start(start).into()), expected);
    }
}
