//! The verbs of the command line, through the real binary.

mod home;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use home::{CONFIG, Home};
use serde_json::{Value, json};

#[test]
fn a_server_is_added_listed_and_removed() {
    let home = Home::new();
    let built_in = json!({ "name": "agents", "enabled": true, "transport": "built-in", "target": "what coding agents can do" });
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
fn a_new_server_is_tried_out_and_its_tools_are_there_at_once() {
    let home = Home::new();
    let told = home.ok(&[
        "servers",
        "add",
        "bed",
        "--",
        &testbed(),
        "--era",
        "legacy",
        "stdio",
    ]);
    assert!(
        told.contains("Added `bed`") && told.contains("It works and offers"),
        "{told}"
    );
    let listed = home.json(&["servers", "list"]);
    assert!(listed[0]["tools"].as_u64().unwrap() > 0, "{listed}");
    assert!(home.ok(&["tools", "echo"]).contains("bed__echo"));
    assert!(home.ok(&["call", "bed__echo", "message=hi"]).contains("hi"));
    assert_eq!(home.run(&["call", "bed__echo", "message=hi"]).stderr, "");

    // Whoever wants the tools of one server hears nothing of another.
    home.ok(&[
        "servers",
        "add",
        "gone",
        "--no-test",
        "--",
        "no-such-program",
    ]);
    let told = home.run(&["tools", "--server", "bed"]);
    assert!(
        told.stdout.contains("bed__echo") && told.stderr.is_empty(),
        "{}",
        told.stderr
    );
}

#[test]
fn a_new_server_that_fails_is_added_with_the_reason_and_the_remedy() {
    let home = Home::new();
    let told = home.run(&[
        "servers",
        "add",
        "bad",
        "--",
        &testbed(),
        "--manner",
        "crash-at-start",
        "stdio",
    ]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let told = told.stdout;
    for part in [
        "Added `bad`",
        "does not work yet",
        "API_KEY environment variable is required",
        "try:",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = home.run(&["servers", "add", "worse", "--json", "--", "no-such-program"]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(
        (&told["name"], &told["test"]["state"]),
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

    let told = home.run(&["tools"]);
    assert!(
        told.stderr
            .contains("warning: `worse` could not be launched"),
        "{}",
        told.stderr
    );
    let told = home.fails(&["call", "worse__x"]);
    assert!(
        told.contains("warning: `bad` ended")
            && told.contains("error: `worse` could not be launched"),
        "{told}"
    );
}

#[test]
fn a_door_that_cannot_be_opened_is_explained() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let told = home.fails(&["serve", "--bind", &taken.local_addr().unwrap().to_string()]);
    assert!(
        told.contains("try: perhaps `kitbag serve` is running already"),
        "{told}"
    );
    let told = home.fails(&["serve", "--require-key"]);
    assert!(
        told.contains("try: create one with `kitbag key create"),
        "{told}"
    );
    let told = home.run(&["serve", "--bind", "7420"]).stderr;
    assert!(
        told.contains("`7420` is not an address") && told.contains("like \"127.0.0.1:7420\""),
        "{told}"
    );
}

#[test]
fn a_server_that_cannot_be_meant_is_not_added() {
    let home = Home::new();
    home.ok(&["servers", "add", "time", "--no-test", "--", "uvx"]);
    let before = fs::read_to_string(home.config()).unwrap();

    let told = home.fails(&["servers", "add", "time", "--", "npx"]);
    assert!(
        told.contains("there is a server `time` already") && told.contains("--force"),
        "{told}"
    );
    let told = home.fails(&["servers", "add", "git", "npx"]);
    assert!(
        told.contains("try: to launch it as a program: kitbag servers add git -- npx"),
        "{told}"
    );
    let told = home.fails(&["servers", "add", "git", "ftp://host/"]);
    assert!(told.contains("the server `git` was not added"), "{told}");
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
fn an_unknown_server_is_refused_with_a_suggestion() {
    let home = Home::new();
    home.ok(&["servers", "add", "github", "--no-test", "--", "x"]);
    let told = home.fails(&["servers", "remove", "githb"]);
    assert_eq!(
        told,
        "error: there is no server `githb`\n  try: did you mean `github`?\n"
    );
    assert_eq!(home.fails(&["tools", "--server", "githb"]), told);
    let told = home.fails(&["logs", "zzz", "--json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["error"], "there is no server `zzz`");
}

#[test]
fn a_wrong_configuration_is_told_as_what_why_and_what_now() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncomand = 'x'\n");
    let told = home.fails(&["servers", "list"]);
    let path = fs::canonicalize(home.config()).unwrap();
    assert_eq!(
        told,
        format!(
            "error: the configuration cannot be used\n  why: {}, line 2, in `servers.git`: there is no key \
             `comand`\n  try: did you mean `command`?\n",
            path.display()
        )
    );
    let told = home.fails(&["servers", "list", "--config", "missing.toml"]);
    assert!(
        told.contains("missing.toml") && told.contains("try:"),
        "{told}"
    );
}

#[test]
fn the_environment_beats_the_file_and_a_flag_beats_the_environment() {
    let home = Home::new();
    for name in ["one", "two"] {
        fs::write(home.path(name), format!("servers.{name}.command = 'x'\n")).unwrap();
    }
    let listed = |words: &[&str]| {
        let output = home
            .command(words)
            .env("KITBAG_CONFIG", "one")
            .output()
            .unwrap();
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        rows[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(listed(&["servers", "list", "--json"]), "one");
    assert_eq!(
        listed(&["servers", "list", "--json", "--config", "two"]),
        "two"
    );
}

#[test]
fn whoever_types_a_secret_into_the_configuration_is_told_of_a_better_place() {
    let home = Home::new();
    let add = |words: &[&str]| {
        home.run(&[&["servers", "add", "--no-test"], words].concat())
            .stderr
    };
    let told = add(&["open", "--env", "API_KEY=s3cret", "--", "x"]);
    assert!(
        told.contains("kitbag secret set NAME") && !told.contains("s3cret"),
        "{told}"
    );
    assert_eq!(
        add(&["closed", "--env", "API_KEY=${secret:key}", "--", "x"]),
        ""
    );
}

#[test]
fn a_key_is_shown_once_listed_and_revoked() {
    let home = Home::new();
    let told = home.run(&[
        "key",
        "create",
        "--tenant",
        "acme",
        "--label",
        "build machine",
    ]);
    let token = told.stdout.trim();
    assert!(
        token.starts_with("kb_") && token.lines().count() == 1,
        "{token}"
    );
    assert!(
        told.stderr.contains("cannot be shown again"),
        "{}",
        told.stderr
    );

    let keys = home.json(&["key", "list"]);
    let id = keys[0]["id"].as_str().unwrap();
    assert_eq!(
        (&keys[0]["tenant"], &keys[0]["label"]),
        (&json!("acme"), &json!("build machine"))
    );
    assert!(token.contains(id) && !keys.to_string().contains(token));

    home.ok(&["key", "revoke", id]);
    assert!(home.ok(&["key", "list"]).contains("revoked"));
    let told = home.fails(&["key", "revoke", id]);
    assert!(told.contains("try: see which there are"), "{told}");
    assert!(home.path(".local/share/kitbag/kitbag.db").exists());
}

#[test]
fn a_key_is_made_for_a_role_and_a_time_that_make_sense() {
    let home = Home::new();
    let told = home.fails(&["key", "create", "--role", "operator", "--tenant", "acme"]);
    assert!(
        told.contains("an operator belongs to no tenant") && told.contains("leave out --tenant"),
        "{told}"
    );
    for expires in ["2020-01-01", "-1d", "whenever"] {
        let told = home.run(&["key", "create", "--expires", expires]);
        assert_eq!(told.code, Some(2), "{expires}: {}", told.stderr);
    }
    assert_eq!(home.run(&["key", "create", "--role", "king"]).code, Some(2));
    assert_eq!(
        home.json(&["key", "list"]),
        json!([]),
        "nothing was made of all that"
    );
    home.ok(&["key", "create", "--role", "operator", "--expires", "90d"]);
    let listed = home.ok(&["key", "list"]);
    assert!(
        listed.contains("operator") && listed.contains("(all)"),
        "{listed}"
    );
    assert!(
        listed.contains("expires in 90 days") && listed.contains("never"),
        "{listed}"
    );
    let told = home.fails(&["key", "rotate", "00000000"]);
    assert!(
        told.contains("no key `00000000` that still works"),
        "{told}"
    );
}

#[test]
fn data_goes_where_it_is_sent() {
    let home = Home::new();
    home.json(&["key", "create", "--data-dir", "elsewhere"]);
    assert!(home.path("elsewhere/kitbag.db").exists() && !home.path(".local").exists());
    assert_eq!(
        home.run(&["key", "create", "--tenant", "No Good"]).code,
        Some(2)
    );
    fs::write(home.path("file"), "").unwrap();
    let told = home.fails(&[
        "secret",
        "list",
        "--data-dir",
        home.path("file/data").to_str().unwrap(),
    ]);
    assert!(
        told.contains("could not create the directory") && told.contains("--data-dir"),
        "{told}"
    );
}

#[test]
fn a_call_is_checked_before_its_server_is_started_and_explained_as_to_any_client() {
    let home = Home::new();
    let starts = home.path("starts");
    let script = format!(
        "echo started >> {}; exec {} stdio",
        starts.display(),
        testbed()
    );
    home.ok(&["servers", "add", "bed", "--", "sh", "-c", &script]);
    let before = fs::read_to_string(&starts).unwrap();

    let told = home.fails(&["call", "bed__slow", "ms=soon"]);
    assert!(
        told.starts_with("error: `bed__slow` was not called, its arguments do not fit:"),
        "{told}"
    );
    assert!(
        told.contains("/ms: expected an integer, got \"soon\" (a string)"),
        "{told}"
    );
    let told: Value =
        serde_json::from_str(&home.fails(&["call", "bed__slow", "ms=soon", "--json"])).unwrap();
    assert!(
        told["error"]
            .as_str()
            .unwrap()
            .contains("/ms: expected an integer"),
        "{told}"
    );
    assert_eq!(
        fs::read_to_string(&starts).unwrap(),
        before,
        "nothing was started"
    );

    let told = home.ok(&["call", "bed__slow", "ms:=\"1\""]);
    assert!(
        told.contains("slept 1 ms") && told.contains("Taken as: ms = 1 (was a string)"),
        "{told}"
    );
}

fn testbed() -> String {
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_kitbag")).with_file_name("kitbag-testbed");
    assert!(path.exists(), "run `cargo build --workspace` first");
    path.to_str().expect("build paths are text").to_owned()
}

#[test]
fn a_secret_is_kept_listed_and_removed_and_never_shown() {
    let home = Home::new();
    let set = |name: &str, value: &str| {
        let mut command = home.command(&["secret", "set", name]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(value.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(told).unwrap())
    };
    let (kept, told) = set("github_token", "s3cret\n");
    assert!(
        kept && told.contains("${secret:github_token}") && !told.contains("s3cret"),
        "{told}"
    );
    let (kept, told) = set("empty", "\n");
    assert!(!kept && told.contains("stdin held no value"), "{told}");

    let listed = home.json(&["secret", "list"]);
    assert_eq!(listed[0]["name"], "github_token");
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    let files = home.path(".local/share/kitbag");
    for file in fs::read_dir(files)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
    {
        let found = fs::read(&file)
            .unwrap()
            .windows(6)
            .any(|window| window == b"s3cret");
        assert!(!found, "{}", file.display());
    }
    home.ok(&["secret", "remove", "github_token"]);
    let told = home.fails(&["secret", "remove", "github_token"]);
    assert!(told.contains("there is no secret `github_token`"), "{told}");
}

#[test]
fn a_server_is_shown_switched_off_and_on_and_renamed() {
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
            .contains("not asked yet")
    );
    home.ok(&["servers", "disable", "time"]);
    assert!(
        fs::read_to_string(home.config())
            .unwrap()
            .contains("enabled = false")
    );
    assert!(home.ok(&["servers", "disable", "time"]).contains("already"));
    assert!(
        home.ok(&["servers", "show", "time"])
            .contains("switched off")
    );
    home.ok(&["servers", "enable", "time"]);
    home.ok(&["servers", "rename", "time", "clock"]);
    let text = fs::read_to_string(home.config()).unwrap();
    assert!(
        text.starts_with("# mine\n[servers.clock]") && !text.contains("enabled"),
        "{text}"
    );
    assert!(
        home.fails(&["servers", "disable", "time"])
            .contains("there is no server `time`")
    );
    assert!(
        home.fails(&["servers", "rename", "clock", "agents"])
            .contains("is taken")
    );
}

#[test]
fn a_tool_is_described_with_its_parameters_and_a_word_that_is_nowhere_is_told_so() {
    let home = Home::new();
    let told = home.ok(&["describe", "agents__lookup_capability"]);
    assert!(
        told.contains("PARAMETER")
            && told.contains("Call it: kitbag call agents__lookup_capability"),
        "{told}"
    );
    let definition = home.json(&["describe", "agents__lookup_capability"]);
    assert!(definition["inputSchema"].is_object(), "{definition}");
    assert!(
        home.fails(&["describe", "agents__lokup_capability"])
            .contains("did you mean agents__lookup_capability")
    );
    home.write(CONFIG, "[servers.off]\ncommand = 'x'\nenabled = false\n");
    let told = home.run(&["tools", "zzzz"]);
    assert!(
        told.stderr
            .contains("`zzzz` is in the name or description of none"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_program_reads_a_mistake_in_its_command_line_as_json() {
    let told = Home::new().run(&["servers", "lsit", "--json"]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""));
    let told: Value = serde_json::from_str(&told.stderr).unwrap();
    assert!(
        told["error"].as_str().unwrap().contains("lsit") && told["try"][0].is_string(),
        "{told}"
    );
}
