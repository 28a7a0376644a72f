//! A registry entry is shown and confirmed before it runs.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{RegistryHome, WEATHER};

#[tokio::test(flavor = "multi_thread")]
async fn at_a_terminal_the_user_is_asked_and_a_secret_is_not_shown() {
    let home = RegistryHome::new().await;
    home.runner("npx");
    let talk = [
        (
            "WEATHER_API_KEY: The key of your account (a secret)\r\n> ",
            "s3cret\n",
        ),
        ("Run this? [y/N] ", "y\n"),
    ];
    let shown = at_a_terminal(home.command(&["servers", "add", WEATHER]), &talk);
    assert!(
        shown.contains("It works") && !shown.contains("s3cret"),
        "{shown}"
    );
    assert!(home.recorded().contains("\nWEATHER_API_KEY=s3cret\n"));

    let mut command = home.command(&["servers", "add", "io.github.acme/ledger", "--no-test"]);
    command.env("DB_PASSWORD", "s3cret");
    let talk = [
        ("source: The folder of the books (a path)\r\n> ", "\n"),
        ("A value is required.\r\n> ", "/books\n"),
        (
            "host: Of the database (for example db.example)\r\n> ",
            "db\n",
        ),
        ("DB_PASSWORD: Of the database (a secret)\r\n> ", "\n"),
        ("A value is required.\r\n> ", "${DB_PASSWORD}\n"),
        ("opens a folder of the machine to the container", ""),
        ("Run this? [y/N] ", "yes\n"),
    ];
    at_a_terminal(command, &talk);
    let config = home.config();
    assert!(
        config.contains("\"type=bind,src=/books,dst=/books\""),
        "{config}"
    );
    assert!(
        config.contains("DB_PASSWORD = \"${DB_PASSWORD}\""),
        "{config}"
    );

    let command = home.command(&["servers", "add", "com.acme.notes/notes", "--no-test"]);
    let another = "another, or Enter to finish > ";
    let talk = [
        ("(a path)\r\n> ", "/a\n"),
        (another, "/b\n"),
        (another, "\n"),
        ("[y/N] ", "y\n"),
    ];
    at_a_terminal(command, &talk);
    assert!(
        home.config().contains("\"/a\", \"/b\"]"),
        "{}",
        home.config()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_runs_only_after_the_user_said_yes() {
    let home = RegistryHome::new().await;
    home.runner("npx");
    let add = ["servers", "add", "io.github.mallory/helper"];
    for words in [
        &add[..],
        &[&add[..], &["--no-test"]].concat(),
        &[&add[..], &["--json"]].concat(),
    ] {
        let output = home.fails(words);
        assert!(output.contains("LOOT='${secret:github.TOKEN}'"), "{output}");
        assert!(
            output.contains("kitbag servers add io.github.mallory/helper --yes"),
            "{output}"
        );
    }
    let (shown, code) = run_dialog(home.command(&add), &[("Run this? [y/N] ", "\n")]);
    assert!(
        code == Some(1) && shown.contains("not confirmed"),
        "{shown}"
    );
    assert!(home.config().is_empty() && !home.path("noted").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn dangers_of_an_entry_are_marked() {
    let home = RegistryHome::new().await;
    home.runner("npx");
    let output = home.fails(&["servers", "add", "io.github.mallory/steered"]);
    for part in [
        "npx -y -c 'touch /tmp/x' steered@1.0.0",
        "LD_PRELOAD=/tmp/x.so",
        "npx -c: a shell runs the next word as a program",
        "LD_PRELOAD: decides what a program loads or runs",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

/// The output at the terminal, after each prompt got its answer.
#[track_caller]
fn at_a_terminal(command: Command, talk: &[(&str, &str)]) -> String {
    let (shown, code) = run_dialog(command, talk);
    assert_eq!(code, Some(0), "{shown}");
    shown
}

/// Like [`at_a_terminal`], with the exit code.
#[track_caller]
fn run_dialog(mut command: Command, talk: &[(&str, &str)]) -> (String, Option<i32>) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&controller).unwrap();
    unlockpt(&controller).unwrap();
    let name = ptsname(&controller, Vec::new()).unwrap();
    let terminal = || {
        Stdio::from(
            File::options()
                .read(true)
                .write(true)
                .open(name.to_str().unwrap())
                .unwrap(),
        )
    };
    command
        .args(["--color", "never"])
        .stdin(terminal())
        .stdout(terminal())
        .stderr(terminal());
    let mut child = command.spawn().unwrap();
    // Our own copies of the terminal would keep it open.
    drop(command);
    let mut controller = File::from(controller);
    let (mut shown, mut talk, mut from) = (String::new(), talk.iter(), 0);
    let mut next = talk.next();
    let mut part = [0; 1024];
    // Reading ends with an error once no process has the terminal open.
    while let Ok(length @ 1..) = controller.read(&mut part) {
        shown.push_str(&String::from_utf8_lossy(&part[..length]));
        while let Some((question, answer)) = next
            && let Some(at) = shown[from..].find(question)
        {
            controller.write_all(answer.as_bytes()).unwrap();
            from += at + question.len();
            next = talk.next();
        }
    }
    assert!(next.is_none(), "{shown}");
    (shown, child.wait().unwrap().code())
}
