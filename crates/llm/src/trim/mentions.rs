//! Finds the names of tools in the text of messages.

use std::collections::HashMap;

/// The names to look for, each with its tool.
#[derive(Debug, Default)]
pub struct Mentions<'a> {
    names: HashMap<&'a str, &'a str>,
}

impl<'a> Mentions<'a> {
    /// Takes pairs of a name and its tool.
    pub fn new(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self {
            names: names.into_iter().collect(),
        }
    }

    /// Returns the tools that a text mentions, in order, once or more. The text is JSON as sent, so
    /// line breaks in it are escapes.
    pub fn in_text<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'a str> + 't {
        split_words(text).filter_map(|word| self.find_tool(word))
    }

    /// A letter after a backslash belongs to an escape, which text inside text has doubled.
    fn find_tool(&self, (word, is_escaped): (&str, bool)) -> Option<&'a str> {
        let whole = self.names.get(word);
        let without_escape = is_escaped.then(|| word.get(1..)).flatten();
        whole.or_else(|| self.names.get(without_escape?)).copied()
    }
}

/// The longest words, each with whether a backslash precedes it.
fn split_words(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        let start = at + bytes[at..].iter().position(|byte| is_name_byte(*byte))?;
        let length = bytes[start..].iter().position(|byte| !is_name_byte(*byte));
        at = length.map_or(bytes.len(), |length| start + length);
        let is_escaped = start > 0 && bytes[start - 1] == b'\\';
        Some((&text[start..at], is_escaped))
    })
}

/// The characters that vendors allow in the name of a function.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let names = [
            ("git__log", "git__log"),
            ("mcp__kitbag__git__tag", "git__tag"),
        ];
        let mentions = Mentions::new(names);
        assert_eq!(mentions.in_text(text).collect::<Vec<_>>(), expect, "{text}");
    }

    #[test]
    fn a_whole_name_is_found_even_after_an_escape() {
        check(r#""try git__log, or git__log_all""#, &["git__log"]);
        check(r#""No such tool: mcp__kitbag__git__tag.""#, &["git__tag"]);
        check(r#""a\ngit__log\n""#, &["git__log"]);
        check(r#""{\"text\":\"a\\ngit__log\"}""#, &["git__log"]);
        check(r#""agit__log é git__lo""#, &[]);
        check("", &[]);
    }
}
