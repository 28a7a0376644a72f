//! `kitbag tools check`: each check finds planted mistakes, and nothing in this repository's catalog.

use kitbag_testkit::home::{CONFIG, CommandOutcome, Home};
use serde_json::json;

const TICKET: &str = r#"name = "ticket"
kind = "curated"
purpose = "Read and open tickets."
description = "Searches and opens tickets of the service desk."
owner = "support"
writes = "read + write"
intents = ["is there a ticket about the printer"]

[api]
url = "https://desk.example/api"
credential = "desk"
auth = { scheme = "bearer" }
headers = { X-Client = "kitbag" }

[actions.search]
description = "Search tickets."
writes = "read"
method = "GET"
path = "/tickets"
query = { q = "{words}" }
input = '{ "type": "object", "properties": { "words": { "type": "string" } }, "additionalProperties": false }'
examples = ['{ "words": "printer" }']

[actions.open]
description = "Open a ticket."
writes = "write"
method = "POST"
path = "/tickets"
body = '{ "text": "{text}" }'
input = '{ "type": "object", "properties": { "text": { "type": "string" } }, "additionalProperties": false }'
"#;

const MANIFEST: &str = "\
| Tool | Kind | Purpose | Write ops | Owner |
|---|---|---|---|---|
| ticket | curated | Read and open tickets. | read + write | support |
";

const MODELS: &str = r#"[[model]]
provider = "p"
id = "m"
usd_per_million_input_tokens = 1
usd_per_million_output_tokens = 2
valid_from = 2026-01-01
source = "a price list"
"#;

const TOOL: &str = "cat/tools/ticket.toml";
const PAGE: &str = "docs/tools/ticket.md";
const DATA: &str = "cat/data/models.toml";

/// A whole catalog of one tool without mistakes.
fn valid_catalog() -> Home {
    let home = Home::new();
    home.write(TOOL, TICKET);
    home.write("cat/TOOLS.md", MANIFEST);
    home.write(PAGE, "It has `search` and `open`.");
    home.write(DATA, MODELS);
    home
}

/// Plants a mistake and compares the first line of the report.
#[track_caller]
fn check_finding(check: &str, file: &str, from: &str, to: &str, expected: &str) {
    let home = valid_catalog();
    let text = std::fs::read_to_string(home.path(file)).expect("the file is there");
    assert!(text.contains(from), "{from} is not in {file}");
    home.write(file, &text.replacen(from, to, 1));
    let CommandOutcome { code, stdout, .. } = home.run(&["tools", "check", "cat", "--only", check]);
    let output: Vec<&str> = stdout.lines().collect();
    assert_eq!(code, Some(1), "{check}: {stdout}");
    assert!(output[0].starts_with(expected), "{check}: {stdout}");
    assert!(
        output[0].contains(" => "),
        "{check} has no advice: {stdout}"
    );
    assert!(output[1].ends_with("1 problem."), "{check}: {stdout}");
}

#[test]
fn each_check_finds_its_planted_mistake() {
    let secret = concat!(
        "X-Client = \"ghp_",
        "abcdefghijklmnopqrstuvwxyz0123456789\""
    );
    let twice = format!("{MODELS}{MODELS}");
    #[rustfmt::skip]
    let planted = [
        ("03", TOOL, "\"words\": {", "\"tenant_id\": { \"type\": \"string\" }, \"words\": {",
            "cat/tools/ticket.toml:21: check 03 tenancy: action `search` takes `tenant_id` as an argument"),
        ("04", TOOL, "owner = \"support\"", "owner = \"sales\"",
            "cat/tools/ticket.toml:5: check 04 manifest: `owner` is \"sales\", and \"support\" in cat/TOOLS.md, line 3"),
        ("04", "cat/TOOLS.md", "support |\n", "support |\n| other | curated | x | read | y |\n",
            "cat/TOOLS.md:4: check 04 manifest: `other` has a row and no file `other.toml`"),
        ("08", TOOL, ", \"additionalProperties\": false", "",
            "cat/tools/ticket.toml:21: check 08 strict schemas: action `search`: the input accepts unknown members"),
        ("08", TOOL, "\"text\": { \"type\": \"string\" }", "\"text\": { \"items\": { \"type\": \"object\" } }",
            "cat/tools/ticket.toml:30: check 08 strict schemas: action `open`: `/properties/text/items` accepts unknown members"),
        ("14", PAGE, "`open`", "more",
            "cat/../docs/tools/ticket.md: check 14 pages: the page does not list the action `open`"),
        ("files", TOOL, "kind = \"curated\"", "kind = \"curated\"\nkinds = 1",
            "cat/tools/ticket.toml:3: check files: unknown key `kinds`"),
        ("write-class", TOOL, "writes = \"read\"\n", "",
            "cat/tools/ticket.toml:15: check write class: in `actions.search`: missing key `writes`"),
        ("hosts", TOOL, "credential =", "hosts = [\"other.example\"]\ncredential =",
            "cat/tools/ticket.toml:11: check hosts: requests go to `desk.example`, but the hosts are other.example"),
        ("arguments", TOOL, "q = \"{words}\"", "q = \"x\"",
            "cat/tools/ticket.toml:21: check arguments: action `search` takes `words`, but never sends it"),
        ("examples", TOOL, "'{ \"words\": \"printer\" }'", "'{ \"word\": \"printer\" }'",
            "cat/tools/ticket.toml:22: check examples: an example of `search` does not match the schema: "),
        ("intents", TOOL, "[\"is there a ticket about the printer\"]", "[]",
            "cat/tools/ticket.toml:7: check intents: `ticket` has no intents"),
        ("secrets", TOOL, "X-Client = \"kitbag\"", secret,
            "cat/tools/ticket.toml:13: check secrets: this line seems to contain a secret"),
        ("dated-data", DATA, MODELS, &twice,
            "cat/data/models.toml:8: check dated data: `m of p` has two rows that are valid on 2026-01-01"),
    ];
    for (check, file, from, to, expected) in planted {
        check_finding(check, file, from, to, expected);
    }
}

#[test]
fn a_valid_catalog_and_the_repositorys_own_pass_and_report_what_was_checked() {
    let output = valid_catalog().ok(&["tools", "check", "cat"]);
    assert!(
        output.contains("1 tool of cat") && output.contains("14 pages"),
        "{output}"
    );
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
    // The newest rows of dated data are from this day.
    let output = Home::new().json(&["tools", "check", catalog, "--on", "2026-11-16"]);
    assert_eq!(output["findings"], json!([]));
    assert_eq!(output["checks"].as_array().unwrap().len(), 12, "{output:#}");
}

#[test]
fn a_tool_not_found_by_its_intents_is_reported_with_the_tools_found() {
    let home = valid_catalog();
    let lost = TICKET.replace("is there a ticket about the printer", "resize a photo");
    home.write(TOOL, &lost);
    let others = ["resize", "crop", "rotate"].map(|name| {
        let description = format!("{name} a photo or another image");
        json!({ "id": name, "name": name, "description": description }).to_string()
    });
    home.write("others/tools.jsonl", &others.join("\n"));
    let output = home.run(&[
        "tools", "check", "cat", "--among", "others", "--only", "intents",
    ]);
    assert_eq!(output.code, Some(1));
    let expected = "cat/tools/ticket.toml:7: check intents: `ticket` is not among the top three for \"resize a photo\"; found \
                    `resize`, ";
    assert!(output.stdout.starts_with(expected), "{}", output.stdout);
}

#[test]
fn an_own_directory_is_checked_with_the_built_in_tools() {
    let home = Home::new();
    let taken = TICKET.replacen("\"ticket\"", "\"google_ads\"", 1);
    home.write("mine/ticket.toml", TICKET);
    home.write("mine/ads.toml", &taken);
    let output = home.run(&["tools", "check", "mine", "--only", "files,04"]);
    assert!(
        output.stdout.starts_with("mine/ads.toml:1: check files: in `name`: the name `google_ads` is taken by `google-ads`"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("1 tool of mine (files)"),
        "{}",
        output.stdout
    );
    let output = home.fails(&["tools", "check", "elsewhere"]);
    assert!(output.contains("elsewhere does not exist"), "{output}");
    let output = home.run(&["tools", "check", "mine", "--only", "99"]);
    assert_eq!(output.code, Some(2), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains("`99` is not a check; the checks are 03, 04"),
        "{}",
        output.stderr
    );
}

#[test]
fn the_operators_data_is_checked_with_the_effective_configuration() {
    let home = Home::new();
    home.write("mine.toml", &MODELS.replacen("= 1\n", "= -1\n", 1));
    home.write(CONFIG, "[catalog]\ndata = ['~/mine.toml']\n");
    let output = home.run(&["tools", "check", "--only", "files"]);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(output.stdout.contains("mine.toml:"), "{}", output.stdout);
}
