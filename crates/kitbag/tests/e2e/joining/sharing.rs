//! Clients on stdio and commands that use the servers of the running gateway.

use std::process::Stdio;

use kitbag_domain::{Outcome, Tenant};
use kitbag_store::{AuditQuery, AuditRowKind, Store};
use serde_json::{Value, json};

use super::SharedHome;
use crate::harness::testbed::command_table;
use crate::harness::{Client, Era, Home, Testbed, until};
use kitbag_testkit::processes::{self, terminate};

#[tokio::test]
async fn two_clients_on_stdio_and_every_command_share_one_child_of_a_server() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    let mut clients = Vec::new();
    for era in Era::each() {
        let client = Client::stdio(&setup.home, era).connect().await;
        client.knows("shared__echo").await;
        assert_eq!(
            client.call("shared__echo", &json!({ "x": 1 })).await.text(),
            r#"{"x":1}"#
        );
        clients.push(client);
    }
    let called = setup.ok(&["call", "shared__echo", "x=2"]).await;
    assert_eq!(called.stdout.trim(), r#"{"x":2}"#);
    let listed = setup.ok(&["tools", "--server", "shared", "--json"]).await;
    let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap();
    assert!(
        listed.iter().any(|row| row["name"] == "shared__echo"),
        "{listed:?}"
    );
    let found = setup
        .ok(&["search", "return the arguments as they are", "--json"])
        .await;
    let found: Vec<Value> = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(found[0]["tool_name"], "shared__echo");
    assert!(
        found[0]["parts"]["dense"].as_f64().unwrap() > 0.0,
        "{}",
        found[0]
    );
    let tokens = setup
        .ok(&["stats", "tokens", "--surface", "all", "--json"])
        .await;
    let tokens: Value = serde_json::from_str(&tokens.stdout).unwrap();
    assert_eq!(
        (&tokens["surface"], &tokens["tools"]),
        (&json!("all"), &json!(listed.len()))
    );
    assert_eq!(setup.starts(), 1, "{}", gateway.log());
}

#[tokio::test]
async fn joined_or_not_a_command_answers_the_same() {
    let setup = SharedHome::new();
    // In the store from here on, so that both know it.
    setup.ok(&["tools"]).await;
    let _gateway = setup.home.serve().await;
    for words in [
        ["call", "shared__echo", "text=a\u{e9}"].as_slice(),
        &["call", "shared__echo", "deep.er:=[1,2.5,null]", "--json"],
        &["call", "shared__missing"],
        &["call", "shared__missing", "--json"],
        &["call", "shared__test_error_handling"],
        &["tools"],
        &["tools", "--json", "echo"],
        &["resources"],
        &["resources", "--json"],
        &["resources", "read", "test://static-text"],
        &["resources", "read", "test://static-binary", "--json"],
        &["resources", "read", "test://nowhere"],
        &["prompts"],
        &["prompts", "get", "shared__test_prompt_with_image"],
        &["prompts", "get", "shared__test_simple_prompt", "--json"],
        &["prompts", "get", "shared__missing"],
        &["search", "make a picture", "--explain"],
        &["search", "make a picture", "--json", "-n", "3"],
        &["stats", "tokens"],
        &["stats", "tokens", "--json"],
    ] {
        let joined = setup.home.kitbag(words).await;
        let alone = setup.home.kitbag(&[words, &["--own"]].concat()).await;
        assert_eq!(
            (joined.code, &joined.stdout),
            (alone.code, &alone.stdout),
            "{words:?}"
        );
        assert_eq!(joined.stderr, alone.stderr, "{words:?}");
    }
}

#[tokio::test]
async fn an_interrupted_command_cancels_its_call() {
    let setup = SharedHome::new();
    let _gateway = setup.home.serve().await;
    let mut calling = setup.home.command(&["call", "shared__slow", "ms=600000"]);
    let mut calling = calling
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the call runs", async || {
        (setup.events("started slow") == 1).then_some(())
    })
    .await;
    terminate(calling.id());
    processes::wait(&mut calling, crate::harness::PATIENCE).expect("it ends");
    until("the call is cancelled", async || {
        (setup.events("cancelled slow") == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_edit_applies_to_the_command_that_follows() {
    let setup = SharedHome::new();
    let gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    setup
        .home
        .configure(&[setup.server("shared"), setup.server("added")].concat());
    assert_eq!(setup.ok(&["call", "added__echo"]).await.stdout.trim(), "{}");
    // The new server may be stopped between its listing and the call.
    assert!(
        (2..=3).contains(&setup.starts()),
        "each is started for its call: {}",
        gateway.log()
    );
    setup.home.configure(&setup.server("shared"));
    let gone = setup.home.kitbag(&["call", "added__echo"]).await;
    assert!(
        gone.stderr
            .contains("there is no tool called `added__echo`"),
        "{}",
        gone.stderr
    );
}

#[tokio::test]
async fn a_gateway_that_requires_keys_lets_its_own_user_join_and_audits_it() {
    let setup = SharedHome::with(
        "[serve]\nbind = \"127.0.0.1:0\"\nrequire_key = true\n[policy]\ndeny_tools = [\"shared/big\"]\n",
    );
    setup.ok(&["key", "create", "--tenant", "acme"]).await;
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    let refused = setup.home.kitbag(&["call", "shared__big"]).await;
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("may not use the tool `shared/big`"),
        "rules hold for it as well: {}",
        refused.stderr
    );
    assert_eq!(setup.starts(), 1);
    let store = Store::open(setup.home.store_address()).await.unwrap();
    let query = AuditQuery {
        tenant: Some(Tenant::local()),
        kinds: vec![AuditRowKind::Call],
        ..AuditQuery::newest(100)
    };
    let rows = until("both calls are written down", async || {
        let rows = store.read_audit(&query).await.unwrap();
        (rows.len() == 2).then_some(rows)
    })
    .await;
    let mut seen = rows;
    seen.sort_by_key(|it| it.at.0);
    assert!(
        seen.iter()
            .all(|it| it.client.as_deref() == Some("kitbag call")),
        "{seen:?}"
    );
    assert_eq!(
        [seen[0].outcome, seen[1].outcome],
        [Outcome::Ok, Outcome::Denied]
    );
}

#[tokio::test]
async fn a_server_of_the_running_gateway_is_restarted_by_its_name() {
    let setup = SharedHome::new();
    let without = setup.home.kitbag(&["servers", "restart", "shared"]).await;
    assert!(
        without.stderr.contains("no gateway is running"),
        "{}",
        without.stderr
    );
    let _gateway = setup.home.serve().await;
    setup.ok(&["call", "shared__echo"]).await;
    let told = setup.ok(&["servers", "restart", "shared"]).await;
    assert!(
        told.stdout
            .starts_with("`shared` was restarted and offers "),
        "{}",
        told.stdout
    );
    setup.ok(&["call", "shared__echo"]).await;
    assert_eq!(
        setup.starts(),
        3,
        "for a call, to see that it starts, and for a call again"
    );
    let unknown = setup.home.kitbag(&["servers", "restart", "sharde"]).await;
    assert!(
        unknown.stderr.contains("did you mean `shared`?"),
        "{}",
        unknown.stderr
    );
}

#[tokio::test]
async fn the_doctor_reports_whether_a_gateway_is_joined() {
    let setup = SharedHome::new();
    let told = async || {
        let told = setup.home.kitbag(&["doctor", "--offline", "--json"]).await;
        let report: Value = serde_json::from_str(&told.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().clone();
        let found = findings
            .into_iter()
            .find(|it| it["subject"] == "running gateway");
        found.unwrap_or_else(|| panic!("{report}"))["what"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(told().await.starts_with("none;"));
    let gateway = setup.home.serve().await;
    let what = told().await;
    assert!(
        what.starts_with("pid ") && what.contains(&gateway.base) && what.ends_with("join it"),
        "{what}"
    );
}

#[tokio::test]
async fn a_command_waits_for_no_server_that_fails_and_one_line_says_whose_tools_are_missing() {
    let home = Home::new("");
    // The first start fails at once. A command that waited for a retry would wait ten minutes.
    let script = "echo >>tries; test $(wc -l <tries) -gt 1 && sleep 600; echo gone >&2; exit 3";
    let script = ["-c".to_owned(), script.to_owned()];
    let settings = format!("cwd = {:?}\nstart_timeout = \"600s\"", home.path(""));
    let bad = command_table("bad", "sh", &script, &settings);
    home.configure(&(Testbed::new("good").table() + &bad));
    std::fs::write(home.path("program.js"), "return 1").unwrap();
    let gateway = home.serve().await;
    until("all servers were asked", async || {
        let log = gateway.log();
        log.contains("all servers have been listed").then_some(())
    })
    .await;
    let program = home.path("program.js");
    for words in [
        &["search", "echo"][..],
        &["search", "echo"],
        &["tools"],
        &["prompts"],
        &["resources"],
        &["stats", "tokens"],
        &["run", program.to_str().unwrap()],
    ] {
        let told = home.kitbag(words).await;
        assert_eq!(told.code, Some(0), "{words:?}: {}", told.stderr);
        let expected = "warning: `bad` exited before it was ready (exit code 3); its tools are missing: kitbag servers test bad";
        let about_bad = told.stderr.lines().filter(|line| line.contains("bad"));
        assert_eq!(about_bad.collect::<Vec<_>>(), [expected], "{words:?}");
    }
    for words in [
        &["call", "good__echo"][..],
        &["tools", "show", "good__echo"],
        &["tools", "--server", "good"],
    ] {
        let told = home.kitbag(words).await;
        assert_eq!(
            (told.code, told.stderr.as_str()),
            (Some(0), ""),
            "{words:?}"
        );
    }
}
