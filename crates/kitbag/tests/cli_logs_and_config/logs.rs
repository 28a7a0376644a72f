//! Logs of servers and the gateway, and that they contain no secrets.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use kitbag_testkit::home::{CONFIG, Home};
use kitbag_testkit::programs::testbed;

#[test]
fn all_logs_are_merged_and_followed() {
    let home = Home::new();
    home.write(
        CONFIG,
        "servers.git.command = 'x'\nservers.time.command = 'x'\n",
    );
    assert_eq!(home.ok(&["logs"]), "");
    let [git, time] =
        ["git", "time"].map(|name| home.path(&format!(".local/share/kitbag/logs/{name}.log")));
    append(&git.with_extension("log.1"), &stderr(1, "first"));
    append(&git, &stderr(4, "\u{1b}[31mfourth\u{1b}[0m"));
    append(&git, "torn by a crash\n");
    append(
        &time,
        &line(
            2,
            json!({ "stream": "mcp", "level": "warning", "logger": "net", "message": "second" }),
        ),
    );
    append(
        &time,
        &line(5, json!({ "stream": "stdout", "message": "fifth" })),
    );
    let own = home.path(".local/share/kitbag/kitbag.log");
    append(
        &own,
        &line(
            3,
            json!({ "stream": "gateway", "level": "info", "message": "third" }),
        ),
    );

    let all = "\
        2026-01-01 00:00:01 git    first\n\
        2026-01-01 00:00:02 time   warning: net: second\n\
        2026-01-01 00:00:03 kitbag info: third\n\
        2026-01-01 00:00:04 git    fourth\n\
        2026-01-01 00:00:05 time   [stdout] fifth\n";
    assert_eq!(home.ok(&["logs"]), all);
    let last = home.ok(&["logs", "-n", "1", "--json"]);
    let expected = json!({
        "server": "time", "time": "2026-01-01T00:00:05Z", "stream": "stdout", "message": "fifth",
    });
    assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), expected);
    assert_eq!(
        home.ok(&["logs", "git"]),
        "2026-01-01 00:00:01 first\n2026-01-01 00:00:04 fourth\n"
    );
    assert_eq!(
        home.ok(&["logs", "--gateway"]),
        "2026-01-01 00:00:03 info: third\n"
    );
    assert_eq!(home.ok(&["logs", "git", "--gateway"]).lines().count(), 3);
    let printed = home.fails(&["logs", "gitt"]);
    assert_eq!(
        printed,
        "error: no server `gitt`\n  try: did you mean `git`?\n"
    );

    let mut child = home
        .command(&["logs", "-n", "1", "-f"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.next().unwrap().ends_with("fifth"));
    append(&git, &stderr(6, "sixth"));
    assert_eq!(lines.next().unwrap(), "2026-01-01 00:00:06 git    sixth");
    fs::rename(&git, git.with_extension("log.1")).unwrap();
    append(&git, &stderr(7, "seventh"));
    assert_eq!(lines.next().unwrap(), "2026-01-01 00:00:07 git    seventh");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn no_message_looks_like_a_line_of_another() {
    let home = Home::new();
    home.write(
        CONFIG,
        "servers.git.command = 'x'\nservers.time.command = 'x'\n",
    );
    let git = home.path(".local/share/kitbag/logs/git.log");
    let forged = "x\n2026-11-15 13:09:00 kitbag  error: forged\r\nby\u{2028}git\u{202e}!";
    append(
        &git,
        &line(
            1,
            json!({ "stream": "mcp", "level": "info", "logger": "a\nb", "message": forged }),
        ),
    );
    assert_eq!(
        home.ok(&["logs"]),
        "2026-01-01 00:00:01 git    info: a b: x\n    2026-11-15 13:09:00 kitbag  error: forged\n    by\n    git!\n"
    );
}

#[test]
fn logs_of_a_server_and_the_gateway_contain_no_secret() {
    let home = Home::new();
    // Everything the server logs over MCP is planted as a secret here.
    let secrets = [
        "env-s3cret-1",
        "store-s3cret-2",
        "header-s3cret-3",
        "query-s3cret-4",
        "typed-s3cret-5",
    ];
    let spoken = "As loud as it gets";
    let config = format!(
        r#"
        [servers.chatty]
        command = "sh"
        args = ["-c", 'echo "$A $B $1 ready" >&2; exec "$2" --era legacy stdio', "sh", "--token=typed-s3cret-5", {testbed}]
        env = {{ A = "${{A}}", B = "${{secret:b}}", SPOKEN = "{spoken}" }}

        [servers.away]
        url = "http://127.0.0.1:1/mcp?key=${{Q}}"
        headers = {{ Authorization = "Bearer header-s3cret-3" }}
        "#,
        testbed = json!(testbed()),
    );
    home.write(CONFIG, &config);
    let run = |words: &[&str], input: &str| {
        let mut command = home.command(words);
        command.env("A", secrets[0]).env("Q", secrets[3]);
        let piped = || Stdio::piped();
        let mut child = command
            .stdin(piped())
            .stdout(piped())
            .stderr(piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    run(&["secret", "set", "b"], secrets[1]);
    let mut printed = run(&["serve", "--stdio", "--log", "debug"], "");
    printed += &run(&["call", "chatty__test_logging_tool"], "");
    printed += &run(&["call", "away__anything"], "");
    printed += &run(&["config", "show", "--all"], "");
    printed += &run(&["config", "show", "--all", "--json"], "");
    let logs = run(&["logs", "-n", "1000", "--json"], "");

    let lines: Vec<Value> = logs
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let find = |server: Value, stream: &str, part: &str| {
        let fits = |line: &&Value| {
            line["server"] == server
                && line["stream"] == stream
                && line["message"].as_str().unwrap().contains(part)
        };
        lines
            .iter()
            .find(fits)
            .unwrap_or_else(|| panic!("{part}: {logs}"))
            .clone()
    };
    find(json!("chatty"), "stderr", "••• ••• --token=••• ready");
    let said = find(json!("chatty"), "mcp", "•••");
    assert_eq!(
        (&said["level"], said["time"].is_string()),
        (&json!("emergency"), true),
        "{said}"
    );
    find(Value::Null, "gateway", "ready server=chatty");
    find(Value::Null, "gateway", "away");

    printed += &logs;
    for file in files(&home.path(".local/share/kitbag")) {
        printed += &String::from_utf8_lossy(&fs::read(file).unwrap());
    }
    for secret in secrets.iter().chain(&[spoken]) {
        let at = printed.find(secret).map(|at| {
            printed[at.saturating_sub(200)..]
                .chars()
                .take(400)
                .collect::<String>()
        });
        assert_eq!(at, None, "{secret} was told");
    }
}

#[test]
fn a_gateway_that_cannot_start_leaves_the_reason_in_its_log() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncomand = 'x'\n");
    home.fails(&["serve", "--stdio"]);
    fs::remove_file(home.config()).unwrap();
    let printed = home.ok(&["logs"]);
    assert!(
        printed.contains("error: ") && printed.contains("unknown key `comand`"),
        "{printed}"
    );
}

fn stderr(second: u32, message: &str) -> String {
    line(second, json!({ "stream": "stderr", "message": message }))
}

fn line(second: u32, mut line: Value) -> String {
    line["time"] = json!(format!("2026-01-01T00:00:{second:02}Z"));
    format!("{line}\n")
}

fn append(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
