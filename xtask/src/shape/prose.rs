//! Comments without a subject, and words that name no actor.

use super::source::SourceFile;

/// Words that say an actor exists and not which one. They are put together from halves, so that
/// this file is clean, too.
pub const UNNAMED_ACTORS: [&str; 4] = [
    concat!("who", "ever"),
    concat!("some", "body"),
    concat!("no", "body"),
    concat!("every", "body"),
];

/// A comment that begins like this is either a question or a clause without its sentence.
const CLAUSE_BEGINS: [&str; 5] = ["What", "Whether", "Who", "How", "Where"];

#[derive(Debug, Default)]
pub struct Prose {
    /// Comment lines that begin a clause without its sentence.
    pub headless: usize,
    /// Uses of [`UNNAMED_ACTORS`], in comments, texts and names.
    pub unnamed_actors: usize,
}

impl Prose {
    #[must_use]
    pub fn of(files: &[&SourceFile]) -> Self {
        let mut found = Self::default();
        for file in files {
            let lines: Vec<&str> = file.lines.iter().map(|(_, line)| line.as_str()).collect();
            found.headless += headless(&lines);
            found.unnamed_actors += lines.iter().map(|line| unnamed_actors(line)).sum::<usize>();
        }
        found
    }
}

/// Counts the uses of [`UNNAMED_ACTORS`] in a text.
#[must_use]
pub fn unnamed_actors(text: &str) -> usize {
    let text = text.to_lowercase();
    text.split(|letter: char| !letter.is_alphabetic())
        .filter(|word| UNNAMED_ACTORS.contains(word))
        .count()
}

fn headless(lines: &[&str]) -> usize {
    let comments: Vec<Option<&str>> = lines.iter().map(|line| comment(line)).collect();
    (0..comments.len())
        .filter(|&at| comments[at].is_some_and(begins_a_clause) && !is_question(&comments[at..]))
        .count()
}

/// The text of a line that is nothing but a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

fn begins_a_clause(comment: &str) -> bool {
    let first = comment.split(|letter: char| !letter.is_alphabetic()).next();
    first.is_some_and(|word| CLAUSE_BEGINS.contains(&word))
}

/// True if the sentence that begins with the first line ends with a question mark.
fn is_question(comments: &[Option<&str>]) -> bool {
    for comment in comments.iter().map_while(|comment| *comment) {
        if let Some(end) = comment.find(['.', '?']) {
            return comment[end..].starts_with('?');
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{headless, unnamed_actors};

    #[test]
    fn a_clause_without_its_sentence_is_counted_and_a_question_is_not() {
        check(&["/// What a client sends."], 1);
        check(&["//! Whether it", "//! holds."], 1);
        check(&["/// What does a client send?"], 0);
        check(&["/// Who asks, and", "/// why now?"], 0);
        check(
            &["/// The text a client sends.", "let what = 1; // What"],
            0,
        );
        check(&["/// Whatever holds."], 0);
    }

    #[track_caller]
    fn check(lines: &[&str], expected: usize) {
        assert_eq!(headless(lines), expected, "{lines:?}");
    }

    #[test]
    fn an_unnamed_actor_is_counted_in_text_and_in_names() {
        let text = concat!(
            "fn some",
            "body_asks() {} // No",
            "body knows who",
            "ever's."
        );
        assert_eq!(unnamed_actors(text), 3);
        assert_eq!(unnamed_actors("who ever knows"), 0);
    }
}
