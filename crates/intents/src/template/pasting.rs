//! Finds positions in a program where its author expects a value to be pasted in: `${project}` or
//! `{project}` in a plain string, `{{project}}` anywhere. A program gets its values as data, in
//! `params`: pasting text into code would let a caller write code.
//!
//! The program is not parsed here, only divided into strings, comments and the rest.

use super::TemplateParameters;

/// A position that expects text to be pasted in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PastedText {
    pub(super) found: String,
    /// In bytes from the beginning of the program.
    pub(super) offset: usize,
}

pub(super) fn find(code: &str, parameters: &TemplateParameters) -> Option<PastedText> {
    let mut found = pieces(code).filter_map(|piece| in_piece(code, piece, parameters));
    found.next()
}

fn pieces(code: &str) -> Pieces<'_> {
    Pieces {
        code,
        at: 0,
        templates: Vec::new(),
        before: None,
    }
}

/// A stretch of a program.
#[derive(Debug, Clone, Copy)]
struct ProgramPiece {
    kind: PieceKind,
    start: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Code,
    /// In single or double quotes.
    String,
    /// Comments, regular expressions and the text of template literals.
    Other,
}

fn in_piece(
    code: &str,
    piece: ProgramPiece,
    parameters: &TemplateParameters,
) -> Option<PastedText> {
    let text = &code[piece.start..piece.end];
    let mut braces = text.match_indices('{');
    braces.find_map(|(at, _)| {
        let range = placeholder(text, at, piece.kind, parameters)?;
        Some(PastedText {
            found: text[range.clone()].to_owned(),
            offset: piece.start + range.start,
        })
    })
}

/// Returns the placeholder whose first brace is at this position, if any.
fn placeholder(
    text: &str,
    at: usize,
    kind: PieceKind,
    parameters: &TemplateParameters,
) -> Option<std::ops::Range<usize>> {
    let close = at + text[at..].find('}')? + 1;
    let dollar = text[..at].ends_with('$');
    let inside = text[at..close].trim_matches(['{', '}', ' ']);
    let doubled = text[at..].starts_with("{{") && text[close..].starts_with('}');
    let named = parameters.contains(inside);
    let waits = match kind {
        PieceKind::Other => false,
        PieceKind::String => dollar || named,
        // `{project}` is an object or a block here.
        PieceKind::Code => dollar || (named && doubled),
    };
    let end = if doubled { close + 1 } else { close };
    waits.then(|| at - usize::from(dollar)..end)
}

/// Divides a program into pieces.
struct Pieces<'a> {
    code: &'a str,
    at: usize,
    /// For each template literal with an open expression, the number of its open braces.
    templates: Vec<usize>,
    /// The last non-blank character of code: it distinguishes a division from a regular expression.
    before: Option<char>,
}

impl Iterator for Pieces<'_> {
    type Item = ProgramPiece;

    fn next(&mut self) -> Option<ProgramPiece> {
        let start = self.at;
        let rest = &self.code[start..];
        let first = rest.chars().next()?;
        let (kind, length) = match first {
            '"' | '\'' => (PieceKind::String, quoted_length(rest, first)),
            '`' => (PieceKind::Other, 1 + self.template(&rest[1..])),
            '/' if rest.starts_with("//") => (PieceKind::Other, length_until(rest, "\n")),
            '/' if rest.starts_with("/*") => (PieceKind::Other, length_until(rest, "*/")),
            '/' if self.begins_expression() => (PieceKind::Other, quoted_length(rest, '/')),
            '}' if self.closes_template() => (PieceKind::Other, 1 + self.template(&rest[1..])),
            _ => (PieceKind::Code, self.code_until_next(rest)),
        };
        if kind != PieceKind::Code {
            self.before = Some('"');
        }
        self.at += length;
        let end = self.at;
        Some(ProgramPiece { kind, start, end })
    }
}

impl Pieces<'_> {
    /// Returns the length of the text of a template literal, up to its end or its next expression.
    fn template(&mut self, text: &str) -> usize {
        let mut escaped = false;
        for (at, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '`' => return at + 1,
                '{' if text[..at].ends_with('$') => {
                    self.templates.push(0);
                    return at + 1;
                }
                _ => {}
            }
        }
        text.len()
    }

    /// Returns true if this brace ends an expression of a template literal.
    fn closes_template(&mut self) -> bool {
        let closes = self.templates.last() == Some(&0);
        if closes {
            self.templates.pop();
        }
        closes
    }

    /// Returns true if a slash cannot be a division here.
    fn begins_expression(&self) -> bool {
        self.before
            .is_none_or(|c| "(,=:[!&|?{};+-*%<>~^\n".contains(c))
    }

    /// Returns the length of the code up to the next character that may begin another piece.
    fn code_until_next(&mut self, text: &str) -> usize {
        for (at, c) in text.char_indices() {
            let stops = matches!(c, '"' | '\'' | '`' | '/') || self.is_open_end(c);
            if stops && at > 0 {
                return at;
            }
            self.count(c);
            if !c.is_whitespace() {
                self.before = Some(c);
            }
        }
        text.len()
    }

    fn is_open_end(&self, c: char) -> bool {
        c == '}' && self.templates.last() == Some(&0)
    }

    fn count(&mut self, c: char) {
        let Some(open) = self.templates.last_mut() else {
            return;
        };
        match c {
            '{' => *open += 1,
            '}' => *open = open.saturating_sub(1),
            _ => {}
        }
    }
}

/// Returns the length of a text in quotes, or up to the end of its line.
fn quoted_length(text: &str, quote: char) -> usize {
    let (mut escaped, mut in_class) = (false, false);
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            // A slash in `[…]` does not end a regular expression.
            '[' | ']' if quote == '/' => in_class = c == '[',
            _ if c == quote && !in_class => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn length_until(text: &str, end: &str) -> usize {
    text.find(end).map_or(text.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_for_pasting_are_found_and_javascript_is_not() {
        let mut parameters = TemplateParameters::default();
        let schema = json!({ "type": "string" });
        parameters.add("project", &schema).unwrap();
        for (code, expected) in [
            (r#"call("x", { q: "{project}" })"#, Some("{project}")),
            (r"call('x', '${project}')", Some("${project}")),
            (r"call('x', '${anything}')", Some("${anything}")),
            ("return {{project}};", Some("{{project}}")),
            ("return ${project};", Some("${project}")),
            ("`a ${x}` + '${project}'", Some("${project}")),
            ("`a ${ {a: `${b}`} } c` + '{project}'", Some("{project}")),
            ("return `in ${params.project}: ${`${a}`}`;", None),
            ("const {project} = params; return {project};", None),
            ("// ${project} and {project}\n1", None),
            ("/* '${project} */ 1", None),
            (r#"x.replace(/"{project}/g, "")"#, None),
            ("a / b; c = '/'; d / e", None),
            ("f('{other}', '{}', \"a\\\"{\")", None),
            ("return \"unclosed", None),
        ] {
            let found = find(code, &parameters).map(|it| it.found);
            assert_eq!(found.as_deref(), expected, "{code}");
        }
    }

    proptest! {
        #[test]
        fn every_letter_of_a_program_is_in_one_piece(code in "([`'\"/{}$\\\\\n\\[\\]*]|\\PC){0,60}") {
            let mut at = 0;
            for piece in pieces(&code) {
                prop_assert!(piece.start == at && piece.end > at);
                at = piece.end;
            }
            prop_assert_eq!(at, code.len());
            find(&code, &TemplateParameters::default());
        }
    }
}
