//! `kitbag key` and `kitbag secret`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use kitbag_testkit::home::Home;

#[test]
fn typing_a_secret_into_the_configuration_is_answered_with_a_better_place() {
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
    assert!(told.contains("try: list the keys"), "{told}");
    assert!(home.path(".local/share/kitbag/kitbag.db").exists());
}

#[test]
fn a_key_is_made_for_a_role_and_a_time_that_make_sense() {
    let home = Home::new();
    let told = home.fails(&["key", "create", "--role", "operator", "--tenant", "acme"]);
    assert!(
        told.contains("an operator key has no tenant") && told.contains("omit --tenant"),
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
    assert!(told.contains("no active key `00000000`"), "{told}");
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
    assert!(!kept && told.contains("stdin is empty"), "{told}");

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
    assert!(
        told.contains("no secret or credential `github_token`"),
        "{told}"
    );
}
