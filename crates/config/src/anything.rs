//! Property tests: any text parses or is rejected with a reason, and an edited file parses again.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

use super::edit::{self, NewServer, Reach};
use super::{Config, ConfigError, Environment, Overrides, parse};

/// A text with a part of every section, for the tests to corrupt.
const TEXT: &str = r#"# mine
[serve]
bind = "127.0.0.1:7420"
allowed_origins = ["https://app.example"]
[audit]
keep_days = 30
arguments = "hash"
[priors]
schedule = "0 3 * * *"
[index.embedder]
endpoint = "https://e.example/v1"
model = "m"
api_key = "${secret:e}"
[surfaces]
default = "search"
pinned = ["git/log"]
[policy]
deny_tools = ["*/delete_*"]
[tenants.acme]
allow_servers = ["docs"]
[servers.git]
command = "uvx" # with uv
args = ["mcp-server-git", "${HOME:-x}"]
env = { TOKEN = "${TOKEN}" }
start_timeout = "90s"
[servers.docs]
url = "https://docs.example/mcp?k=${K}"
headers = { Authorization = "Bearer ${secret:docs}" }
[providers.weather]
url = "https://api.example/v1"
bearer = "x"
[tools."git__log"]
cost_usd = 0.1
"#;

fn parse_text(text: &str) -> Result<Config, ConfigError> {
    let environment = Environment {
        home: Some("/home/ann".into()),
        ..Environment::default()
    };
    parse(
        text,
        Some(Path::new("/etc/kitbag.toml")),
        &Overrides::default(),
        &environment,
    )
}

#[test]
fn the_sample_text_parses() {
    parse_text(TEXT).unwrap();
}

proptest! {
    #[test]
    fn any_text_parses_or_is_rejected_with_a_reason(text in "(?s).{0,300}") {
        check_error_text(&parse_text(&text));
    }

    #[test]
    fn a_corrupted_configuration_parses_or_is_rejected_and_no_edit_breaks_it(
        at in any::<Index>(), length in 0_usize..40, slip in "[\\[\\]{}=\"'#.a-z0-9$ \n]{0,4}",
    ) {
        let begin = at.index(TEXT.len());
        let end = TEXT.ceil_char_boundary((begin + length).min(TEXT.len()));
        let damaged = format!("{}{slip}{}", &TEXT[..begin], &TEXT[end..]);
        let config = parse_text(&damaged);
        check_error_text(&config);
        if let Ok(config) = config {
            check_edits(&damaged, &config)?;
        }
    }
}

/// Checks that an error has a message and that its remedy does not panic.
fn check_error_text(read: &Result<Config, ConfigError>) {
    if let Err(error) = read {
        assert!(!error.to_string().is_empty());
        let _advice = error.remedy();
    }
}

fn check_edits(text: &str, config: &Config) -> Result<(), TestCaseError> {
    let name = "brand-new".parse().expect("a valid name");
    let launch = Reach::Launch {
        command: "x".to_owned(),
        args: Vec::new(),
        env: Vec::new(),
        cwd: None,
    };
    let added = edit::add_server(
        text,
        &name,
        &NewServer {
            reach: launch,
            enabled: true,
        },
    );
    // An inline table in an unusual form may not accept another server. The text then stays
    // unchanged.
    let Ok(added) = added else { return Ok(()) };
    let after =
        parse_text(&added).map_err(|error| TestCaseError::fail(format!("{error}:\n{added}")))?;
    prop_assert_eq!(after.servers.len(), config.servers.len() + 1);
    let removed = edit::remove_server(&added, &name)
        .expect("it was just read")
        .expect("it was just added");
    let again = parse_text(&removed)
        .map_err(|error| TestCaseError::fail(format!("{error}:\n{removed}")))?;
    prop_assert_eq!(again.servers.len(), config.servers.len());
    Ok(())
}
