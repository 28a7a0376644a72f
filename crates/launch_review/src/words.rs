//! Texts of unknown authors made readable: quoted where a shell would need it, variables
//! distinguished from letters, and nothing left that does not show.

use std::fmt::Write as _;

use kitbag_domain::Template;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// A stretch of a template.
#[derive(Debug, PartialEq, Eq)]
enum TemplateStretch<'a> {
    Letters(&'a str),
    /// The inside of `${…}`.
    Variable(&'a str),
}

/// Returns a template as one word for a command line: letters quoted so that a shell takes them
/// literally, a variable so that a shell fills it in.
pub fn quote_template(template: &str) -> String {
    let stretches = stretches(template);
    if stretches.iter().any(TemplateStretch::is_variable) {
        let inside: String = stretches.iter().map(TemplateStretch::escape_text).collect();
        return format!("\"{inside}\"");
    }
    let text = visible(&letters(template));
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
fn letters(template: &str) -> String {
    let stretches = stretches(template);
    stretches
        .iter()
        .map(TemplateStretch::to_template_text)
        .collect()
}

/// Returns the text of a template if no variable with a default is set: a default may hold a text
/// that would be marked if written plainly.
pub fn unset(template: &str) -> String {
    let stretches = stretches(template);
    stretches.iter().map(TemplateStretch::unset).collect()
}

impl TemplateStretch<'_> {
    fn is_variable(&self) -> bool {
        matches!(self, Self::Variable(_))
    }

    /// Returns the stretch for use between double quotes.
    fn escape_text(&self) -> String {
        match self {
            Self::Letters(text) => escape_text(&visible(text)),
            Self::Variable(inside) => format!("${{{}}}", visible(inside)),
        }
    }

    fn to_template_text(&self) -> String {
        match self {
            Self::Letters(text) => (*text).to_owned(),
            Self::Variable(inside) => format!("${{{inside}}}"),
        }
    }

    fn unset(&self) -> String {
        match self {
            Self::Variable(inside) => match inside.split_once(":-") {
                Some((_, default)) => default.to_owned(),
                None => self.to_template_text(),
            },
            Self::Letters(_) => self.to_template_text(),
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
                write!(shown, "\\u{{{:x}}}", c as u32).expect("a string takes all");
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
    /// Letters by category that no font draws: fillers, selectors and the empty Braille cell.
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
fn stretches(template: &str) -> Vec<TemplateStretch<'_>> {
    let mut stretches = Vec::new();
    let mut rest = template;
    while let Some((before, inside, after)) = first_variable(rest) {
        stretches.push(TemplateStretch::Letters(before));
        stretches.push(match inside.strip_prefix(":-") {
            Some(default) => TemplateStretch::Letters(default),
            None => TemplateStretch::Variable(inside),
        });
        rest = after;
    }
    stretches.push(TemplateStretch::Letters(rest));
    stretches.retain(|stretch| *stretch != TemplateStretch::Letters(""));
    stretches
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
    fn a_word_is_quoted_so_that_a_shell_would_take_it_for_the_same() {
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
