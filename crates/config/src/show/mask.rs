//! Masks the secret parts of a value: variables are always shown, secrets never.

use kitbag_clients::{HiddenText, is_scheme, secrets_in_address, secrets_in_argument};
use toml::Value;

use crate::rows::Secrecy;

const MASK: &str = "••••";

/// Replaces a value that cannot be shown.
pub(super) fn masked_placeholder() -> Value {
    Value::String(MASK.to_owned())
}

pub(super) fn mask_value(value: Value, secrecy: Secrecy) -> Value {
    match (secrecy, value) {
        (Secrecy::Whole, Value::String(text)) => Value::String(mask_text(&text)),
        (Secrecy::Address, Value::String(text)) => {
            Value::String(secrets_in_address(&text).template(mask_hidden))
        }
        (Secrecy::Words, Value::Array(words)) => Value::Array(mask_words(&words)),
        (_, value) => value,
    }
}

/// A variable in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The name under which the variable is looked up.
    pub(super) name: String,
    pub(super) has_default: bool,
}

pub(super) fn find_references(value: &Value) -> Vec<Reference> {
    match value {
        Value::String(text) => split_variables(text)
            .into_iter()
            .filter_map(|(_, inside)| inside.map(parse_reference))
            .collect(),
        Value::Array(items) => items.iter().flat_map(find_references).collect(),
        _ => Vec::new(),
    }
}

fn parse_reference(inside: &str) -> Reference {
    let (name, default) = inside
        .split_once(":-")
        .map_or((inside, None), |(name, it)| (name, Some(it)));
    Reference {
        name: name.to_owned(),
        has_default: default.is_some(),
    }
}

/// Returns each piece of plain text, with the inside of the variable that follows it.
fn split_variables(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, (inside, after))) = rest
        .split_once("${")
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        pieces.push((before, Some(inside)));
        rest = after;
    }
    pieces.push((rest, None));
    pieces
}

fn mask_words(words: &[Value]) -> Vec<Value> {
    let mut before: Option<&str> = None;
    let mut masked = Vec::with_capacity(words.len());
    for word in words {
        let Some(text) = word.as_str() else { continue };
        masked.push(Value::String(
            secrets_in_argument(before, text).template(mask_hidden),
        ));
        before = Some(text);
    }
    masked
}

fn mask_hidden(hidden: HiddenText<'_>) -> String {
    let (HiddenText::Typed(text) | HiddenText::Wanted(text)) = hidden;
    mask_text(text)
}

/// Keeps variables and the authentication scheme before a secret, and masks everything else.
fn mask_text(text: &str) -> String {
    let pieces = split_variables(text).into_iter();
    let masked = pieces.flat_map(|(plain, inside)| {
        [
            mask_literal(plain),
            inside.map(mask_default).unwrap_or_default(),
        ]
    });
    masked.collect()
}

/// Returns the reference to a variable, with its default masked.
fn mask_default(inside: &str) -> String {
    match inside.split_once(":-") {
        Some((name, default)) if !default.is_empty() => format!("${{{name}:-{MASK}}}"),
        _ => format!("${{{inside}}}"),
    }
}

fn mask_literal(text: &str) -> String {
    let (first, rest) = text
        .split_once(' ')
        .map_or(("", text), |(first, rest)| (first, rest));
    if is_scheme(first) {
        return format!("{first} {}", mask_literal(rest));
    }
    if text.trim().is_empty() {
        text.to_owned()
    } else {
        MASK.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(secrecy: Secrecy, value: &str, expected: &str) {
        let value: Value = value.parse().unwrap();
        assert_eq!(mask_value(value, secrecy).to_string(), expected);
    }

    #[test]
    fn only_the_variables_of_a_secret_are_shown() {
        check(Secrecy::Whole, "'s3cret'", "\"••••\"");
        check(Secrecy::Whole, "'${TOKEN}'", "\"${TOKEN}\"");
        check(
            Secrecy::Whole,
            "'Bearer ${secret:a}'",
            "\"Bearer ${secret:a}\"",
        );
        check(Secrecy::Whole, "'Bearer s3cret'", "\"Bearer ••••\"");
        check(
            Secrecy::Whole,
            "'a${B}c ${D:-s3cret} ${E:-}'",
            "\"••••${B}••••${D:-••••} ${E:-}\"",
        );
        check(Secrecy::Whole, "''", "\"\"");
    }

    #[test]
    fn words_and_urls_are_shown_without_their_secrets() {
        check(
            Secrecy::Words,
            "['-y', 'pkg', '--api-key', 's3cret', '--token=${T}', '--dir=/a']",
            r#"["-y", "pkg", "--api-key", "••••", "--token=${T}", "--dir=/a"]"#,
        );
        check(
            Secrecy::Words,
            "['--header', 'Authorization: Bearer ${T}']",
            r#"["--header", "Authorization: Bearer ${T}"]"#,
        );
        check(
            Secrecy::Address,
            "'https://ann:pw@h/mcp?key=s3cret&p=1'",
            r#""https://ann:••••@h/mcp?key=••••&p=1""#,
        );
        check(
            Secrecy::Address,
            "'https://h/${T}/mcp?key=${K}'",
            r#""https://h/${T}/mcp?key=${K}""#,
        );
    }

    #[test]
    fn variables_are_found_in_texts_and_lists() {
        let value: Value = "['${A}-${B:-x}', 'c', '${secret:d} ${unclosed']"
            .parse()
            .unwrap();
        let found = find_references(&value)
            .into_iter()
            .map(|it| (it.name, it.has_default))
            .collect::<Vec<_>>();
        let expected = [("A", false), ("B", true), ("secret:d", false)];
        assert_eq!(
            found,
            expected.map(|(name, has_default)| (name.to_owned(), has_default))
        );
    }
}
