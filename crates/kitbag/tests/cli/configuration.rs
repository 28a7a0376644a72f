//! How verbs read the configuration, the data directory and flags.

use std::fs;

use serde_json::Value;

use kitbag_testkit::home::{CONFIG, Home};

#[test]
fn a_configuration_error_has_its_cause_and_a_remedy() {
    let home = Home::new();
    home.write(CONFIG, "[servers.git]\ncomand = 'x'\n");
    let printed = home.fails(&["servers", "list"]);
    let path = fs::canonicalize(home.config()).unwrap();
    assert_eq!(
        printed,
        format!(
            "error: the configuration cannot be used\n  why: {}, line 2, in `servers.git`: unknown key \
             `comand`\n  try: did you mean `command`?\n",
            path.display()
        )
    );
    let printed = home.fails(&["servers", "list", "--config", "missing.toml"]);
    assert!(
        printed.contains("missing.toml") && printed.contains("try:"),
        "{printed}"
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
fn data_is_written_to_the_configured_directory() {
    let home = Home::new();
    home.json(&["key", "create", "--data-dir", "elsewhere"]);
    assert!(home.path("elsewhere/kitbag.db").exists() && !home.path(".local").exists());
    assert_eq!(
        home.run(&["key", "create", "--tenant", "No Good"]).code,
        Some(2)
    );
    fs::write(home.path("file"), "").unwrap();
    let printed = home.fails(&[
        "secret",
        "list",
        "--data-dir",
        home.path("file/data").to_str().unwrap(),
    ]);
    assert!(
        printed.contains("could not create the directory") && printed.contains("--data-dir"),
        "{printed}"
    );
}

#[test]
fn an_address_that_cannot_be_served_is_explained() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let printed = home.fails(&["serve", "--bind", &taken.local_addr().unwrap().to_string()]);
    assert!(
        printed.contains("try: `kitbag serve` may already be running"),
        "{printed}"
    );
    let printed = home.fails(&["serve", "--require-key"]);
    assert!(
        printed.contains("try: create one with `kitbag key create"),
        "{printed}"
    );
    let printed = home.run(&["serve", "--bind", "7420"]).stderr;
    assert!(
        printed.contains("`7420` is not a valid listen address")
            && printed.contains("like \"127.0.0.1:7420\""),
        "{printed}"
    );
}

#[test]
fn a_program_reads_a_mistake_in_its_command_line_as_json() {
    let printed = Home::new().run(&["servers", "lsit", "--json"]);
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(2), ""));
    let printed: Value = serde_json::from_str(&printed.stderr).unwrap();
    assert!(
        printed["error"].as_str().unwrap().contains("lsit") && printed["try"][0].is_string(),
        "{printed}"
    );
}
