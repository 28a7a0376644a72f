//! Advice for models' most common mistakes.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::request::tool_name;

/// The state of the program when it failed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FailureContext<'a> {
    /// The engine's message.
    pub message: &'a str,
    /// True if there are calls without an answer.
    pub calls_are_open: bool,
    /// The kind of the last answer of each tool.
    pub answers: Option<&'a HashMap<String, String>>,
    /// The path at the mistake's position, such as `issues.map`.
    pub path: Option<&'a str>,
    /// The program as its author wrote it.
    pub source: &'a str,
}

impl FailureContext<'_> {
    pub(crate) fn hint(&self) -> Option<String> {
        if let Some((_, name)) = self.message.split_once("ReferenceError: ") {
            return undefined_name(name.split(' ').next()?);
        }
        if self.message.contains(OF_PROMISE) {
            return Some(MISSING_AWAIT.to_owned());
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
        self.origin()
    }

    /// Reports which call the value came from. The origin of a value that the program created
    /// itself is unknown; if there was only one call, it is that one.
    fn origin(&self) -> Option<String> {
        let answers = self.answers?;
        let variable = self
            .path
            .and_then(|path| path.split(['.', '?', '[']).next());
        let origin = variable.and_then(|name| {
            let origin = kitbag_script::origins(self.source).remove(name)?;
            Some((name, origin))
        });
        if let Some((name, origin)) = origin {
            let tool = tool_name(&origin.tool);
            let kind = answers.get(&tool)?;
            let relation = if origin.whole {
                "is what"
            } else {
                "comes from what"
            };
            return Some(format!("`{name}` {relation} {tool} returned: {kind}"));
        }
        let mut answers = answers.iter();
        match (answers.next(), answers.next()) {
            (Some((tool, kind)), None) => Some(format!("{tool} returned {kind}")),
            _ => None,
        }
    }
}

/// The engine's messages for a value of an unexpected type.
const MISTAKEN_VALUE: &[&str] = &["not a function", "cannot read property", "not iterable"];

/// The prelude's message for reading a property of a promise.
const OF_PROMISE: &str = "of a promise";

const MISSING_AWAIT: &str = "did you forget `await`? A call returns a promise: write `await` before it, \
                             as in `(await tools.server.tool(args)).items`";

/// For a value that contains the text of a promise.
pub(crate) const PROMISE_IN_TEXT: &str = "the value contains [object Promise]; did you forget `await`? Write `await` before the call that belongs there";

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

/// Names for outside access in other environments.
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

/// The kind of an answer, in a few words.
pub(crate) fn kind(answer: &RawValue) -> String {
    match serde_json::from_str::<IndexMap<String, IgnoredAny>>(answer.get()) {
        Ok(object) if object.is_empty() => "an empty object".to_owned(),
        Ok(object) => format!("an object with {}", keys(&object)),
        Err(_) => simple_kind(answer.get()).to_owned(),
    }
}

fn keys(object: &IndexMap<String, IgnoredAny>) -> String {
    let named: Vec<_> = object
        .keys()
        .take(MAX_KEYS)
        .map(|key| format!("`{key}`"))
        .collect();
    let more = if object.len() > MAX_KEYS {
        " and more"
    } else {
        ""
    };
    format!("the keys {}{more}", named.join(", "))
}

/// Enough to recognize the intended one.
const MAX_KEYS: usize = 12;

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
    fn check(message: &str, open: bool, answers: &[(&str, &str)], source: &str, expected: &str) {
        let answers = answers.iter().map(|(tool, json)| {
            let answer = RawValue::from_string((*json).to_owned()).unwrap();
            ((*tool).to_owned(), kind(&answer))
        });
        let answers: HashMap<String, String> = answers.collect();
        let context = FailureContext {
            message,
            calls_are_open: open,
            answers: Some(&answers),
            path: message
                .strip_prefix("TypeError: ")
                .and_then(|it| it.split(' ').next()),
            source,
        };
        let hint = context.hint().unwrap_or_default();
        assert!(hint.contains(expected), "{hint}");
        assert!(!expected.is_empty() || hint.is_empty(), "{hint}");
    }

    #[test]
    fn a_slip_gets_the_hint_for_it() {
        check(
            "ReferenceError: fetch is not defined",
            false,
            &[],
            "",
            "no network",
        );
        check(
            "ReferenceError: github is not defined",
            false,
            &[],
            "",
            "tools.github.",
        );
        check(
            "TypeError: not a function",
            true,
            &[("git.log", "[]")],
            "",
            "`await`",
        );
        check(
            "TypeError: cannot read property 'items' of a promise",
            false,
            &[],
            "",
            "did you forget `await`",
        );
        check("Error: mine", true, &[], "", "");
    }

    #[test]
    fn a_value_is_explained_with_the_call_that_it_came_from() {
        let both = [("git.log", r#"{"items":[]}"#), ("fs.read", "\"text\"")];
        let source = "const log = await tools.git.log(); const top = await tools.fs.read();\n\
                      const { items } = log; const mine = {};";
        for (message, expected) in [
            (
                "TypeError: top.map is not a function",
                "`top` is what fs.read returned: a text",
            ),
            (
                "TypeError: log.map is not a function",
                "`log` is what git.log returned: an object with the keys `items`",
            ),
            (
                "TypeError: items.x is not a function",
                "`items` comes from what git.log returned",
            ),
            ("TypeError: mine.map is not a function", ""),
        ] {
            check(message, false, &both, source, expected);
        }
        check(
            "TypeError: cannot read property 'a' of undefined",
            false,
            &[("git.log", "[1]")],
            "",
            "git.log returned a list",
        );
    }
}
