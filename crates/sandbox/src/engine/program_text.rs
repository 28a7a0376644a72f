//! A program as its author wrote it and as the engine runs it, and the mapping of positions between
//! them.

/// The name of the program in stack traces.
pub(crate) const FILE: &str = "program.js";

/// The head of the function around the program takes one line.
const HEAD: usize = 1;

#[derive(Debug)]
pub(crate) struct ProgramText<'a> {
    pub source: &'a str,
    pub code: &'a str,
}

/// Lines and columns are one-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProgramPosition {
    pub line: usize,
    pub column: usize,
}

impl ProgramText<'_> {
    /// The code as the body of an async function, one line below the head of that function.
    pub(crate) fn as_function(&self) -> String {
        format!("(async () => {{\n{}\n}})()", self.code)
    }

    /// The innermost position of a stack trace in the program, as the author counts.
    pub(crate) fn position(&self, stack: &str) -> Option<ProgramPosition> {
        let position = stack.lines().find_map(in_code)?;
        let column = match (
            line(self.source, position.line),
            line(self.code, position.line),
        ) {
            (Some(written), Some(run)) => original_column(written, run, position.column),
            _ => position.column,
        };
        Some(ProgramPosition { column, ..position })
    }

    /// The path at a position, such as `issues.map`. Engines point before, into or after its last
    /// name.
    pub(crate) fn path_at(&self, position: ProgramPosition) -> Option<&str> {
        let line = line(self.source, position.line)?;
        let at = line
            .char_indices()
            .nth(position.column.checked_sub(1)?)
            .map_or(line.len(), |(at, _)| at);
        let before = line[..at].trim_end_matches('(');
        let start = before
            .rfind(|letter| !is_part_of_path(letter))
            .map_or(0, |at| {
                at + before[at..].chars().next().map_or(1, char::len_utf8)
            });
        let end = match before.len() == at {
            true => line[at..]
                .find(|letter: char| !is_part_of_name(letter) && letter != '.')
                .map_or(line.len(), |length| at + length),
            false => before.len(),
        };
        let path = line.get(start..end)?.trim_matches(['.', '?']);
        let begins = path
            .chars()
            .next()
            .is_some_and(|it| it.is_alphabetic() || matches!(it, '_' | '$'));
        let whole = !line[..start].ends_with([')', ']', '"', '\'', '`']);
        (path.contains('.') && begins && whole).then_some(path)
    }
}

/// `    at load (program.js:3:7)`
fn in_code(line: &str) -> Option<ProgramPosition> {
    let (_, position) = line.split_once(FILE)?;
    let mut numbers = position.trim_matches([':', ')']).split(':').map(str::parse);
    let line: usize = numbers.next()?.ok()?;
    let column = numbers.next()?.ok()?;
    let line = line.checked_sub(HEAD).filter(|line| *line > 0)?;
    Some(ProgramPosition { line, column })
}

fn line(text: &str, number: usize) -> Option<&str> {
    text.lines().nth(number.checked_sub(1)?)
}

/// Subtracts the text that was inserted into the line to return its value.
fn original_column(written: &str, run: &str, column: usize) -> usize {
    let common = written
        .chars()
        .zip(run.chars())
        .take_while(|(a, b)| a == b)
        .count();
    let inserted = text_after(run, common)
        .find(&text_after(written, common))
        .unwrap_or(0);
    if column > common + inserted {
        column - inserted
    } else {
        column
    }
}

fn text_after(line: &str, letters: usize) -> String {
    line.chars().skip(letters).collect()
}

fn is_part_of_path(letter: char) -> bool {
    is_part_of_name(letter) || matches!(letter, '.' | '?')
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, code: &str, stack: &str, position: (usize, usize), path: Option<&str>) {
        let text = ProgramText { source, code };
        let found = text.position(stack).unwrap();
        assert_eq!((found.line, found.column), position);
        assert_eq!(text.path_at(found), path);
    }

    #[test]
    fn a_position_is_counted_as_the_author_counts() {
        check(
            "a\nr.map()",
            "a\nr.map()",
            "at f (program.js:3:7)",
            (2, 7),
            Some("r.map"),
        );
        check(
            "  r.map()",
            "  return (r.map())",
            "at f (program.js:2:17)",
            (1, 9),
            Some("r.map"),
        );
        check(
            "  c.split(' ')",
            "  c.split(' ')",
            "at f (program.js:2:5)",
            (1, 5),
            Some("c.split"),
        );
        check(
            "load().split(' ')",
            "load().split(' ')",
            "at f (program.js:2:13)",
            (1, 13),
            None,
        );
        check(
            "f()",
            "f()",
            "at x (prelude.js:1:1)\nat f (program.js:2:1)",
            (1, 1),
            None,
        );
    }
}
