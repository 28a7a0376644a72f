//! Tables wrap between words, keep names whole, and have one line per row without a terminal.

use std::collections::BTreeSet;
use std::fs;

use kitbag_testkit::home::Home;
use kitbag_testkit::programs::testbed;

const SERVER: &str = "quarterly-reports-of-the-branche";

/// A home with long names everywhere.
fn home() -> Home {
    let home = Home::new();
    home.ok(&[
        "servers",
        "add",
        SERVER,
        "--",
        &testbed(),
        "--era",
        "legacy",
        "stdio",
    ]);
    let url = "https://a-rather-long-name.for-a-host.in-a-company.example/with/a/path/as/well/mcp";
    home.ok(&[
        "servers",
        "add",
        "a-remote-server-with-a-long-name",
        url,
        "--disabled",
    ]);
    let label = "the build machine in the cellar, third rack from the left, behind the boxes";
    home.ok(&[
        "key",
        "create",
        "--tenant",
        "northern-branch-office-and-its-friends",
        "--label",
        label,
    ]);
    let file = home.path(".config/goose/config.yaml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(
        &file,
        "extensions:\n  a-server-with-quite-a-long-name-that-no-person-types:\n    type: stdio\n    \
        cmd: /opt/somewhere/far/down/in/the/tree/of/folders/a-program\n    args: [--with, --many, --words]\n",
    )
    .unwrap();
    home
}

#[test]
fn no_table_breaks_a_name() {
    let home = home();
    set_secret(
        &home,
        "a.secret.whose-name-says.for-which-server.and-which-purpose.KEY",
    );
    let dataset = dataset(&home);
    for words in [
        ["servers", "list"].as_slice(),
        &["servers", "test", SERVER],
        &["tools"],
        &["resources"],
        &["prompts"],
        &["search", "echo", "a", "message"],
        &["search", "echo", "a", "message", "--explain"],
        &["stats", "tokens"],
        &["key", "list"],
        &["secret", "list"],
        &["import", "--dry-run"],
        &[
            "eval",
            "retrieval",
            "--ranker",
            "bm25",
            "--dataset",
            &dataset,
        ],
        &["index", "verify"],
        &["doctor", "--offline"],
    ] {
        check(&home, words);
    }
}

/// Compares a table without a width limit and at 80 columns: no word is broken, and lines over 80
/// columns are so because of their words.
#[track_caller]
fn check(home: &Home, words: &[&str]) {
    let wide = home
        .command(words)
        .env_remove("COLUMNS")
        .output()
        .unwrap()
        .stdout;
    let (wide, narrow) = (String::from_utf8(wide).unwrap(), home.run(words).stdout);
    assert!(!narrow.is_empty(), "{words:?} shows nothing");
    let long = |text: &str| -> BTreeSet<String> {
        let names = text.split_whitespace().filter(|word| word.len() > 24);
        names.map(str::to_owned).collect()
    };
    let broken: Vec<_> = long(&wide).difference(&long(&narrow)).cloned().collect();
    assert!(broken.is_empty(), "{words:?} breaks {broken:?}:\n{narrow}");
}

fn set_secret(home: &Home, name: &str) {
    let value = home.path("value");
    fs::write(&value, "s3cret").unwrap();
    let stdin = fs::File::open(value).unwrap();
    let output = home
        .command(&["secret", "set", name])
        .stdin(stdin)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn dataset(home: &Home) -> String {
    let folder = home.path("set");
    fs::create_dir(&folder).unwrap();
    let tool =
        r#"{"id": "mail__send_a_letter", "name": "send_a_letter", "description": "Send a letter"}"#;
    let query = r#"{"id": "1", "query": "send a letter", "relevant": ["mail__send_a_letter"]}"#;
    fs::write(folder.join("tools.jsonl"), tool).unwrap();
    fs::write(folder.join("queries.jsonl"), query).unwrap();
    folder.to_str().unwrap().to_owned()
}
