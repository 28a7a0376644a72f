//! Asks for confirmation before commands from other people's files run for the first time.

use anyhow::anyhow;

use super::ask;
use super::failure::Advise as _;
use super::output::Output;
use kitbag_launch_review::Review;

/// The question and how it is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confirmation<'a> {
    /// The question, such as `Run this?`.
    pub(super) text: &'a str,
    /// True if `--yes` was given.
    pub(super) yes: bool,
    /// The command that confirms in a script.
    pub(super) command: &'a str,
}

/// Shows the commands and returns once the user or `--yes` confirms. Without a terminal, the error
/// lists the commands that would run.
pub(super) fn confirm(
    reviews: &[Review],
    question: Confirmation<'_>,
    output: Output,
) -> anyhow::Result<()> {
    if question.yes || (!output.json && ask::is_interactive()) {
        reviews
            .iter()
            .for_each(|review| output.note(&format!("{review}\n")));
        if question.yes || is_yes(&ask::read_line(&format!("{} [y/N] ", question.text))?) {
            return Ok(());
        }
        return Err(anyhow!("not confirmed; nothing was changed"))
            .advise(|| format!("to confirm: {}", question.command));
    }
    let shown: Vec<_> = reviews.iter().map(ToString::to_string).collect();
    Err(anyhow!(shown.join("\n")))
        .map_err(|shown| {
            shown.context("these commands need confirmation, and there is no terminal to ask on")
        })
        .advise(|| {
            format!(
                "review the commands, then confirm with: {}",
                question.command
            )
        })
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"]
        .iter()
        .any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}
