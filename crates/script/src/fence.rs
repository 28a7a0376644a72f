//! Programs that a model sent in a Markdown fence.

use std::borrow::Cow;

const FENCE: &str = "```";

/// Returns the program with spaces in place of its fence, so that line numbers do not change.
pub(crate) fn without_fence(source: &str) -> Cow<'_, str> {
    let Some(opening) = opening_length(source) else {
        return Cow::Borrowed(source);
    };
    let (fence, program) = source.split_at(opening);
    let end = program.trim_end();
    let kept = end
        .strip_suffix(FENCE)
        .filter(|kept| kept.ends_with('\n'))
        .unwrap_or(end);
    Cow::Owned(blank(fence) + kept + &blank(&program[kept.len()..]))
}

/// The length up to the end of the opening line.
fn opening_length(source: &str) -> Option<usize> {
    let margin = source.len() - source.trim_start().len();
    let line = source[margin..].lines().next()?;
    line.starts_with(FENCE).then_some(margin + line.len())
}

fn blank(text: &str) -> String {
    text.chars().map(crate::edits::blank).collect()
}
