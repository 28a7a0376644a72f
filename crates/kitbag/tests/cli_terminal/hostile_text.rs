//! Names and texts from servers and clients, on every path to a terminal.

use std::fs;

use kitbag_testkit::home::Home;
use kitbag_testkit::programs::testbed;
use serde_json::{Value, json};

use crate::terminal::Terminal;

/// Direction marks, line separators, terminal commands, and tag characters.
const HOSTILE: &str = "x\u{202e}y\u{2066}z\u{200b}\u{2028}2026-01-01 forged\u{9b}31m\u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}[8m\u{e0041}";

fn home() -> Home {
    let home = Home::new();
    fs::create_dir_all(home.path("bed")).unwrap();
    let tool = json!({
        "name": format!("odd_{HOSTILE}"),
        "title": HOSTILE,
        "description": format!("Sends a letter. {HOSTILE}"),
        "inputSchema": { "type": "object", "properties": { HOSTILE: { "type": "string", "description": HOSTILE } } },
    });
    let plain =
        json!({ "name": "letter", "description": HOSTILE, "inputSchema": { "type": "object" } });
    let prompt = json!({ "name": format!("p{HOSTILE}"), "description": HOSTILE });
    let edited = json!({ "instructions": HOSTILE, "tools": [tool, plain], "prompts": [prompt] });
    home.write("bed/edited.json", &edited.to_string());
    let bed = testbed();
    let folder = home.path("bed").to_str().unwrap().to_owned();
    let launch = [&bed, "--manner", "edited", "--data-dir", &folder, "stdio"];
    home.ok(&[&["servers", "add", "bed", "--"], &launch[..]].concat());
    home
}

/// Returns the output of a command with stdout and stderr at a terminal.
fn terminal_output(home: &Home, words: &[&str]) -> String {
    let terminal = Terminal::open();
    let mut command = home.command(words);
    command.stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = terminal.read_to_end();
    child.wait().unwrap();
    shown
}

/// Returns the first control character other than our own colours.
fn find_control(shown: &str) -> Option<char> {
    let styles = ["0", "1", "2", "3", "4", "31", "32", "33", "36", "K"];
    let mut plain = shown.to_owned();
    for style in styles {
        plain = plain.replace(&format!("\u{1b}[{style}m"), "");
    }
    // We write and clear the progress line ourselves.
    let plain = plain.replace("\r\u{1b}[K", "").replace("\u{1b}[K", "");
    plain.chars().find(|c| match c {
        '\r' | '\n' | '\t' => false,
        '\u{200b}' | '\u{2028}' | '\u{202e}' | '\u{2066}' | '\u{e0041}' => true,
        c => c.is_control(),
    })
}

#[test]
fn no_third_party_text_controls_the_terminal_or_hides_from_the_user() {
    let home = home();
    // Creates audit rows with such names.
    home.run(&["call", &format!("bed__{HOSTILE}")]);
    home.run(&["resources", "read", &format!("test://{HOSTILE}")]);
    home.ok(&["lock"]);
    let changed =
        json!({ "name": "letter", "description": format!("{HOSTILE} more"), "inputSchema": {} });
    let new = json!({ "name": format!("n{HOSTILE}"), "description": HOSTILE, "inputSchema": {} });
    home.write(
        "bed/edited.json",
        &json!({ "tools": [changed, new] }).to_string(),
    );
    for words in [
        &["lock", "status"][..],
        &["lock", "status", "--json"],
        &["lock", "diff"],
        &["lock", "diff", "--json"],
        &["lock", "approve", "--all"],
        &["lock"],
        &["tools"],
        &["tools", "--json"],
        &["tools", "show", "bed__letter"],
        &["tools", "show", "bed__letter", "--json"],
        &["search", "send a letter"],
        &["search", "send a letter", "--explain"],
        &["search", "send a letter", "--json"],
        &["call", "bed__letter"],
        &["call", &format!("bed__{HOSTILE}")],
        &["call", &format!("{HOSTILE}__x")],
        &["prompts"],
        &["prompts", "--json"],
        &["prompts", "get", &format!("bed__{HOSTILE}")],
        &["resources"],
        &["resources", "read", &format!("test://{HOSTILE}")],
        &["servers", "list"],
        &["servers", "show", "bed"],
        &["servers", "show", "bed", "--json"],
        &["servers", "test", "bed"],
        &["logs", "bed"],
        &["audit"],
        &["audit", "--json"],
        &["audit", "export"],
        &["audit", "export", "--format", "csv"],
        &["stats"],
        &["feedback"],
        &["learned"],
        &["templates"],
        &["learned", "priors", "show", HOSTILE],
        &["doctor"],
        &["doctor", "--json"],
        &["tools", "check"],
    ] {
        let shown = terminal_output(&home, words);
        assert_eq!(find_control(&shown), None, "{words:?}: {shown:?}");
        // A description may have several lines; a table or audit row has one.
        let has_rows = ["audit", "tools", "lock", "servers", "stats"].contains(&words[0])
            && !words.starts_with(&["tools", "show"]);
        let is_forged = shown.lines().any(|line| line.starts_with("2026-01-01"));
        assert!(!(has_rows && is_forged), "{words:?}: {shown:?}");
    }
}

#[test]
fn an_export_is_exact_in_a_pipe_and_the_same_json_at_a_terminal() {
    let home = home();
    let name = "=x\u{202e}y";
    home.run(&["call", name]);
    let exact = home.ok(&["audit", "export"]);
    assert!(exact.contains("x\u{202e}y"), "{exact}");
    let shown = terminal_output(&home, &["audit", "export"]);
    let read = |text: &str| -> Vec<Value> {
        let lines = text.lines().filter(|line| line.starts_with('{'));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    assert_eq!(read(&shown), read(&exact));
    assert!(shown.contains("x\\u202ey"), "{shown}");

    let csv = home.ok(&["audit", "export", "--format", "csv"]);
    assert!(csv.contains("'=x\u{202e}y"), "{csv}");
    let shown = terminal_output(&home, &["audit", "export", "--format", "csv"]);
    assert!(shown.contains("'=xy"), "{shown}");
}
