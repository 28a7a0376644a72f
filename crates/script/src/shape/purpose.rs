//! The first comment of a program, in which models describe its purpose.

use oxc_ast::ast::Comment;
use oxc_span::Span;

use crate::parse::Parsed;

/// Returns the first comment, with the comments on the lines directly below it.
pub(super) fn find(parsed: &Parsed<'_>) -> Option<String> {
    let mut comments = parsed.program.comments.iter().peekable();
    let mut last = comments.next()?;
    let mut words = words(parsed, last);
    while let Some(next) = comments.next_if(|next| continues(parsed, last, next)) {
        words.extend(self::words(parsed, next));
        last = next;
    }
    (!words.is_empty()).then(|| words.join(" "))
}

/// True for a line comment on the line below another.
fn continues(parsed: &Parsed<'_>, comment: &Comment, next: &Comment) -> bool {
    let between = parsed.text(Span::new(comment.span.end, next.span.start));
    comment.is_line()
        && next.is_line()
        && between.trim().is_empty()
        && between.matches('\n').count() == 1
}

/// The text of a comment, without the stars at the starts of a block's lines.
fn words<'a>(parsed: &Parsed<'a>, comment: &Comment) -> Vec<&'a str> {
    parsed
        .text(comment.content_span())
        .lines()
        .flat_map(|line| {
            line.trim_start_matches([' ', '\t', '*', '/'])
                .split_whitespace()
        })
        .collect()
}
