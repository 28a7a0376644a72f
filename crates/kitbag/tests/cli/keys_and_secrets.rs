//! `kitbag key` and `kitbag secret`.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use kitbag_testkit::home::Home;

#[test]
fn a_secret_in_the_configuration_gets_a_hint_to_store_it() {
    let home = Home::new();
    let add = |words: &[&str]| {
        home.run(&[&["servers", "add", "--no-test"], words].concat())
            .stderr
    };
    let printed = add(&["open", "--env", "API_KEY=s3cret", "--", "x"]);
    assert!(
        printed.contains("kitbag secret set NAME") && !printed.contains("s3cret"),
        "{printed}"
    );
    assert_eq!(
        add(&["closed", "--env", "API_KEY=${secret:key}", "--", "x"]),
        ""
    );
}

#[test]
fn a_key_is_shown_once_listed_and_revoked() {
    let home = Home::new();
    let printed = home.run(&[
        "key",
        "create",
        "--tenant",
        "acme",
        "--label",
        "build machine",
    ]);
    let token = printed.stdout.trim();
    assert!(
        token.starts_with("kb_") && token.lines().count() == 1,
        "{token}"
    );
    assert!(
        printed.stderr.contains("cannot be shown again"),
        "{}",
        printed.stderr
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
    let printed = home.fails(&["key", "revoke", id]);
    assert!(printed.contains("try: list the keys"), "{printed}");
    assert!(home.path(".local/share/kitbag/kitbag.db").exists());
}

#[test]
fn a_key_needs_a_valid_role_and_expiry() {
    let home = Home::new();
    let printed = home.fails(&["key", "create", "--role", "operator", "--tenant", "acme"]);
    assert!(
        printed.contains("a key with the role `operator` has no tenant")
            && printed.contains("omit the tenant"),
        "{printed}"
    );
    for expires in ["2020-01-01", "-1d", "whenever"] {
        let printed = home.run(&["key", "create", "--expires", expires]);
        assert_eq!(printed.code, Some(2), "{expires}: {}", printed.stderr);
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
    let printed = home.fails(&["key", "rotate", "00000000"]);
    assert!(printed.contains("no active key `00000000`"), "{printed}");
}

#[test]
fn a_secret_is_stored_listed_and_removed_and_never_shown() {
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
        let printed = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(printed).unwrap())
    };
    let (kept, printed) = set("github_token", "s3cret\n");
    assert!(
        kept && printed.contains("${secret:github_token}") && !printed.contains("s3cret"),
        "{printed}"
    );
    let (kept, printed) = set("empty", "\n");
    assert!(!kept && printed.contains("stdin is empty"), "{printed}");

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
    let printed = home.fails(&["secret", "remove", "github_token"]);
    assert!(
        printed.contains("no secret or credential `github_token`"),
        "{printed}"
    );
}
