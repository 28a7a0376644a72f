//! Writes a program in one form, whatever its author's layout.

use std::collections::HashMap;

use oxc_parser::{Kind, Token};

use super::marks::{self, LayoutMarks};
use crate::parse::Parsed;

const INDENT: &str = "  ";

/// Returns the program without comments, with names from `params` instead of literals.
pub(super) fn write(parsed: &Parsed<'_>, names_by_offset: &HashMap<u32, (String, u32)>) -> String {
    let mut writer = Writer {
        marks: marks::find(parsed),
        code: String::new(),
        depth: 0,
        last: None,
    };
    let mut skip_until = 0;
    for token in parsed.tokens_from(0) {
        if token.start() < skip_until || writer.marks.idle.contains(&token.start()) {
            continue;
        }
        match names_by_offset.get(&token.start()) {
            Some((name, end)) => {
                writer.write(token, &format!("params.{name}"), *end);
                skip_until = *end;
            }
            None => writer.write(token, parsed.text(token.span()), token.end()),
        }
    }
    writer.code
}

struct Writer<'p, 'a> {
    marks: LayoutMarks<'p, 'a>,
    code: String,
    depth: usize,
    last: Option<Kind>,
}

impl Writer<'_, '_> {
    fn write(&mut self, token: &Token, text: &str, end: u32) {
        self.separate(token);
        self.code.push_str(text);
        self.last = Some(token.kind());
        if self.marks.opening.contains(&token.start()) {
            self.depth += 1;
        }
        if self.marks.unended.contains(&end) {
            self.code.push(';');
            self.last = Some(Kind::Semicolon);
        }
    }

    fn separate(&mut self, token: &Token) {
        let Some(last) = self.last else {
            return;
        };
        let is_closing = self.marks.closing.contains(&token.start());
        if is_closing {
            self.depth = self.depth.saturating_sub(1);
        }
        let is_empty = is_closing && last == Kind::LCurly;
        if !is_empty && (is_closing || self.marks.lines.contains(&token.start())) {
            self.code.push('\n');
            self.code.push_str(&INDENT.repeat(self.depth));
        } else if !is_empty && !touches(last, token.kind()) {
            self.code.push(' ');
        }
    }
}

/// True for two tokens that are written without a space between them and stay separate.
fn touches(last: Kind, next: Kind) -> bool {
    match (last, next) {
        (_, Kind::Comma | Kind::Semicolon | Kind::RParen | Kind::RBrack | Kind::Colon) => true,
        // A dot after a number would become a part of it.
        (last, Kind::Dot | Kind::QuestionDot) => !last.is_number(),
        (Kind::LParen | Kind::LBrack | Kind::Dot | Kind::QuestionDot | Kind::Dot3, _) => true,
        (Kind::Bang, _) => true,
        (last, Kind::LParen | Kind::LBrack) => is_end_of_value(last),
        _ => false,
    }
}

fn is_end_of_value(kind: Kind) -> bool {
    match kind {
        Kind::RParen | Kind::RBrack | Kind::This | Kind::Super => true,
        Kind::Let | Kind::Of | Kind::Yield | Kind::Await => false,
        _ => kind.is_identifier_name() && !kind.is_reserved_keyword(),
    }
}
