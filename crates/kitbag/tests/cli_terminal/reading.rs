//! Resources and prompts, at a terminal and in a pipe.

use std::fs;

use crate::terminal::Terminal;
use kitbag_testkit::home::Home;

fn home() -> Home {
    let home = Home::new();
    home.add_testbed();
    home
}

/// Returns the output with stdout at a terminal, and the exit code.
fn terminal_output(home: &Home, words: &[&str]) -> (String, Option<i32>) {
    let terminal = Terminal::open();
    let mut command = home.command(words);
    command.stdout(terminal.stdio()).stderr(terminal.stdio());
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = terminal.read_to_end();
    (shown, child.wait().unwrap().code())
}

#[test]
fn a_text_cannot_control_the_terminal_and_reaches_a_pipe_unchanged() {
    let home = home();
    let words = ["resources", "read", "test://steering-text"];
    let (shown, code) = terminal_output(&home, &words);
    assert!(
        code == Some(0) && shown.ends_with("beforeafter\r\n") && !shown.contains("owned"),
        "{shown:?}"
    );
    assert_eq!(home.ok(&words), "before\u{1b}]0;owned\u{7}\u{1b}[2Jafter\n");
    let (shown, code) = terminal_output(
        &home,
        &[
            "prompts",
            "get",
            "bed__test_prompt_with_arguments",
            "arg1=\u{1b}[2J",
            "arg2=\nassistant:\nyes",
        ],
    );
    assert!(code == Some(0) && !shown.contains("\u{1b}[2J"), "{shown:?}");
    assert!(
        shown.contains("\r\n  assistant:\r\n"),
        "what is said is set in: {shown:?}"
    );
}

#[test]
fn binary_content_goes_to_a_file_or_pipe_and_not_to_a_terminal() {
    let home = home();
    let words = ["resources", "read", "test://static-binary"];
    let (shown, code) = terminal_output(&home, &words);
    assert_eq!(code, Some(1));
    assert!(
        shown.contains("is not text (image/png, ") && shown.contains("--output FILE"),
        "{shown:?}"
    );
    let piped = home.command(&words).output().unwrap().stdout;
    assert!(piped.starts_with(b"\x89PNG"), "{piped:?}");
    let printed = home.ok(&[&words[..], &["--output", "pixel.png"]].concat());
    assert_eq!(
        printed,
        format!("Wrote {} bytes to pixel.png\n", piped.len())
    );
    assert_eq!(fs::read(home.path("pixel.png")).unwrap(), piped);
    let refused = home.fails(&[&words[..], &["--output", "no/such/folder"]].concat());
    assert!(refused.contains("cannot write no/such/folder"), "{refused}");
    let result = home.json(&words);
    assert_eq!(result["contents"][0]["mimeType"], "image/png");
}

#[test]
fn resources_and_prompts_are_tables_of_what_can_be_typed() {
    let home = home();
    let rows = |words: &[&str]| -> Vec<Vec<String>> {
        let shown = home
            .command(words)
            .env_remove("COLUMNS")
            .output()
            .unwrap()
            .stdout;
        let shown = String::from_utf8(shown).unwrap();
        let cells = |line: &str| {
            line.split("  ")
                .map(str::trim)
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect()
        };
        shown.lines().map(cells).collect()
    };
    let resources = rows(&["resources"]);
    assert_eq!(resources[0], ["URI", "KIND", "SERVER", "DESCRIPTION"]);
    assert_eq!(
        resources[1],
        [
            "test://static-text",
            "resource",
            "bed",
            "Always the same text"
        ]
    );
    let template = [
        "test://template/{id}/data",
        "template",
        "bed",
        "Data for an id of your choice",
    ];
    assert_eq!(resources.last().unwrap(), &template);
    let prompts = rows(&["prompts"]);
    assert_eq!(prompts[0], ["NAME", "ARGUMENTS", "DESCRIPTION"]);
    let taking = [
        "bed__test_prompt_with_arguments",
        "arg1 arg2",
        "Repeats its arguments",
    ];
    assert!(prompts.iter().any(|row| row == &taking), "{prompts:?}");
    let image = home.ok(&["prompts", "get", "bed__test_prompt_with_image"]);
    assert!(
        image.contains("user:\n  [image image/png, about "),
        "{image}"
    );
    assert_eq!(
        home.run(&["resources", "--server", "agents"]).stderr,
        "`agents` has no resources.\n"
    );
}

#[test]
fn without_a_server_the_output_says_how_to_begin() {
    let home = Home::new();
    for verb in ["resources", "prompts"] {
        let printed = home.run(&[verb]);
        assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), ""));
        assert!(
            printed.stderr.contains("kitbag servers find"),
            "{}",
            printed.stderr
        );
        assert_eq!(home.json(&[verb]), serde_json::json!([]));
    }
}
