//! Finds the variables in a text, in the client's syntax.

use super::variable::{is_name, may_be_in_name};
use crate::client::Client;

pub(super) enum VariableExpression<'t> {
    /// `${…}`, `{…}` or `$…`, without the braces and the dollar sign.
    Plain(&'t str),
    /// `${{ secrets.NAME }}`
    Secret(&'t str),
}

/// Splits a text into the part before its first variable, the variable, and the part after it.
pub(super) fn split_variable(
    client: Client,
    text: &str,
) -> Option<(&str, VariableExpression<'_>, &str)> {
    let starts = text.match_indices(['$', '{']).map(|(at, _)| at);
    for at in starts {
        if let Some((expression, length)) = variable_at_start(client, &text[at..]) {
            return Some((&text[..at], expression, &text[at + length..]));
        }
    }
    None
}

/// Returns the variable that a text begins with, and its length.
fn variable_at_start(client: Client, text: &str) -> Option<(VariableExpression<'_>, usize)> {
    if let Some((inside, length)) = split_enclosed(text, "${{", "}}") {
        let name = inside.trim().strip_prefix("secrets.")?.trim();
        return Some((VariableExpression::Secret(name), length));
    }
    let (inside, length) = match client {
        _ if text.starts_with("${") && text.contains('}') => split_enclosed(text, "${", "}")?,
        Client::Opencode => in_braces(text)?,
        Client::Gemini => dollar_name(text)?,
        _ => return None,
    };
    Some((VariableExpression::Plain(inside), length))
}

/// `{env:NAME}` or `{file:path}`
fn in_braces(text: &str) -> Option<(&str, usize)> {
    let (inside, length) = split_enclosed(text, "{", "}")?;
    let known = inside.starts_with("env:") || inside.starts_with("file:");
    known.then_some((inside, length))
}

/// `$NAME`
fn dollar_name(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('$')?;
    let length = rest.find(|c| !may_be_in_name(c)).unwrap_or(rest.len());
    let name = &rest[..length];
    is_name(name).then_some((name, 1 + length))
}

fn split_enclosed<'t>(text: &'t str, open: &str, close: &str) -> Option<(&'t str, usize)> {
    let (inside, _) = text.strip_prefix(open)?.split_once(close)?;
    Some((inside, open.len() + inside.len() + close.len()))
}
