//! The line and column of a position in a program, as its author counts them.

/// Returns the one-based line and column of a byte offset; columns are characters.
pub(crate) fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..source.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.matches('\n').count();
    (line, 1 + before[start..].chars().count())
}
