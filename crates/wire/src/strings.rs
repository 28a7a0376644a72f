//! Replaces strings in JSON and leaves the rest as it is written: numbers keep their digits, and
//! members their order.

use std::borrow::Cow;

/// A string in JSON, with its quotes and escapes.
#[derive(Debug)]
pub struct JsonString<'a> {
    pub literal: &'a str,
    /// True for the name of a member.
    pub is_name: bool,
    /// The member whose value it is part of, without escapes.
    pub member: &'a str,
    /// The number of objects and arrays around it.
    pub depth: usize,
}

/// Returns the JSON with some of its strings replaced. `replace` returns the new literal, or `None`
/// to keep the string.
pub fn replace_strings(
    json: &str,
    mut replace: impl FnMut(&JsonString<'_>) -> Option<String>,
) -> Cow<'_, str> {
    let mut replaced: Option<String> = None;
    let (mut at, mut copied, mut depth) = (0, 0, 0_usize);
    let mut member = Cow::Borrowed("");
    while let Some(found) = json[at..].find('"') {
        let start = at + found;
        let end = start + string_length(&json[start..]);
        let before = &json[at..start];
        depth += before.matches(['{', '[']).count();
        depth = depth.saturating_sub(before.matches(['}', ']']).count());
        let literal = &json[start..end];
        let is_name = json[end..].trim_start().starts_with(':');
        if is_name {
            member = unescape_name(literal);
        }
        let string = JsonString {
            literal,
            is_name,
            member: &member,
            depth,
        };
        if let Some(new) = replace(&string) {
            let text = replaced.get_or_insert_default();
            text.extend([&json[copied..start], &new]);
            copied = end;
        }
        at = end;
    }
    match replaced {
        Some(text) => Cow::Owned(text + &json[copied..]),
        None => Cow::Borrowed(json),
    }
}

/// Returns the length of a JSON string, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn unescape_name(literal: &str) -> Cow<'_, str> {
    let inside = literal.trim_matches('"');
    match inside.contains('\\') {
        true => Cow::Owned(serde_json::from_str(literal).unwrap_or_default()),
        false => Cow::Borrowed(inside),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_replaced_and_everything_else_stays_as_it_is_written() {
        let json = r#"{ "a":1.0, "\u0062" : ["x", {"c": "x"}], "d\"": "x" }"#;
        let mut seen = Vec::new();
        let replaced = replace_strings(json, |string| {
            let JsonString { member, depth, .. } = string;
            seen.push(format!("{member} {depth} {}", string.is_name));
            (string.literal == "\"x\"").then(|| "\"y\"".to_owned())
        });
        assert_eq!(
            replaced,
            r#"{ "a":1.0, "\u0062" : ["y", {"c": "y"}], "d\"": "y" }"#
        );
        let expected = [
            "a 1 true",
            "b 1 true",
            "b 2 false",
            "c 3 true",
            "c 3 false",
            "d\" 1 true",
            "d\" 1 false",
        ];
        assert_eq!(seen, expected);
        assert!(matches!(replace_strings(json, |_| None), Cow::Borrowed(_)));
    }
}
