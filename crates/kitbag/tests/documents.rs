//! The README and the guide are correct: their transcripts are run in an empty home and compared, and
//! their configurations are checked.
//!
//! Transcripts that launch a server from a package registry are marked `console real`; the tests in
//! `third_party/newcomer.rs`, which have such servers, run those. `cli_terminal/help.rs` checks that
//! every command in a document is valid.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use kitbag_testkit::guide::documents;
use kitbag_testkit::programs::kitbag;
use kitbag_testkit::transcript::{Terminal, Transcript};

#[test]
fn every_transcript_matches_the_real_output() {
    let mut typed = 0;
    for (name, text) in documents() {
        let transcript = Transcript::read(&text, "console");
        println!("typing what {name} shows");
        let home = tempfile::tempdir().expect("a temporary directory");
        transcript.replay(&terminal(home.path()));
        typed += transcript.steps().count();
    }
    assert!(typed >= 4, "only {typed} commands are shown with answers");
}

#[test]
fn every_configuration_can_be_used() {
    let mut checked = 0;
    for (name, text) in documents() {
        for configuration in configurations(&text) {
            check_configuration(&name, configuration);
            checked += 1;
        }
    }
    assert!(checked >= 8, "only {checked} configurations are shown");
}

#[track_caller]
fn check_configuration(document: &str, configuration: &str) {
    let home = tempfile::tempdir().expect("a temporary directory");
    fs::write(home.path().join("shown.toml"), configuration).expect("the home is ours");
    let (verdict, complaint) = terminal(home.path()).run("kitbag config check --config shown.toml");
    assert!(
        verdict.contains("is valid"),
        "{document} shows\n{configuration}\n{complaint}"
    );
}

/// Without Node.js, Python, uv or any other program but the shell.
#[test]
fn the_first_minute_of_the_readme_needs_no_other_program() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let programs = tempfile::tempdir().expect("a temporary directory");
    symlink("/bin/bash", programs.path().join("bash")).expect("the directory is ours");
    symlink(kitbag(), programs.path().join("kitbag")).expect("the directory is ours");
    let terminal = Terminal {
        home: home.path(),
        path: programs.path().display().to_string(),
    };
    Transcript::read(&documents()["README.md"], "console").replay(&terminal);
}

#[test]
fn a_newcomer_needs_at_most_four_commands_for_the_first_call() {
    let transcript = Transcript::read(&documents()["README.md"], "console");
    let call = transcript
        .steps()
        .position(|step| step.command.starts_with("kitbag call "));
    assert!(call.is_some_and(|at| at < 4), "{transcript:#?}");
}

/// The content of each `toml` block.
fn configurations(document: &str) -> impl Iterator<Item = &str> {
    document
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
}

fn terminal(home: &Path) -> Terminal<'_> {
    let kitbag = kitbag();
    let folder = kitbag.parent().expect("a program lies in a folder");
    Terminal {
        home,
        path: format!("{}:/usr/bin:/bin", folder.display()),
    }
}
