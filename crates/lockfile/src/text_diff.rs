//! Compares two texts word by word, and shows each difference with a few words of context.

use kitbag_domain::text::reveal_invisible;

/// The old and the new text of one passage, each on one line. The two lines have the same beginning
/// and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPassage {
    pub old: String,
    pub new: String,
}

/// Words of context around a change.
const CONTEXT: usize = 6;
/// How many pairs of words are compared. Larger texts are shown whole.
const MAX_PAIRS: usize = 4_000_000;

/// Returns the passages in which the texts differ, including differences in white space only.
pub fn changed_passages(old: &str, new: &str) -> Vec<ChangedPassage> {
    let (old, new) = (split_words(old), split_words(new));
    let steps = diff_words(&old, &new);
    let mut passages = Vec::new();
    let mut at = 0;
    while let Some(first) = steps[at..].iter().position(Step::is_change) {
        let first = at + first;
        let end = end_of_passage(&steps, first);
        passages.push(to_passage(&steps, first, end));
        at = end;
    }
    passages
}

/// Splits a text into words, each with the white space before it.
fn split_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut is_inside = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && is_inside {
            words.push(&text[begin..at]);
            begin = at;
        }
        is_inside = !c.is_whitespace();
    }
    if begin < text.len() {
        words.push(&text[begin..]);
    }
    words
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'t> {
    Same(&'t str),
    Old(&'t str),
    New(&'t str),
}

impl Step<'_> {
    fn is_change(&self) -> bool {
        !matches!(self, Self::Same(_))
    }
}

fn diff_words<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<Step<'t>> {
    let start = common_length(old.iter(), new.iter());
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = common_length(old_rest.iter().rev(), new_rest.iter().rev());
    let old_middle = &old_rest[..old_rest.len() - end];
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut steps: Vec<Step<'t>> = old[..start].iter().map(|it| Step::Same(it)).collect();
    if old_middle.len().saturating_mul(new_middle.len()) > MAX_PAIRS {
        steps.extend(old_middle.iter().map(|it| Step::Old(it)));
        steps.extend(new_middle.iter().map(|it| Step::New(it)));
    } else {
        diff_middle(&mut steps, old_middle, new_middle);
    }
    steps.extend(old[old.len() - end..].iter().map(|it| Step::Same(it)));
    steps
}

fn common_length<'a, 't: 'a>(
    old: impl Iterator<Item = &'a &'t str>,
    new: impl Iterator<Item = &'a &'t str>,
) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

/// The longest common sequence of words stays; everything else is old or new.
fn diff_middle<'t>(steps: &mut Vec<Step<'t>>, old: &[&'t str], new: &[&'t str]) {
    let lengths = common_lengths(old, new);
    let width = new.len() + 1;
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            steps.push(Step::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            steps.push(Step::Old(old[i]));
            i += 1;
        } else {
            steps.push(Step::New(new[j]));
            j += 1;
        }
    }
    steps.extend(old[i..].iter().map(|it| Step::Old(it)));
    steps.extend(new[j..].iter().map(|it| Step::New(it)));
}

/// For each pair of positions, the length of the longest common sequence from there on.
fn common_lengths(old: &[&str], new: &[&str]) -> Vec<u32> {
    let width = new.len() + 1;
    let mut lengths = vec![0; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = match old[i] == new[j] {
                true => lengths[(i + 1) * width + j + 1] + 1,
                false => lengths[(i + 1) * width + j].max(lengths[i * width + j + 1]),
            };
        }
    }
    lengths
}

/// A passage ends where so many equal words follow that the next change gets its own passage.
fn end_of_passage(steps: &[Step<'_>], first: usize) -> usize {
    let mut end = first;
    for (at, step) in steps.iter().enumerate().skip(first) {
        if step.is_change() {
            end = at + 1;
        } else if at >= end + 2 * CONTEXT {
            break;
        }
    }
    end
}

fn to_passage(steps: &[Step<'_>], first: usize, end: usize) -> ChangedPassage {
    let begin = first.saturating_sub(CONTEXT);
    let close = steps.len().min(end + CONTEXT);
    let shown = &steps[begin..close];
    let before = if begin > 0 { "… " } else { "" };
    let after = if close < steps.len() { " …" } else { "" };
    let line = |text: String| {
        format!(
            "{before}{}{after}",
            to_one_line(text.trim_start_matches(' '))
        )
    };
    ChangedPassage {
        old: line(join_words(shown, |step| match step {
            Step::Same(word) | Step::Old(word) => word,
            Step::New(_) => "",
        })),
        new: line(join_words(shown, |step| match step {
            Step::Same(word) | Step::New(word) => word,
            Step::Old(_) => "",
        })),
    }
}

fn join_words<'t>(steps: &[Step<'t>], word: impl Fn(Step<'t>) -> &'t str) -> String {
    steps.iter().map(|step| word(*step)).collect()
}

/// Returns the text on one line, with everything in it made visible.
pub fn to_one_line(text: &str) -> String {
    reveal_invisible(text).replace('\n', "⏎").replace('\t', "⇥")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[(&str, &str)]) {
        let passages = changed_passages(old, new);
        let lines: Vec<_> = passages
            .iter()
            .map(|it| (it.old.as_str(), it.new.as_str()))
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn only_changed_words_are_shown_with_some_context() {
        check("Reads.", "Reads.", &[]);
        check("Reads.", "Writes.", &[("Reads.", "Writes.")]);
        check(
            "one two three four five six seven eight nine ten",
            "one two three four five six seven eight 9 ten",
            &[(
                "… three four five six seven eight nine ten",
                "… three four five six seven eight 9 ten",
            )],
        );
        let long = "w ".repeat(40);
        check(
            &format!("a {long}b"),
            &format!("x {long}y"),
            &[
                ("a w w w w w w …", "x w w w w w w …"),
                ("… w w w w w w b", "… w w w w w w y"),
            ],
        );
    }

    #[test]
    fn nothing_can_hide_in_a_change() {
        check(
            "Reads one file.",
            "Reads\u{200b} one\n\nfile.",
            &[("Reads one file.", "Reads<U+200B> one⏎⏎file.")],
        );
        check("a", "a ", &[("a", "a ")]);
    }

    #[test]
    fn long_texts_with_nothing_in_common_are_compared_quickly() {
        let (old, new) = ("old ".repeat(20_000), "new ".repeat(20_000));
        assert_eq!(changed_passages(&old, &new).len(), 1);
    }
}
