//! A limit on the nesting of a program, checked before it is parsed.
//!
//! The parser, and each reader of its tree, recurses for each level. A program deeper than the
//! stack would crash the process that reads it.

use crate::{SyntaxMistake, position::line_and_column};

/// Programs written by people and models stay below 20. In an unoptimized build, a bracket takes up
/// to 3.5 KB of stack.
const MAX_BRACKETS: usize = 200;

/// The operators of a statement, including all statements around it. Each may nest all that
/// follow, as in `!!!x` and `a + b + c`, and takes up to 0.6 KB of stack. A text concatenated from
/// hundreds of pieces still passes.
const MAX_LINKS: usize = 1_000;

/// Words that, like an operator, apply to the expression after them.
const HOLDING: [&str; 13] = [
    "await", "delete", "do", "else", "for", "if", "new", "return", "typeof", "void", "while",
    "with", "yield",
];

/// Words that continue the statement of the previous line.
const CONTINUING: [&str; 5] = ["as", "else", "in", "instanceof", "satisfies"];

/// Words that begin a statement. After a bracket, it may be nested in the previous one.
const BEGINNING: [&str; 5] = ["do", "for", "if", "while", "with"];

/// Checks that a program can be parsed within the stack.
pub(crate) fn check(source: &str) -> Result<(), SyntaxMistake> {
    let mut scan = Scan::new(source);
    while let Some(piece) = scan.next_piece() {
        scan.count(piece);
        if scan.levels.len() > MAX_BRACKETS {
            return Err(scan.mistake("the brackets of this program are nested too deeply"));
        }
        if scan.links() > MAX_LINKS {
            return Err(scan.mistake("this statement has too many operators"));
        }
    }
    Ok(())
}

/// A piece of a program, as coarse as a count of levels allows.
#[derive(Debug, Clone, Copy, PartialEq)]
enum CodePiece<'a> {
    Word(&'a str),
    Text,
    Newline,
    Sign(char),
}

#[derive(Debug, Default)]
struct OpenBracket {
    links: usize,
    /// The level is a `${…}`, after which the text of a template continues.
    is_in_template: bool,
}

struct Scan<'a> {
    source: &'a str,
    rest: &'a str,
    /// The open brackets, and the program itself below them.
    levels: Vec<OpenBracket>,
    last: CodePiece<'a>,
    is_new_line: bool,
}

impl<'a> Scan<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            rest: source,
            levels: vec![OpenBracket::default()],
            last: CodePiece::Sign(';'),
            is_new_line: false,
        }
    }

    fn next_piece(&mut self) -> Option<CodePiece<'a>> {
        self.skip_blanks_and_comments();
        let first = self.rest.chars().next()?;
        Some(match first {
            '\n' => self.take(1, CodePiece::Newline),
            '\'' | '"' => self.take(string_length(self.rest, first), CodePiece::Text),
            '`' => self.template(1),
            '}' if self.level().is_in_template => self.template_goes_on(),
            '/' if self.begins_regular_expression() => {
                self.take(regular_expression_length(self.rest), CodePiece::Text)
            }
            letter if is_of_word(letter) => self.word(),
            sign => self.take(sign.len_utf8(), CodePiece::Sign(sign)),
        })
    }

    fn count(&mut self, piece: CodePiece<'a>) {
        if piece == CodePiece::Newline {
            self.is_new_line = true;
            return;
        }
        if self.is_new_line && self.begins_statement(piece) {
            self.level().links = 0;
        }
        match piece {
            CodePiece::Sign('(' | '[' | '{') => self.open(false),
            CodePiece::Sign(')' | ']' | '}') => self.close(),
            CodePiece::Sign(';' | ',') => self.level().links = 0,
            CodePiece::Sign(_) => self.level().links += 1,
            CodePiece::Word(word) if HOLDING.contains(&word) => self.level().links += 1,
            CodePiece::Word(_) | CodePiece::Text | CodePiece::Newline => {}
        }
        self.last = piece;
        self.is_new_line = false;
    }

    /// True if a statement certainly ended with the previous line, though without a semicolon.
    fn begins_statement(&self, piece: CodePiece<'_>) -> bool {
        let has_ended = match self.last {
            CodePiece::Word(word) => !HOLDING.contains(&word),
            CodePiece::Sign(sign) => matches!(sign, ')' | ']' | '}'),
            CodePiece::Text | CodePiece::Newline => true,
        };
        has_ended && matches!(piece, CodePiece::Word(word) if !self.continues_statement(word))
    }

    fn continues_statement(&self, word: &str) -> bool {
        let is_behind_bracket = self.last == CodePiece::Sign(')');
        CONTINUING.contains(&word) || (is_behind_bracket && BEGINNING.contains(&word))
    }

    fn open(&mut self, is_in_template: bool) {
        self.level().links += 1;
        self.levels.push(OpenBracket {
            links: 0,
            is_in_template,
        });
    }

    fn close(&mut self) {
        if self.levels.len() > 1 {
            self.levels.pop();
        }
    }

    fn level(&mut self) -> &mut OpenBracket {
        let top = self.levels.len() - 1;
        &mut self.levels[top]
    }

    fn links(&self) -> usize {
        self.levels.iter().map(|level| level.links).sum()
    }

    fn take(&mut self, length: usize, piece: CodePiece<'a>) -> CodePiece<'a> {
        self.rest = &self.rest[length..];
        piece
    }

    fn word(&mut self) -> CodePiece<'a> {
        let end = self.rest.find(|letter| !is_of_word(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        CodePiece::Word(word)
    }

    fn template_goes_on(&mut self) -> CodePiece<'a> {
        self.close();
        self.template(1)
    }

    /// Skips the text of a template, after the character that begins it.
    fn template(&mut self, begin: usize) -> CodePiece<'a> {
        let text = &self.rest[begin..];
        let end = find_unescaped(text, |rest| rest.starts_with('`') || rest.starts_with("${"));
        self.rest = &text[end..];
        if let Some(rest) = self.rest.strip_prefix("${") {
            self.rest = rest;
            self.open(true);
        } else {
            self.rest = self.rest.strip_prefix('`').unwrap_or_default();
        }
        CodePiece::Text
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest.trim_start_matches(is_blank);
            self.rest = match rest.get(..2) {
                Some("//") => &rest[rest.find('\n').unwrap_or(rest.len())..],
                Some("/*") => rest[2..].find("*/").map_or("", |end| &rest[end + 4..]),
                _ => rest,
            };
            if self.rest.len() == rest.len() {
                return;
            }
        }
    }

    /// A slash is only a division after a value.
    fn begins_regular_expression(&self) -> bool {
        match self.last {
            CodePiece::Word(word) => HOLDING.contains(&word),
            CodePiece::Sign(sign) => !matches!(sign, ')' | ']' | '}'),
            CodePiece::Text | CodePiece::Newline => false,
        }
    }

    fn mistake(&self, message: &str) -> SyntaxMistake {
        let (line, column) = line_and_column(self.source, self.source.len() - self.rest.len());
        SyntaxMistake {
            message: message.to_owned(),
            line,
            column,
            hint: Some("divide it into statements with names for their values".to_owned()),
        }
    }
}

fn is_blank(letter: char) -> bool {
    letter != '\n' && letter.is_whitespace()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#' | '@')
}

fn string_length(rest: &str, quote: char) -> usize {
    let end = find_unescaped(&rest[1..], |rest| rest.starts_with([quote, '\n']));
    (end + 2).min(rest.len())
}

fn regular_expression_length(rest: &str) -> usize {
    let end = find_unescaped(&rest[1..], |rest| rest.starts_with(['/', '\n']));
    (end + 2).min(rest.len())
}

/// Returns the offset of the first position not after a backslash at which the text ends.
fn find_unescaped(text: &str, is_end: impl Fn(&str) -> bool) -> usize {
    let mut is_escaped = false;
    for (offset, letter) in text.char_indices() {
        if !is_escaped && is_end(&text[offset..]) {
            return offset;
        }
        is_escaped = !is_escaped && letter == '\\';
    }
    text.len()
}
