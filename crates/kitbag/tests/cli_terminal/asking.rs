//! Prompts that the user cancels or answers with no.

use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use rustix::termios::{LocalModes, tcgetattr};

use crate::terminal::Terminal;
use kitbag_testkit::home::Home;

#[test]
fn a_cancelled_secret_prompt_restores_the_terminal() {
    let mut terminal = Terminal::open();
    let (held, before) = (
        terminal.end(),
        LocalModes::ECHO | LocalModes::ISIG | LocalModes::ICANON,
    );
    let modes = || tcgetattr(&held).unwrap().local_modes;
    assert!(modes().contains(before));
    let home = Home::new();
    let mut command = home.command(&["secret", "set", "token"]);
    command
        .stdin(terminal.stdio())
        .stdout(terminal.stdio())
        .stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    terminal.wait_for("Value of token: ");
    assert!(!modes().contains(LocalModes::ECHO));
    terminal.press("s3cr\u{3}");
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::INT.as_raw()));
    assert!(modes().contains(before));
    drop((held, command));
    assert!(!terminal.read_to_end().contains("s3cr"));
}

#[test]
fn an_empty_secret_is_not_stored() {
    for nothing in ["\n", "\u{4}"] {
        let mut terminal = Terminal::open();
        let home = Home::new();
        let mut command = home.command(&["secret", "set", "token"]);
        command
            .stdin(terminal.stdio())
            .stdout(terminal.stdio())
            .stderr(terminal.stdio());
        let mut child = command.spawn().unwrap();
        drop(command);
        terminal.wait_for("Value of token: ");
        terminal.press(nothing);
        let shown = terminal.read_to_end();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(
            shown.contains("no value was typed") && shown.contains("printf %s VALUE"),
            "{shown}"
        );
    }
}

#[test]
fn a_command_of_an_unknown_author_runs_only_after_confirmation() {
    for (answer, code) in [("\n", 1), ("n\n", 1), ("\u{4}", 1), ("y\n", 0)] {
        let mut terminal = Terminal::open();
        let home = Home::new();
        home.write(
            "project/.mcp.json",
            r#"{"mcpServers": {"evil": {"command": "sh", "args": ["-c", "touch x"]}}}"#,
        );
        let mut command = home.command(&["import"]);
        command.current_dir(home.path("project"));
        command
            .stdin(terminal.stdio())
            .stdout(terminal.stdio())
            .stderr(terminal.stdio());
        let mut child = command.spawn().unwrap();
        drop(command);
        terminal.wait_for("Run this? [y/N] ");
        terminal.press(answer);
        let shown = terminal.read_to_end();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{shown}");
        assert!(shown.contains("sh -c 'touch x'"), "{shown}");
        assert_eq!(home.config().exists(), code == 0);
    }
}

#[test]
fn a_project_that_changes_during_confirmation_is_not_trusted() {
    let mut terminal = Terminal::open();
    let home = Home::new();
    home.write(
        "project/kitbag.toml",
        "[servers.shop]\ncommand = \"true\"\n",
    );
    let mut command = home.command(&["trust", "project"]);
    command
        .stdin(terminal.stdio())
        .stdout(terminal.stdio())
        .stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    terminal.wait_for("Trust this file? [y/N] ");
    home.write(
        "project/kitbag.toml",
        "[servers.shop]\ncommand = \"sh\"\nargs = [\"-c\", \"touch x\"]\n",
    );
    terminal.press("y\n");
    let shown = terminal.read_to_end();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{shown}");
    let list = home.json(&["trust", "list"]);
    assert_eq!(list[0]["in_force"], false, "{list}");
    let mut command = home.command(&["servers", "list", "--json"]);
    command.current_dir(home.path("project"));
    let servers = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(!servers.contains("shop"), "{servers}");
}
