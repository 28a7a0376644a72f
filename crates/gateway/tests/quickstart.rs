//! What the README and the guides show is what happens: their transcripts, typed in a home with nothing
//! in it.
//!
//! Those that launch a server from a registry are marked `console real`, and are typed by the tests
//! that have one at hand.

mod transcript;

use std::path::Path;

use transcript::{Terminal, Transcript};

const README: &str = include_str!("../../../README.md");
const EVALUATION: &str = include_str!("../../../docs/evaluation.md");

#[track_caller]
fn check(document: &str, at_least: usize) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let kitbag = Path::new(env!("CARGO_BIN_EXE_kitbag"))
        .parent()
        .expect("a program lies in a folder");
    let transcript = Transcript::read(document, "console");
    assert!(
        transcript.steps().count() >= at_least,
        "it shows too little: {transcript:#?}"
    );
    let path = format!("{}:/usr/bin:/bin", kitbag.display());
    transcript.replay(&Terminal {
        home: home.path(),
        path,
    });
}

#[test]
fn the_readme_shows_what_a_person_sees() {
    check(README, 3);
}

#[test]
fn the_guide_to_evaluation_shows_what_a_person_sees() {
    check(EVALUATION, 1);
}

#[test]
fn a_newcomer_needs_at_most_four_commands_for_the_first_call() {
    let transcript = Transcript::read(README, "console real");
    let call = transcript
        .steps()
        .position(|step| step.command.starts_with("kitbag call "));
    assert!(call.is_some_and(|at| at < 4), "{transcript:#?}");
}
