//! Resources and prompts from the command line, on the same path as for clients.

use kitbag_domain::Outcome;
use kitbag_store::{AuditQuery, AuditRowKind, Store};
use serde_json::Value;

use super::SharedHome;
use crate::harness::until;

#[tokio::test]
async fn resources_and_prompts_come_from_the_servers_of_the_running_gateway() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    let rows: Vec<Value> = setup.json(&["resources", "--server", "shared"]).await;
    let of = |uri: &str| {
        rows.iter()
            .find(|row| row["uri"] == uri)
            .unwrap_or_else(|| panic!("{rows:?}"))
    };
    let text = of("test://static-text");
    assert_eq!(
        (&text["template"], &text["mime_type"]),
        (&false.into(), &"text/plain".into())
    );
    assert_eq!(of("test://template/{id}/data")["template"], true);
    let prompts: Vec<Value> = setup.json(&["prompts", "--server", "shared"]).await;
    let taking = prompts
        .iter()
        .find(|row| row["name"] == "shared__test_prompt_with_arguments")
        .unwrap();
    assert_eq!(taking["arguments"][1]["name"], "arg2");
    assert_eq!(taking["arguments"][1]["required"], true);
    for (words, expected) in [
        (
            ["resources", "read", "test://static-text"].as_slice(),
            "This is the content of the static text resource.",
        ),
        (
            &[
                "resources",
                "read",
                "kitbag://server/shared/test://watched-resource",
            ],
            "Touch me and your subscribers hear of it.",
        ),
        (
            &["resources", "read", "test://template/7/data"],
            r#"{"id":"7","templateTest":true,"data":"Data for ID: 7"}"#,
        ),
        (
            &[
                "prompts",
                "get",
                "shared__test_prompt_with_arguments",
                "arg1=007",
                "arg2=x = y",
            ],
            "user:\n  Prompt with arguments: arg1='007', arg2='x = y'\n",
        ),
        (
            &[
                "prompts",
                "get",
                "shared__test_prompt_with_arguments",
                "--args",
                r#"{"arg1":1,"arg2":"b"}"#,
            ],
            "user:\n  Prompt with arguments: arg1='1', arg2='b'\n",
        ),
    ] {
        assert_eq!(setup.ok(words).await.stdout, expected, "{words:?}");
    }
    assert_eq!(setup.starts(), 1, "{}", gateway.log());
}

#[tokio::test]
async fn rules_and_audit_cover_resources_and_prompts_from_the_command_line() {
    let rules =
        "[policy]\ndeny_tools = [\"shared/test://static-*\", \"shared/test_simple_prompt\"]\n";
    let setup = SharedHome::with(rules);
    let listed = setup.ok(&["resources"]).await.stdout + &setup.ok(&["prompts"]).await.stdout;
    assert!(
        listed.contains("test://watched-resource") && listed.contains("test_prompt_with_image"),
        "{listed}"
    );
    assert!(
        !listed.contains("test://static-") && !listed.contains("test_simple_prompt"),
        "{listed}"
    );
    for (words, output) in [
        (
            ["resources", "read", "test://static-text"],
            "may not use the resource `shared/test://static-text`",
        ),
        (
            ["prompts", "get", "shared__test_simple_prompt"],
            "may not use the prompt `shared/test_simple_prompt`",
        ),
    ] {
        let refused = setup.home.kitbag(&words).await;
        assert!(
            refused.code == Some(1) && refused.stderr.contains(output),
            "{}",
            refused.stderr
        );
    }
    assert_eq!(
        setup.starts(),
        0,
        "no server is touched for what is forbidden"
    );
    setup
        .ok(&["resources", "read", "test://watched-resource"])
        .await;
    setup
        .ok(&["prompts", "get", "shared__test_prompt_with_image"])
        .await;
    let store = Store::open(setup.home.store_address()).await.unwrap();
    let query = AuditQuery {
        kinds: vec![AuditRowKind::Call],
        ..AuditQuery::newest(100)
    };
    let mut rows = until("all four are written down", async || {
        let rows = store.read_audit(&query).await.unwrap();
        (rows.len() == 4).then_some(rows)
    })
    .await;
    rows.sort_by_key(|row| row.at.0);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (row.client.as_deref().unwrap(), row.outcome))
        .collect();
    let (resources, prompts) = ("kitbag resources", "kitbag prompts");
    let expected = [
        (resources, Outcome::Denied),
        (prompts, Outcome::Denied),
        (resources, Outcome::Ok),
        (prompts, Outcome::Ok),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_missing_prompt_argument_is_reported_before_the_server_starts() {
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    for apart in [[].as_slice(), &["--own"]] {
        let words = [
            "prompts",
            "get",
            "shared__test_prompt_with_arguments",
            "arg1=x",
        ];
        let refused = setup.home.kitbag(&[&words, apart].concat()).await;
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        let expected = "error: the prompt `shared__test_prompt_with_arguments` needs the argument `arg2`\n  \
                        try: kitbag prompts get shared__test_prompt_with_arguments arg2=…\n";
        assert_eq!(refused.stderr, expected);
    }
    assert_eq!(setup.starts(), 0);
}

#[tokio::test]
async fn a_mistyped_uri_or_prompt_gets_a_suggestion() {
    let setup = SharedHome::new();
    setup
        .home
        .configure(&[setup.server("shared"), setup.server("other")].concat());
    setup.introduce();
    for (words, output) in [
        (
            ["resources", "read", "tset://static-text"].as_slice(),
            "did you mean kitbag://server/other/test://static-text or kitbag://server/shared/test://static-text",
        ),
        (
            &["prompts", "get", "shared__test_simple_promt"],
            "did you mean shared__test_simple_prompt",
        ),
        (
            &["prompts", "get", "nothing-like-it"],
            "list them with `kitbag prompts`",
        ),
        (
            &["resources", "--server", "sharde"],
            "did you mean `shared`?",
        ),
        (
            &["resources", "read", "test://static-text"],
            "kitbag://server/other/test://static-text",
        ),
    ] {
        let refused = setup.home.kitbag(words).await;
        assert!(
            refused.code == Some(1) && refused.stderr.contains(output),
            "{words:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(setup.starts(), 0, "no server had to be asked");
    setup.home.configure(&setup.server("shared"));
    let output = setup
        .home
        .kitbag(&["resources", "read", "test://static-txt"])
        .await
        .stderr;
    assert!(
        output.contains("resource not found") && output.contains("did you mean test://static-text"),
        "{output}"
    );
}
