//! A login for the credential of a tool file, and a test of it.

use std::fs;

use super::{home, run_approved};
use crate::harness::api::Api;
use crate::harness::guarded::{Deviations, Guarded};

const DESK: &str = r#"
name = "desk"
kind = "curated"
purpose = "Read tickets."
description = "Reads tickets of the service desk."
owner = "support"
writes = "read"
intents = ["is there a ticket about the printer"]

[api]
url = "https://desk.example"
credential = "desk"
test = "search"
auth = { scheme = "oauth2", grant = "authorization_code", token_url = "https://desk.example/token", authorize_url = "https://desk.example/authorize", scopes = ["tickets"] }

[actions.search]
description = "Search tickets."
writes = "read"
method = "GET"
path = "/items"
query = { q = "{words}" }
input = '{ "type": "object", "properties": { "words": { "type": "string" } }, "required": ["words"], "additionalProperties": false }'
examples = ['{ "words": "printer" }']
"#;

#[tokio::test]
async fn a_user_logs_in_for_a_credential_and_tests_it_and_no_value_is_shown() {
    let (guarded, api) = (
        Guarded::start(Deviations::default()).await,
        Api::start().await,
    );
    let base = &guarded.base;
    let home = home(&format!(
        "[catalog]\ndirectories = ['mine']\n[endpoints.desk]\nurl = '{}'\ntoken_url = '{base}/token'\n\
         authorize_url = '{base}/authorize'\nallow_private = true\n",
        api.url
    ));
    fs::create_dir(home.path("mine")).unwrap();
    fs::write(home.path("mine/desk.toml"), DESK).unwrap();

    let output = run_approved(&home, &["secret", "login", "desk"]).await;
    let wanted = "set it first: kitbag secret set desk client_id --tenant local";
    assert!(output.stderr.contains(wanted), "{}", output.stderr);
    let set = |field: &'static str| ["secret", "set", "desk", field];
    let output = home.kitbag(&set("client_idd=me")).await;
    let warned =
        "no tool that uses `desk` has a field `client_idd`\n  try: did you mean `client_id`?";
    assert!(output.stderr.contains(warned), "{}", output.stderr);
    let output = home.kitbag(&set("client_id=me")).await;
    let next = "Its tools also need client_secret: kitbag secret set desk client_secret";
    assert!(output.stdout.contains(next), "{}", output.stdout);
    let output = home.kitbag(&set("client_secret=h1dden")).await;
    let next = "Now log in: kitbag secret login desk";
    assert!(output.stdout.contains(next), "{}", output.stdout);

    let output = run_approved(&home, &["secret", "login", "desk"]).await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(guarded.count("authorize me for tickets"), 1);
    let tested = home.kitbag(&["secret", "test", "desk"]).await;
    let works = "desk of local: desk answered `search` with HTTP 200";
    assert!(tested.stdout.starts_with(works), "{tested:?}");
    assert_eq!(tested.stdout.lines().count(), 1, "{tested:?}");
    let seen = api.requests();
    assert_eq!(seen[0].uri, "/v1/items?q=printer");
    let token = seen[0].headers["authorization"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(token.starts_with("Bearer s3cret-access-"), "{token}");
    let listed = home.kitbag(&["secret", "list", "--json"]).await;
    for output in [&output, &tested, &listed] {
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("s3cret") && !all.contains("h1dden"), "{all}");
    }
    assert!(listed.stdout.contains("\"desk\""), "{}", listed.stdout);
}

#[tokio::test]
async fn a_credential_rejected_by_the_api_or_used_by_no_tool_is_reported() {
    let api = Api::start().await;
    let home = home(&format!(
        "[catalog]\ndirectories = ['mine']\n[endpoints.desk]\nurl = '{}'\nallow_private = true\n",
        api.url.replace("/v1", "/v2")
    ));
    fs::create_dir(home.path("mine")).unwrap();
    let lines: Vec<&str> = DESK
        .lines()
        .filter(|it| !it.starts_with("auth ="))
        .collect();
    let bearer = lines
        .join("\n")
        .replace("test =", "auth = { scheme = \"bearer\" }\ntest =");
    fs::write(home.path("mine/desk.toml"), bearer).unwrap();
    for (words, expected) in [
        (["secret", "test", "desk"].as_slice(), "CONFIG_MISSING"),
        (
            &["secret", "set", "desk", "token=t0ken"],
            "Stored desk of local",
        ),
        (
            &["secret", "test", "desk"],
            "desk rejected `search` with HTTP 404",
        ),
        (&["secret", "test", "dask"], "did you mean `desk`?"),
        (
            &["secret", "login", "desk"],
            "no tool that uses `desk` has a login",
        ),
    ] {
        let output = home.kitbag(words).await;
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(all.contains(expected), "{words:?}: {all}");
        assert!(!all.contains("t0ken"), "{all}");
    }
}
