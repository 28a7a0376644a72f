//! Asks the person before a command that others have written runs for the first time.

use anyhow::anyhow;

use super::ask;
use super::failure::Advise as _;
use super::output::Output;
use kitbag_launch_review::Review;

/// The decision that the person has to make, and the command by which a script makes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Confirmation<'a> {
    /// The question itself, such as `Run this?`.
    pub(super) text: &'a str,
    /// True if `--yes` was given.
    pub(super) yes: bool,
    /// The command with which a script says yes.
    pub(super) command: &'a str,
}

/// Shows everything and comes back if the person says yes, or has said so by `--yes`. If there is
/// no terminal, the error shows the commands that would run.
pub(super) fn confirm(
    reviews: &[Review],
    question: Confirmation<'_>,
    output: Output,
) -> anyhow::Result<()> {
    if question.yes || (!output.json && ask::is_interactive()) {
        reviews
            .iter()
            .for_each(|review| output.note(&format!("{review}\n")));
        if question.yes || is_yes(&ask::line(&format!("{} [y/N] ", question.text))?) {
            return Ok(());
        }
        return Err(anyhow!("you did not say yes, so nothing was changed"))
            .advise(|| format!("to do it after all: {}", question.command));
    }
    let shown: Vec<_> = reviews.iter().map(ToString::to_string).collect();
    Err(anyhow!(shown.join("\n")))
        .map_err(|shown| {
            shown
                .context("others wrote what would run here, and there is no terminal to ask you at")
        })
        .advise(|| format!("read it, and if you want it to run: {}", question.command))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"]
        .iter()
        .any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}
