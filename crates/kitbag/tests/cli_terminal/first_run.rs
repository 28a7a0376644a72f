//! Every verb suggests the next step while nothing is configured.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use kitbag_testkit::home::Home;

const CURSOR: &str = r#"{ "mcpServers": {
  "time": { "command": "uvx", "args": ["mcp-server-time"] },
  "docs": { "url": "https://docs.example/mcp" }
} }"#;

const NOTHING_ANYWHERE: &str = "\
No servers configured yet. What to do next:
  kitbag demo                   see it work, without a download
  kitbag servers find TEXT      search the MCP registry
  kitbag install --client NAME  then connect your client
";

const TWO_IN_CURSOR: &str = "\
No servers configured yet. What to do next:
  kitbag import                   import 2 servers from Cursor
  kitbag servers find TEXT        search the MCP registry
  kitbag install --client cursor  then connect your client
";

fn home_with_cursor() -> Home {
    let home = Home::new();
    fs::create_dir(home.path(".cursor")).unwrap();
    fs::write(home.path(".cursor/mcp.json"), CURSOR).unwrap();
    home
}

#[test]
fn kitbag_without_a_verb_suggests_next_steps_and_writes_nothing() {
    for (home, next) in [
        (Home::new(), NOTHING_ANYWHERE),
        (home_with_cursor(), TWO_IN_CURSOR),
    ] {
        let output = home.ok(&[]);
        assert!(
            output.contains(next) && output.ends_with("kitbag --help\n"),
            "{output}"
        );
        assert!(!home.config().exists() && !home.path(".local").exists());
    }
    let output = home_with_cursor().json(&[]);
    assert_eq!(
        (&output["servers"], &output["next"][0]["command"]),
        (&0.into(), &"kitbag import".into())
    );
}

#[test]
fn verbs_with_nothing_to_list_show_the_next_steps() {
    let home = home_with_cursor();
    for words in [["servers", "list"].as_slice(), &["tools"]] {
        let output = home.run(words);
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), TWO_IN_CURSOR)
        );
    }
}

#[test]
fn a_gateway_without_servers_suggests_the_next_step() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--bind", "127.0.0.1:0"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let output: Vec<String> = lines
        .take_while(|line| !line.starts_with("Add to a client"))
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(output.join("\n").contains(NOTHING_ANYWHERE), "{output:#?}");
}

#[test]
fn with_servers_configured_the_next_step_is_different() {
    let home = home_with_cursor();
    home.ok(&["import"]);
    let output = home.ok(&[]);
    assert!(
        output.contains("2 servers configured. What to do next:\n  kitbag tools "),
        "{output}"
    );
    assert!(
        output.contains("kitbag install --client cursor"),
        "{output}"
    );
    home.ok(&["install", "--client", "cursor"]);
    let output = home.ok(&[]);
    assert!(
        output.contains("kitbag search TEXT") && !output.contains("kitbag install"),
        "{output}"
    );
}
