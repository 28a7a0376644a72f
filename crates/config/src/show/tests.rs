//! Compares the shown configuration with the known keys and with the values that the program uses.

use std::collections::BTreeSet;

use super::*;
use crate::sections::tests::tables;
use crate::{ConfigError, Environment, Overrides, parse};

/// A configuration with every possible table, and without a secret that would be masked.
const EVERYTHING: &str = r#"
[serve]
bind = "127.0.0.1:9000"

[index.embedder]
endpoint = "https://host/v1"
model = "m"

[tools."a.b"]
cost_usd = 0.5

[surfaces]
clients = { "claude-code*" = "all" }

[groups]
everyday = ["files/*"]

[tenants.acme]
allow_servers = ["git"]

[servers.git]
command = "uvx"
args = ["git-mcp", "--token=${T}"]
env = { TOKEN = "${TOKEN}" }

[servers.bare]
command = "x"

[servers.bare.env]

[servers.web]
url = "https://host/mcp"
headers = { X-Key = "${secret:key}" }
oauth = { client_id = "k" }

[providers.weather]
url = "https://api.example/v1"
[endpoints.desk]
token_url = "https://host/token"
authorize_url = "https://host/authorize"
storage_url = "https://host/storage"
[web]
reader = "https://host/reader"
reader_token = "${secret:reader}"
certificate_authorities = "/etc/own.pem"
[browser]
program = "/opt/chromium"
"#;

fn config(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment {
        cwd: "/work".into(),
        home: Some("/home/ann".into()),
        ..Default::default()
    };
    parse(text, None, &Overrides::default(), &environment)
}

fn list_shown_entries(text: &str, given: &[Override]) -> Vec<Entry> {
    let config = config(text).unwrap();
    let is_set = |name: &str| name == "TOKEN";
    list_entries(&Sources {
        text,
        config: &config,
        overrides: given,
        is_set: &is_set,
    })
}

#[test]
fn every_key_is_shown() {
    let directory = "[index]\nembedder = { directory = 'm' }";
    let entries = [
        list_shown_entries(EVERYTHING, &[]),
        list_shown_entries(directory, &[]),
    ]
    .concat();
    let names: BTreeSet<_> = entries
        .iter()
        .flat_map(|entry| &entry.key)
        .map(String::as_str)
        .collect();
    for table in tables() {
        for key in table.key_names() {
            assert!(names.contains(key), "`{key}` of [{}]", table.path);
        }
    }
}

#[test]
fn the_shown_text_parses_to_the_same_configuration() {
    for original in ["", EVERYTHING] {
        let copy = text::to_toml(&list_shown_entries(original, &[]), None);
        let (before, after) = (
            config(original).unwrap(),
            config(&copy).unwrap_or_else(|error| panic!("{error}\n{copy}")),
        );
        assert_eq!(format!("{before:?}"), format!("{after:?}"), "{copy}");
        assert_eq!(
            (before.servers, before.providers),
            (after.servers, after.providers),
            "{copy}"
        );
    }
}

#[test]
fn each_value_has_its_origin() {
    let given = [Override {
        key: ("serve", "require_key"),
        value: Value::Boolean(true),
        origin: Origin::Variable {
            name: "KITBAG_REQUIRE_KEY",
        },
    }];
    let entries = list_shown_entries(
        "serve.page_size = 7\n\n[servers.a]\ncommand = 'a'\nenv = {\n  X = 'literal',\n  TOKEN = '${TOKEN}',\n}",
        &given,
    );
    let described = |path: &str| {
        let entry = entries
            .iter()
            .find(|entry| entry.key_path() == path)
            .expect(path);
        let value = entry
            .value
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!(
            "{value} {}",
            entry.origin.describe(Some(Path::new("/etc/kitbag.toml")))
        )
    };
    assert_eq!(described("serve.page_size"), "7 kitbag.toml:1");
    assert_eq!(described("serve.bind"), "\"127.0.0.1:7420\" default");
    assert_eq!(described("serve.require_key"), "true KITBAG_REQUIRE_KEY");
    assert_eq!(described("servers.a.env.X"), "\"••••\" kitbag.toml:6");
    assert_eq!(
        described("servers.a.env.TOKEN"),
        "\"${TOKEN}\" kitbag.toml:7"
    );
    assert_eq!(described("servers.a.call_timeout"), "\"2m\" default");
    assert_eq!(described("telemetry.otlp_endpoint"), " default");
}

#[test]
fn the_text_is_aligned_and_fits_a_terminal() {
    let long = "x".repeat(60);
    let text = format!("[servers.a]\ncommand = '{long}'\nargs = ['${{T}}']\nenabled = true\n");
    let entries: Vec<_> = list_shown_entries(&text, &[])
        .into_iter()
        .filter(|it| !it.is_default())
        .collect();
    let expected = format!(
        "[servers.a]\n# kitbag.toml:2\ncommand = \"{long}\"\nargs = [\"${{T}}\"]  # kitbag.toml:3, T not set\n\
         enabled = true   # kitbag.toml:4\n"
    );
    assert_eq!(
        text::to_toml(&entries, Some(Path::new("/etc/kitbag.toml"))),
        expected
    );
}
