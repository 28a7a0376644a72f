//! Signs that a setting of a server is missing or wrong: a variable, an argument, a key.

use super::ServerOutput;
use crate::cause::Cause;

/// Recognizes a word in capitals near text that says it is missing.
pub(super) fn missing_variable(output: &ServerOutput<'_>) -> Option<Cause> {
    const ABSENT: &[&str] = &[
        "required",
        "missing",
        "not set",
        "must be set",
        "must set",
        "not provided",
        "must provide",
        "please provide",
        "is not defined",
        "not configured",
        "not found in environment",
        "please set",
        "undefined",
        "keyerror: '",
    ];
    let named = output.lines_with(ABSENT).rev().find_map(variable_in);
    let variable = named.or_else(|| field_in(output))?;
    Some(Cause::MissingVariable { variable })
}

fn variable_in(line: &str) -> Option<String> {
    const NO_VARIABLES: [&str; 3] = ["MODULE_NOT_FOUND", "NODE_MODULE_VERSION", "ERR"];
    let is_spoken_of = line.to_lowercase().contains("environment variable");
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| is_in_capitals(word) && (word.contains('_') || is_spoken_of))
        .find(|word| !NO_VARIABLES.iter().any(|known| word.starts_with(known)))
        .map(str::to_owned)
}

/// True for a word that is too long for an abbreviation.
fn is_in_capitals(word: &str) -> bool {
    word.len() > 4
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Returns the variable of a missing setting: a Python server names its settings like its
/// variables, in lower case.
fn field_in(output: &ServerOutput<'_>) -> Option<String> {
    let mut before = "";
    for line in output.text.lines() {
        if line.contains("Field required [type=missing") && !before.starts_with(' ') {
            return Some(before.trim().to_uppercase().replace('.', "__"))
                .filter(|name| !name.is_empty());
        }
        before = line;
    }
    None
}

pub(super) fn wrong_arguments(output: &ServerOutput<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "the following arguments are required",
        "unrecognized arguments",
        "unrecognized option",
        "unknown option",
        "unknown argument",
        "unexpected argument",
        "no such option",
        "invalid choice",
        "missing required argument",
        "required arguments were not provided",
        "not enough non-option arguments",
        "missing argument",
        "missing option",
        "command-line argument",
        "command line argument",
        "no such command",
    ];
    let line = output.lines_with(SIGNS).next()?;
    Some(Cause::WrongArguments {
        said: Some(shorten_line(line)),
    })
}

/// Recognizes a program that prints its usage because it was called in another way.
pub(super) fn usage_message(output: &ServerOutput<'_>) -> Option<Cause> {
    let mut lines = output.lines_with(&["usage:"]);
    let usage = lines.find(|line| line.trim_start().to_lowercase().starts_with("usage:"))?;
    Some(Cause::WrongArguments {
        said: Some(shorten_line(usage)),
    })
}

/// Returns as much of a line as fits into a one-line error message.
fn shorten_line(line: &str) -> String {
    line.trim().chars().take(120).collect()
}

pub(super) fn bad_credentials(output: &ServerOutput<'_>) -> Option<Cause> {
    let signs = [
        "401 unauthorized",
        "status code 401",
        "403 forbidden",
        "status code 403",
        "invalid api key",
        "invalid_api_key",
        "invalid token",
        "authentication failed",
        "bad credentials",
        "password authentication failed",
    ];
    output.contains_any(&signs).then_some(Cause::BadCredentials)
}

pub(super) fn own_login(output: &ServerOutput<'_>) -> Option<Cause> {
    let asks = [
        "to sign in",
        "to authenticate",
        "to authorize",
        "to log in",
        "devicelogin",
        "device code",
    ];
    if !output.contains_any(&asks) || !output.contains_any(&["https://"]) {
        return None;
    }
    let mut words = output.text.split_whitespace();
    let url = words.find(|word| word.starts_with("https://"));
    Some(Cause::OwnLogin {
        url: url.map(str::to_owned),
    })
}

pub(super) fn serves_http(output: &ServerOutput<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "uvicorn running on",
        "listening on",
        "running on http",
        "running at http",
        "started on port",
    ];
    let line = output.lines_with(SIGNS).next()?;
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http"));
    let is_http = url.is_some() || line.to_lowercase().contains("port");
    let url = url.map(|url| url.trim_end_matches(['.', ',', ')']).to_owned());
    is_http.then_some(Cause::ServesHttp { url })
}
