//! Signs that a server was not told what it has to know: a variable, an argument, a key.

use super::Said;
use crate::cause::Cause;

/// Something in capitals near words of absence.
pub(super) fn missing_variable(said: &Said<'_>) -> Option<Cause> {
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
    let named = said.lines(ABSENT).rev().find_map(variable_in);
    let variable = named.or_else(|| field_in(said))?;
    Some(Cause::MissingVariable { variable })
}

fn variable_in(line: &str) -> Option<String> {
    const NO_VARIABLES: [&str; 3] = ["MODULE_NOT_FOUND", "NODE_MODULE_VERSION", "ERR"];
    let is_spoken_of = line.to_lowercase().contains("environment variable");
    let is_variable = |word: &&str| {
        word.len() > 4
            && (word.contains('_') || is_spoken_of)
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            && !NO_VARIABLES.iter().any(|it| word.starts_with(it))
    };
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .find(is_variable)
        .map(str::to_owned)
}

/// The settings of a Python server are called as its variables are, in small letters.
fn field_in(said: &Said<'_>) -> Option<String> {
    let mut before = "";
    for line in said.text.lines() {
        if line.contains("Field required [type=missing") && !before.starts_with(' ') {
            return Some(before.trim().to_uppercase().replace('.', "__"))
                .filter(|name| !name.is_empty());
        }
        before = line;
    }
    None
}

pub(super) fn wrong_arguments(said: &Said<'_>) -> Option<Cause> {
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
    let said = said.lines(SIGNS).next()?;
    Some(Cause::WrongArguments {
        said: Some(short(said)),
    })
}

/// Whoever explains how to be called was called in another way.
pub(super) fn usage(said: &Said<'_>) -> Option<Cause> {
    let is_usage = |line: &&str| line.trim_start().to_lowercase().starts_with("usage:");
    let usage = said.lines(&["usage:"]).find(is_usage)?;
    Some(Cause::WrongArguments {
        said: Some(short(usage)),
    })
}

fn short(line: &str) -> String {
    line.trim().chars().take(120).collect()
}

pub(super) fn bad_credentials(said: &Said<'_>) -> Option<Cause> {
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
    said.has(&signs).then_some(Cause::BadCredentials)
}

pub(super) fn own_login(said: &Said<'_>) -> Option<Cause> {
    let asks = [
        "to sign in",
        "to authenticate",
        "to authorize",
        "to log in",
        "devicelogin",
        "device code",
    ];
    let url = || {
        said.text
            .split_whitespace()
            .find(|word| word.starts_with("https://"))
            .map(str::to_owned)
    };
    (said.has(&asks) && said.has(&["https://"])).then(|| Cause::OwnLogin { url: url() })
}

pub(super) fn serves_http(said: &Said<'_>) -> Option<Cause> {
    const SIGNS: &[&str] = &[
        "uvicorn running on",
        "listening on",
        "running on http",
        "running at http",
        "started on port",
    ];
    let line = said.lines(SIGNS).next()?;
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http"));
    let is_http = url.is_some() || line.to_lowercase().contains("port");
    let url = url.map(|url| url.trim_end_matches(['.', ',', ')']).to_owned());
    is_http.then_some(Cause::ServesHttp { url })
}
