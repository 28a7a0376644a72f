//! `kitbag servers`: adding, testing, listing, renaming and removing servers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::testbed;

#[test]
fn a_server_is_added_listed_and_removed() {
    let home = Home::new();
    let built_in = json!({ "name": "agents", "enabled": true, "transport": "built-in", "target": "capabilities of coding agents" });
    assert_eq!(home.json(&["servers", "list"]), json!([built_in]));
    let add = |words: &[&str]| home.ok(&[&["servers", "add", "--no-test"], words].concat());
    add(&[
        "time",
        "--env",
        "TZ=${TZ}",
        "--",
        "uvx",
        "mcp-server-time",
        "--key=s3cret",
    ]);
    add(&[
        "docs",
        "https://ann:pw@docs.example/mcp?key=s3cret",
        "-H",
        "X-Key: s3cret",
    ]);
    home.ok(&[
        "servers",
        "add",
        "old",
        "http://localhost:1/sse",
        "--transport",
        "sse",
        "--disabled",
    ]);

    assert_eq!(
        home.json(&["servers", "list"]),
        json!([
            { "name": "docs", "enabled": true, "transport": "http", "target": "https://docs.example/mcp?…" },
            { "name": "old", "enabled": false, "transport": "sse", "target": "http://localhost:1/sse" },
            { "name": "time", "enabled": true, "transport": "stdio", "target": "uvx mcp-server-time --key=…", "missing": ["TZ"] },
            built_in,
        ])
    );
    let table = home.ok(&["servers", "list"]);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(
        !table.contains('\u{1b}'),
        "colour without a terminal: {table}"
    );
    assert!(
        !table.contains("s3cret") && table.contains("disabled"),
        "{table}"
    );

    home.ok(&["servers", "remove", "docs"]);
    assert_eq!(
        fs::read_to_string(home.config()).unwrap(),
        "[servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\", \"--key=s3cret\"]\nenv = { TZ = \"${TZ}\" }\n\n\
         [servers.old]\nurl = \"http://localhost:1/sse\"\ntransport = \"sse\"\nenabled = false\n"
    );
    assert_eq!(
        fs::metadata(home.config()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_new_server_is_tested_and_its_tools_are_listed_at_once() {
    let home = Home::new();
    let output = home.add_testbed();
    assert!(
        output.contains("Added `bed`") && output.contains("It works and offers"),
        "{output}"
    );
    let listed = home.json(&["servers", "list"]);
    assert!(listed[0]["tools"].as_u64().unwrap() > 0, "{listed}");
    assert!(home.ok(&["tools", "echo"]).contains("bed__echo"));
    assert!(home.ok(&["call", "bed__echo", "message=hi"]).contains("hi"));
    assert_eq!(home.run(&["call", "bed__echo", "message=hi"]).stderr, "");

    // Listing one server's tools leaves other servers alone.
    home.ok(&[
        "servers",
        "add",
        "gone",
        "--no-test",
        "--",
        "no-such-program",
    ]);
    let output = home.run(&["tools", "--server", "bed"]);
    assert!(
        output.stdout.contains("bed__echo") && output.stderr.is_empty(),
        "{}",
        output.stderr
    );
}

#[test]
fn a_new_server_that_fails_is_added_with_the_reason_and_the_remedy() {
    let home = Home::new();
    let output = home.run(&[
        "servers",
        "add",
        "bad",
        "--",
        &testbed(),
        "--manner",
        "crash-at-start",
        "stdio",
    ]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let output = output.stdout;
    for part in [
        "Added `bad`",
        "does not work yet",
        "API_KEY environment variable is required",
        "try:",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let output = home.run(&["servers", "add", "worse", "--json", "--", "no-such-program"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let output: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&output["name"], &output["test"]["state"]),
        (&json!("worse"), &json!("fails"))
    );
    let listed = home.json(&["servers", "list"]);
    let names: Vec<&Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names, ["bad", "worse", "agents"]);

    let output = home.run(&["tools"]);
    let words = [
        "warning: the tools of 2 servers are missing: `bad` exited before it was ready",
        "; `worse` could not be launched",
    ];
    for words in words {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    assert_eq!(
        output.stderr.matches("`bad`").count(),
        1,
        "{}",
        output.stderr
    );
    let output = home.fails(&["call", "worse__x"]);
    assert!(
        output.contains("error: `worse` could not be launched")
            && !output.contains("warning")
            && !output.contains("bad"),
        "{output}"
    );
}

#[test]
fn a_contradictory_or_duplicate_server_is_not_added() {
    let home = Home::new();
    home.ok(&["servers", "add", "time", "--no-test", "--", "uvx"]);
    let before = fs::read_to_string(home.config()).unwrap();

    let output = home.fails(&["servers", "add", "time", "--", "npx"]);
    assert!(
        output.contains("server `time` already exists") && output.contains("--force"),
        "{output}"
    );
    let output = home.fails(&["servers", "add", "git", "npx"]);
    assert!(
        output.contains("try: to launch it as a program: kitbag servers add git -- npx"),
        "{output}"
    );
    let output = home.fails(&["servers", "add", "git", "ftp://host/"]);
    assert!(
        output.contains("the server `git` was not added"),
        "{output}"
    );
    assert_eq!(
        home.run(&["servers", "add", "a__b", "--", "x"]).code,
        Some(2)
    );
    assert_eq!(home.run(&["servers", "add", "git"]).code, Some(2));
    assert_eq!(
        home.run(&["servers", "add", "git", "http://h/", "--env", "A=1"])
            .code,
        Some(2)
    );
    assert_eq!(fs::read_to_string(home.config()).unwrap(), before);

    home.ok(&[
        "servers",
        "add",
        "time",
        "--force",
        "--no-test",
        "--",
        "npx",
    ]);
    assert_eq!(
        fs::read_to_string(home.config()).unwrap(),
        "[servers.time]\ncommand = \"npx\"\n"
    );
}

#[test]
fn an_unknown_server_is_rejected_with_a_suggestion() {
    let home = Home::new();
    home.ok(&["servers", "add", "github", "--no-test", "--", "x"]);
    let output = home.fails(&["servers", "remove", "githb"]);
    assert_eq!(
        output,
        "error: no server `githb`\n  try: did you mean `github`?\n"
    );
    assert_eq!(home.fails(&["tools", "--server", "githb"]), output);
    let output = home.fails(&["logs", "zzz", "--json"]);
    let output: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(output["error"], "no server `zzz`");
}

#[test]
fn a_server_is_shown_disabled_enabled_and_renamed() {
    let home = Home::new();
    home.write(
        CONFIG,
        "# mine\n[servers.time]\ncommand = 'uvx'\nargs = ['mcp-server-time', '--token', 'abc123']\n",
    );
    let shown = home.json(&["servers", "show", "time"]);
    assert_eq!(
        (&shown["enabled"], &shown["target"]),
        (&json!(true), &json!("uvx mcp-server-time --token …"))
    );
    assert!(
        home.ok(&["servers", "show", "time"])
            .contains("not listed yet")
    );
    home.ok(&["servers", "disable", "time"]);
    assert!(
        fs::read_to_string(home.config())
            .unwrap()
            .contains("enabled = false")
    );
    assert!(home.ok(&["servers", "disable", "time"]).contains("already"));
    assert!(home.ok(&["servers", "show", "time"]).contains("disabled"));
    home.ok(&["servers", "enable", "time"]);
    home.ok(&["servers", "rename", "time", "clock"]);
    let text = fs::read_to_string(home.config()).unwrap();
    assert!(
        text.starts_with("# mine\n[servers.clock]") && !text.contains("enabled"),
        "{text}"
    );
    assert!(
        home.fails(&["servers", "disable", "time"])
            .contains("no server `time`")
    );
    assert!(
        home.fails(&["servers", "rename", "clock", "agents"])
            .contains("already exists")
    );
}
