//! Advice for the slips that models make most.

use indexmap::IndexMap;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The state of the program when it failed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Circumstances<'a> {
    /// The engine's word for what happened.
    pub message: &'a str,
    /// True if there are calls without an answer.
    pub calls_are_open: bool,
    /// The tool that answered last, and its answer.
    pub last_answer: Option<(&'a str, &'a RawValue)>,
}

impl Circumstances<'_> {
    pub(crate) fn hint(&self) -> Option<String> {
        if let Some((_, name)) = self.message.split_once("ReferenceError: ") {
            return undefined_name(name.split(' ').next()?);
        }
        if !MISTAKEN_VALUE
            .iter()
            .any(|words| self.message.contains(words))
        {
            return None;
        }
        if self.calls_are_open {
            return Some(MISSING_AWAIT.to_owned());
        }
        let (tool, answer) = self.last_answer?;
        Some(format!("{tool} returned {}", kind(answer)))
    }
}

/// The engine says so if a value is not of the kind that the program takes it for.
const MISTAKEN_VALUE: &[&str] = &["not a function", "cannot read property", "not iterable"];

const MISSING_AWAIT: &str = "a call returns a promise: write `await` before it, \
                             as in `(await tools.server.tool(args)).items`";

/// Said of a value that has the words for a promise in it.
pub(crate) const PROMISE_IN_TEXT: &str =
    "the value contains [object Promise]: write `await` before the call that belongs there";

fn undefined_name(name: &str) -> Option<String> {
    if OUTSIDE.contains(&name) {
        return Some(format!(
            "there is no network, file or module here, so no `{name}`; call a tool: tools.<server>.<tool>(args)"
        ));
    }
    Some(format!(
        "if `{name}` is a server, its tools are at tools.{name}.<tool>(args); search(text) finds tools"
    ))
}

/// Names that programs elsewhere reach the outside with.
const OUTSIDE: &[&str] = &[
    "axios",
    "Buffer",
    "Bun",
    "child_process",
    "Deno",
    "document",
    "exports",
    "fetch",
    "fs",
    "http",
    "https",
    "localStorage",
    "module",
    "os",
    "path",
    "process",
    "require",
    "WebSocket",
    "window",
    "XMLHttpRequest",
];

fn kind(answer: &RawValue) -> String {
    match serde_json::from_str::<IndexMap<String, IgnoredAny>>(answer.get()) {
        Ok(object) if object.is_empty() => "an empty object".to_owned(),
        Ok(object) => format!("an object with {}", keys(&object)),
        Err(_) => simple_kind(answer.get()).to_owned(),
    }
}

fn keys(object: &IndexMap<String, IgnoredAny>) -> String {
    let named: Vec<_> = object
        .keys()
        .take(MOST_KEYS)
        .map(|key| format!("`{key}`"))
        .collect();
    let more = if object.len() > MOST_KEYS {
        " and more"
    } else {
        ""
    };
    format!("the keys {}{more}", named.join(", "))
}

/// Enough to recognise the one that was meant.
const MOST_KEYS: usize = 12;

fn simple_kind(json: &str) -> &'static str {
    match json.trim_start().as_bytes().first() {
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b'n') => "null",
        Some(b't' | b'f') => "true or false",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, open: bool, answer: Option<&str>, expected: &str) {
        let answer = answer.map(|json| RawValue::from_string(json.to_owned()).unwrap());
        let circumstances = Circumstances {
            message,
            calls_are_open: open,
            last_answer: answer.as_deref().map(|answer| ("git.log", answer)),
        };
        let hint = circumstances.hint().unwrap_or_default();
        assert!(hint.contains(expected), "{hint}");
    }

    #[test]
    fn a_slip_gets_the_hint_for_it() {
        check(
            "ReferenceError: fetch is not defined",
            false,
            None,
            "no network",
        );
        check(
            "ReferenceError: github is not defined",
            false,
            None,
            "tools.github.",
        );
        check("TypeError: not a function", true, Some("[]"), "`await`");
        check(
            "TypeError: r.map is not a function",
            false,
            Some(r#"{"items":[]}"#),
            "git.log returned an object with the keys `items`",
        );
        check(
            "TypeError: cannot read property 'a' of undefined",
            false,
            Some("[1]"),
            "a list",
        );
        check("Error: mine", true, None, "");
    }
}
