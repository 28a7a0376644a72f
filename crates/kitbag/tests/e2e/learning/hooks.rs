//! `kitbag hook`: tools for a prompt, without ever blocking the prompt.

use std::fs;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::sync::Arc;

use kitbag_testkit::home::CommandOutcome;
use serde_json::{Value, json};

use super::LearningGateway;
use crate::harness::{Era, Home};

/// Runs a client's hook like the client does.
async fn run_hook(home: &Arc<Home>, words: &[&str], input: &str) -> CommandOutcome {
    let mut command = home.command(&[&["hook"], words].concat());
    command.stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let ended = tokio::task::spawn_blocking(move || running.wait_with_output()).await;
    let output = CommandOutcome::from_output(&ended.unwrap().unwrap());
    // A client may keep its end open until the hook has ended.
    drop(stdin);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{words:?}"
    );
    output
}

fn prompt(words: &str) -> String {
    json!({ "hook_event_name": "any", "prompt": words }).to_string()
}

/// Allows more time, since test builds are slower than release builds.
fn patient_args(client: &str) -> Vec<&str> {
    vec![client, "--within", "20000"]
}

#[tokio::test]
async fn a_prompt_gets_its_tools_and_is_never_delayed() {
    let setup = LearningGateway::open("").await;
    let home = setup.home().clone();
    let photos = prompt("archive the photos of the last year");

    let output = run_hook(&home, &patient_args("claude-code"), &photos)
        .await
        .stdout;
    let output: Value = serde_json::from_str(&output).unwrap();
    let context = output["hookSpecificOutput"]["additionalContext"].as_str();
    let first = context.unwrap().lines().nth(1).unwrap();
    assert_eq!(
        first,
        "- shop__archive_photo(note?: string) · Archives an old photo"
    );
    let worker = setup.gateway.client_at("/mcp/adaptive", Era::Legacy);
    let listed = worker.connect().await.tool_names().await;
    let listed = listed.iter().find(|name| name.starts_with("shop__"));
    assert_eq!(listed.unwrap(), "shop__archive_photo");

    let neutral = r#"{"continue":true}"#;
    for (words, input, expected) in [
        (patient_args("cursor"), photos.as_str(), neutral),
        (patient_args("claude-code"), &prompt("qwxz vbnmp"), ""),
        (patient_args("codex"), r#"{"prompt":7}"#, ""),
        (vec!["gemini"], "{]", "{}"),
        (vec!["gemini", "--within", "0"], &photos, "{}"),
        (vec!["zed"], &photos, ""),
    ] {
        let output = run_hook(&home, &words, input).await;
        assert_eq!(output.stdout, expected, "{words:?}");
    }

    let run = fs::read_dir(home.path("data/run")).unwrap();
    let mut files = run.map(|file| file.unwrap().path());
    let socket = files.find(|path| path.extension().is_some_and(|it| it == "sock"));
    setup.gateway.stop().await;
    assert_eq!(
        run_hook(&home, &patient_args("claude-code"), &photos)
            .await
            .stdout,
        ""
    );
    // This gateway accepts connections and never answers.
    let _hangs = UnixListener::bind(socket.unwrap()).unwrap();
    assert_eq!(run_hook(&home, &["claude-code"], &photos).await.stdout, "");
}
