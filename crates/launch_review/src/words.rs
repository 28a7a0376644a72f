//! Makes texts of unknown authors readable: quotes them as a shell would need, distinguishes
//! variables from plain text, and escapes invisible characters.

use std::fmt::Write as _;

use kitbag_domain::Template;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
enum TemplatePart<'a> {
    Text(&'a str),
    /// The inside of `${…}`.
    Variable(&'a str),
}

/// Returns a template as one word for a command line: a shell takes plain text literally and fills
/// in variables.
pub fn quote_template(template: &str) -> String {
    let parts = parse_parts(template);
    if parts.iter().any(TemplatePart::is_variable) {
        let inside: String = parts.iter().map(TemplatePart::escape_text).collect();
        return format!("\"{inside}\"");
    }
    let text = visible(&literal_text(template));
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// True if a shell takes the character literally.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_./:=@%+,…".contains(c)
}

/// Returns the text of a template, with its variables unfilled.
fn literal_text(template: &str) -> String {
    let parts = parse_parts(template);
    parts.iter().map(TemplatePart::to_template_text).collect()
}

/// Returns the text of a template if no variable with a default is set: a default may hold a text
/// that would be marked if written plainly.
pub fn fill_defaults(template: &str) -> String {
    let parts = parse_parts(template);
    parts.iter().map(TemplatePart::fill_defaults).collect()
}

impl TemplatePart<'_> {
    fn is_variable(&self) -> bool {
        matches!(self, Self::Variable(_))
    }

    /// Returns the part for use between double quotes.
    fn escape_text(&self) -> String {
        match self {
            Self::Text(text) => escape_text(&visible(text)),
            Self::Variable(inside) => format!("${{{}}}", visible(inside)),
        }
    }

    fn to_template_text(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Variable(inside) => format!("${{{inside}}}"),
        }
    }

    fn fill_defaults(&self) -> String {
        match self {
            Self::Variable(inside) => match inside.split_once(":-") {
                Some((_, default)) => default.to_owned(),
                None => self.to_template_text(),
            },
            Self::Text(_) => self.to_template_text(),
        }
    }
}

/// Returns the names of the variables in a template.
pub fn variables(template: &str) -> Vec<String> {
    Template::new(template)
        .variables()
        .map(str::to_owned)
        .collect()
}

/// Returns the text with every invisible or misleading character escaped.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => {
                write!(shown, "\\u{{{:x}}}", c as u32).expect("writing into a string cannot fail");
            }
            c => shown.push(c),
        }
    }
    shown
}

/// True if a character controls, hides or reverses its neighbours.
pub fn is_hidden(c: char) -> bool {
    use GeneralCategory::{
        Control, Format, LineSeparator, ParagraphSeparator, PrivateUse, SpaceSeparator, Unassigned,
    };
    /// Characters that no font draws, although their category is letter or mark: fillers, selectors and the empty Braille cell.
    const BLANK: [std::ops::RangeInclusive<char>; 8] = [
        '\u{34f}'..='\u{34f}',
        '\u{115f}'..='\u{1160}',
        '\u{17b4}'..='\u{17b5}',
        '\u{2800}'..='\u{2800}',
        '\u{3164}'..='\u{3164}',
        '\u{fe00}'..='\u{fe0f}',
        '\u{ffa0}'..='\u{ffa0}',
        '\u{e0100}'..='\u{e01ef}',
    ];
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let hidden = [
        Control,
        Format,
        LineSeparator,
        ParagraphSeparator,
        PrivateUse,
        SpaceSeparator,
        Unassigned,
    ];
    hidden.contains(&c.general_category()) || BLANK.iter().any(|range| range.contains(&c))
}

fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Parses a template as at launch. `${:-$}` is a dollar sign that begins no variable.
fn parse_parts(template: &str) -> Vec<TemplatePart<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((before, inside, after)) = first_variable(rest) {
        parts.push(TemplatePart::Text(before));
        parts.push(match inside.strip_prefix(":-") {
            Some(default) => TemplatePart::Text(default),
            None => TemplatePart::Variable(inside),
        });
        rest = after;
    }
    parts.push(TemplatePart::Text(rest));
    parts.retain(|part| *part != TemplatePart::Text(""));
    parts
}

/// Splits a text at its first `${…}`: the text before, the inside, the text after.
fn first_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (inside, after) = rest.split_once('}')?;
    Some((before, inside, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_quoted_word_unchanged() {
        for (template, expected) in [
            ("--rm", "--rm"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("${:-$}{secret:x}", "'${secret:x}'"),
            ("$HOME;x", "'$HOME;x'"),
            ("${HOME}/x y", "\"${HOME}/x y\""),
            ("`a`${X}${:-$}1", "\"\\`a\\`${X}\\$1\""),
            ("${A:-b}", "\"${A:-b}\""),
            ("a\nb", "'a\\nb'"),
            ("x\u{202e}y", "'x\\u{202e}y'"),
            ("\u{e0041}\u{200b}\u{1b}", "'\\u{e0041}\\u{200b}\\u{1b}'"),
            ("größe", "größe"),
        ] {
            assert_eq!(quote_template(template), expected, "{template:?}");
        }
    }

    #[test]
    fn the_variables_of_a_template_are_listed() {
        assert_eq!(
            variables("${A} ${B:-x} ${:-$}{C} $D ${secret:e}"),
            ["A", "B", "secret:e"]
        );
    }
}
