//! Variables in Kitbag's syntax, and the list of variables that still need a value.

use crate::config::{NeededVariable, VariableSource};
use crate::sensitive_text::TextPart;

/// The prefix of a needed variable that is a secret.
const SECRET_PREFIX: &str = "secret:";

/// Names with these prefixes are reserved for Kitbag: a client's file must not read them.
const RESERVED: [&str; 2] = [SECRET_PREFIX, "KITBAG_"];

/// The longest name of a secret.
const MAX_SECRET_NAME: usize = 64;

/// An environment variable in Kitbag's syntax. A name that a template would read as something else
/// becomes plain text.
pub(crate) fn variable(
    name: &str,
    source: VariableSource,
    default: Option<&str>,
    needed: &mut Vec<NeededVariable>,
) -> TextPart {
    if is_reserved(name) || name.contains(['{', '}', '$']) || name.is_empty() {
        return TextPart::Literal(format_variable(name, default));
    }
    match default {
        Some(default) if default.contains(['{', '}']) => TextPart::Literal(default.to_owned()),
        Some(_) => TextPart::Template(format_variable(name, default)),
        None => {
            add_needed(name.to_owned(), source, needed);
            TextPart::Template(format_variable(name, None))
        }
    }
}

/// A secret that the operator has to supply, under its name in the file.
pub(crate) fn needed_secret(
    name: &str,
    source: VariableSource,
    needed: &mut Vec<NeededVariable>,
) -> TextPart {
    let mut name: String = name
        .chars()
        .take(MAX_SECRET_NAME)
        .map(fit_secret_name)
        .collect();
    if name.is_empty() {
        name.push_str("unnamed");
    }
    add_needed(format!("{SECRET_PREFIX}{name}"), source, needed);
    TextPart::Wanted(name)
}

/// Returns the name of a variable for the answer to a question with this id.
pub(super) fn name_for(id: &str) -> String {
    id.chars().map(fit_variable_name).collect()
}

pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(may_be_in_name)
}

pub(super) fn may_be_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn add_needed(name: String, source: VariableSource, needed: &mut Vec<NeededVariable>) {
    let variable = NeededVariable { name, source };
    if !needed.contains(&variable) {
        needed.push(variable);
    }
}

fn is_reserved(name: &str) -> bool {
    let name = name.trim_start();
    RESERVED.iter().any(|prefix| name.starts_with(prefix))
}

fn format_variable(name: &str, default: Option<&str>) -> String {
    match default {
        Some(default) => format!("${{{name}:-{default}}}"),
        None => format!("${{{name}}}"),
    }
}

fn fit_secret_name(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') {
        c
    } else {
        '_'
    }
}

fn fit_variable_name(c: char) -> char {
    if c.is_ascii_alphanumeric() {
        c.to_ascii_uppercase()
    } else {
        '_'
    }
}
