//! `kitbag templates`: templates of all origins, decisions, and files.

use std::fs;

use serde_json::{Value, json};

use kitbag_testkit::home::Home;

const OWN: &str = r#"name = "count_stars"
description = "Counts the stars of a repository."
intents = ["count stars of {repository}"]
uses = ["github.get_repository"]
code = '''
const { stars } = await tools.github.get_repository({ name: params.repository });
return stars;
'''

[parameters.repository]
type = "string"
description = "Owner and name."
"#;

fn template<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let mut rows = listed.as_array().into_iter().flatten();
    rows.find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {listed:#}"))
}

fn state_of(home: &Home) -> Value {
    template(&home.json(&["templates", "list"]), "count_stars")["state"].clone()
}

#[test]
fn templates_of_every_origin_are_listed_and_a_bad_file_is_reported_with_its_line() {
    let home = Home::new();
    let listed = home.json(&["templates", "list"]);
    let built_in = template(&listed, "list_errors");
    assert_eq!(
        (&built_in["origin"], &built_in["state"]),
        (&json!("built-in"), &json!("in use"))
    );

    let folder = home.path(".local/share/kitbag/templates");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("stars.toml"), OWN).unwrap();
    fs::write(
        folder.join("bad.toml"),
        OWN.replace("{repository}\"", "{repo}\""),
    )
    .unwrap();
    let output = home.run(&["templates", "list"]);
    assert!(output.stdout.contains("count_stars"), "{}", output.stdout);
    for text in [
        "bad.toml:3:12: ",
        "reads `repo`, which is not a parameter",
        "try: add a table [parameters.repo]",
    ] {
        assert!(output.stderr.contains(text), "no {text}: {}", output.stderr);
    }
    let shown = home.ok(&["templates", "show", "count_stars"]);
    for text in [
        "github.get_repository",
        "count stars of {repository}",
        "(string, required) Owner and name.",
        "return stars;",
    ] {
        assert!(shown.contains(text), "no {text}: {shown}");
    }
    let output = home.fails(&["templates", "remove", "count_stars"]);
    assert!(
        output.contains("not learned; its origin is own") && output.contains("change its file"),
        "{output}"
    );
    let output = home.fails(&["templates", "show", "nothing"]);
    assert!(output.contains("kitbag templates list"), "{output}");
}

#[test]
fn an_imported_template_waits_for_approval_and_is_exported_unchanged() {
    let home = Home::new();
    let file = home.path("stars.toml");
    fs::write(&file, OWN).unwrap();
    let file = file.to_str().unwrap();
    let output = home.ok(&["templates", "import", file, "--tenant", "acme"]);
    assert!(
        output.contains("kitbag templates approve count_stars"),
        "{output}"
    );
    assert_eq!(state_of(&home), "candidate");
    let output = home.fails(&["templates", "import", file, "--tenant", "acme"]);
    assert!(
        output.contains("template `count_stars` already exists"),
        "{output}"
    );

    home.ok(&["templates", "approve", "count_stars"]);
    assert_eq!(state_of(&home), "approved");
    home.ok(&["templates", "import", file]);
    let output = home.fails(&["templates", "approve", "count_stars"]);
    assert!(output.contains("--tenant"), "{output}");
    home.ok(&["templates", "remove", "count_stars", "--tenant", "local"]);
    let left = home.json(&["templates", "list", "--tenant", "local"]);
    assert_eq!(template(&left, "count_stars")["state"], "removed");

    let out = home.path("out.toml");
    let out = out.to_str().unwrap();
    let export = [
        "templates",
        "export",
        "count_stars",
        "--tenant",
        "acme",
        "--output",
        out,
    ];
    home.ok(&export);
    assert!(home.fails(&export).contains("cannot write"));
    let (before, after): (toml::Table, toml::Table) = (
        OWN.parse().unwrap(),
        fs::read_to_string(out).unwrap().parse().unwrap(),
    );
    for key in before.keys() {
        assert_eq!(before[key], after[key], "{key}");
    }
    let audit = home.ok(&["audit"]);
    for event in ["template imported", "template approved", "template removed"] {
        assert!(audit.contains(event), "no {event}: {audit}");
    }
}
