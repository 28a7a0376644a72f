//! Progress is shown if a command takes longer than a second.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::terminal::Terminal;
use kitbag_testkit::home::Home;
use kitbag_testkit::programs::testbed;

/// A home with a server that takes three seconds to start.
fn home() -> Home {
    let home = Home::new();
    home.ok(&[
        "servers",
        "add",
        "slow",
        "--no-test",
        "--",
        &testbed(),
        "--manner",
        "slow-start",
        "stdio",
    ]);
    home
}

#[test]
fn without_a_terminal_a_long_wait_shows_nothing() {
    let output = home().run(&["servers", "test", "slow"]);
    assert_eq!(output.stderr, "");
    assert!(output.stdout.contains("works"), "{}", output.stdout);
}

#[test]
fn json_output_has_no_progress() {
    let output = home().run(&["servers", "test", "slow", "--json"]);
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[test]
fn at_a_terminal_progress_is_one_line_that_disappears() {
    let shown = at_a_terminal(&home(), &["tools"]);
    let line = "Fetching tools from servers (";
    let moments: BTreeSet<&str> = shown
        .split('\r')
        .filter(|moment| moment.contains(line))
        .collect();
    assert!(
        moments.len() > 2 && moments.iter().any(|moment| moment.ends_with("(2 s)")),
        "{shown:?}"
    );
    let left = shown.rsplit(line).next().unwrap_or_default();
    let wiped = left
        .split_once('\r')
        .map(|(_, rest)| rest)
        .unwrap_or_default();
    let result = wiped.trim_start_matches([' ', '\r']);
    assert!(result.starts_with("NAME"), "{left:?}");
}

#[test]
fn the_progress_of_a_call_is_shown_with_and_without_a_running_gateway() {
    let home = Home::new();
    home.add_testbed();
    let call = ["call", "bed__slow", "ms=2000", "steps=8"];
    let check = |shown: &str| {
        assert!(shown.contains(" %, still at it"), "{shown:?}");
        assert!(
            shown.trim_end().ends_with("slept 2000 ms in 8 steps"),
            "{shown:?}"
        );
    };
    check(&at_a_terminal(&home, &call));

    let mut serve = home.command(&["serve", "--bind", "127.0.0.1:0"]);
    let mut gateway = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut banner = String::new();
    let stdout = gateway.stdout.as_mut().unwrap();
    BufReader::new(stdout).read_line(&mut banner).unwrap();
    check(&at_a_terminal(&home, &call));
    gateway.kill().unwrap();
    gateway.wait().unwrap();
}

#[test]
fn a_quick_answer_shows_no_progress() {
    let home = Home::new();
    home.add_testbed();
    // On a busy machine even a quick command may take half a second, but not every time.
    let mut shown = (0..5).map(|_| at_a_terminal(&home, &["tools", "--server", "bed"]));
    assert!(shown.any(|it| !it.contains("Asking") && it.contains("bed__echo")));
}

/// Returns the output with stdout and stderr at a terminal, without colours.
fn at_a_terminal(home: &Home, words: &[&str]) -> String {
    let terminal = Terminal::open();
    let mut command = home.command(words);
    command.args(["--color", "never"]).stdin(Stdio::null());
    command.stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    // Our own copies of the terminal would keep it open.
    drop(command);
    let shown = terminal.read_to_end();
    assert!(child.wait().unwrap().success());
    shown
}
