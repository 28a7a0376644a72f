//! Servers that fail: how failures are reported, and when servers are retried.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::json;

use super::{ERAS, call_with_progress};
use crate::harness::testbed::command_table;
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

/// A server that cannot be started, and the error that every client must get.
async fn check(table: &str, expected: &[&str]) {
    let home = Home::new(table);
    let gateway = home.serve().await;
    for (path, tool) in [("/servers/bad/mcp", "echo"), ("/mcp/all", "bad__echo")] {
        let client = gateway.client_at(path, Era::Modern).connect().await;
        let output = client.call(tool, &json!({})).await.tool_error();
        for words in expected {
            assert!(
                output.contains(words),
                "a call through {path} should say {words:?}: {output}"
            );
        }
    }
    let tested = home.kitbag(&["servers", "test", "bad"]).await;
    assert_eq!(tested.code, Some(1), "{}", tested.stderr);
    for words in expected {
        assert!(
            tested.stdout.contains(words),
            "`servers test` should say {words:?}: {}",
            tested.stdout
        );
    }
}

#[tokio::test]
async fn a_crash_at_start_is_reported_with_stderr_and_remedy() {
    let last_words = "Error: API_KEY environment variable is required";
    let table = Testbed::new("bad").manner("crash-at-start").table();
    check(
        &table,
        &[
            "`bad` exited before it was ready (exit code 1)",
            last_words,
            "set `API_KEY` in",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let table = command_table("bad", "no-such-program-anywhere", &[], "");
    check(
        &table,
        &["no-such-program-anywhere", "is installed and on the PATH"],
    )
    .await;
}

#[tokio::test]
async fn a_missing_variable_is_named() {
    let table = Testbed::new("bad")
        .with("env = { TOKEN = \"${E2E_NOT_SET}\" }")
        .table();
    check(&table, &["`bad` needs a variable", "export E2E_NOT_SET="]).await;
}

#[tokio::test]
async fn a_program_that_exits_silently_is_reported_as_such() {
    check(
        &command_table("bad", "true", &[], ""),
        &["`bad` exited before it was ready (exit code 0)"],
    )
    .await;
}

#[tokio::test]
async fn the_log_of_a_crashed_server_is_kept() {
    let home = Home::new(&Testbed::new("bad").manner("crash-at-start").table());
    let gateway = home.serve().await;
    until("the gateway's own log says that it failed", async || {
        gateway
            .log()
            .contains("`bad` exited before it was ready")
            .then_some(())
    })
    .await;
    let shown = home.kitbag(&["logs", "bad"]).await;
    assert_eq!(shown.code, Some(0));
    assert!(
        shown
            .stdout
            .contains("API_KEY environment variable is required"),
        "{}",
        shown.stdout
    );
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_reported_with_its_reason_and_serves_the_next_one() {
    for era in ERAS {
        let gateway = Gateway::with(&Testbed::new("frail").era(era).table()).await;
        let client = gateway.client(Era::Modern).await;
        client.knows("frail__crash").await;
        let slow = call_with_progress("frail__slow", &json!({ "ms": 20_000, "steps": 200 }));
        let mut beside = client.start("tools/call", &slow).await;
        beside.wait_for("notifications/progress").await;
        let output = client.call("frail__crash", &json!({})).await.tool_error();
        for words in [
            "`frail` disconnected during the call",
            "exit code 3",
            "fatal: the crash tool was called",
        ] {
            assert!(output.contains(words), "{era}: {output}");
        }
        let output = beside.finish().await.tool_error();
        assert!(
            output.contains("`frail` disconnected during the call"),
            "{era}: {output}"
        );
        assert_eq!(
            client
                .call("frail__echo", &json!({ "again": era }))
                .await
                .text(),
            json!({ "again": era }).to_string()
        );
    }
}

#[tokio::test]
async fn a_server_killed_in_a_call_is_reported_with_cause_and_remedy() {
    let gateway = Gateway::with(&Testbed::new("frail").table()).await;
    let client = gateway.client(Era::Modern).await;
    client.knows("frail__crash").await;
    for (words, help) in [
        (
            "Error: API_KEY environment variable is required",
            "set `API_KEY` in [servers.frail]",
        ),
        (
            "connect ECONNREFUSED 127.0.0.1:5432",
            "start the service at 127.0.0.1:5432",
        ),
        ("usage: frail [--db DB]", "the next call restarts it"),
    ] {
        let output = client
            .call("frail__crash", &json!({ "words": words }))
            .await
            .tool_error();
        assert!(
            output.contains(words) && output.contains(&format!("What to do: {help}")),
            "{output}"
        );
    }
}

#[tokio::test]
async fn a_server_that_always_crashes_is_retried_after_a_pause() {
    let home = Home::new("");
    let cured = home.path("cured");
    let command = Testbed::new("ill").line();
    let script = format!(
        "echo >>starts\ntest -e cured || {{ echo 'still ill' >&2; exit 7; }}\nexec {command}\n"
    );
    let starts = || {
        std::fs::read_to_string(home.path("starts"))
            .unwrap_or_default()
            .len()
    };
    std::fs::write(home.path("ill.sh"), script).unwrap();
    home.configure(&command_table(
        "ill",
        "sh",
        &["ill.sh".to_owned()],
        &format!("cwd = {:?}", home.path("")),
    ));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    until("it is left alone", async || {
        let before = starts();
        let output = client.call("ill__echo", &json!({})).await.tool_error();
        assert!(
            output.contains("still ill"),
            "the reason is told every time: {output}"
        );
        let is_left_alone = output.contains("the next attempt is in");
        assert!(!is_left_alone || starts() == before, "that costs no start");
        is_left_alone.then_some(())
    })
    .await;
    std::fs::write(cured, "").unwrap();
    until("it is tried again", async || {
        let reply = client.call("ill__echo", &json!({ "well": true })).await;
        (reply.result()["isError"] != true).then_some(())
    })
    .await;
}

/// Calls a server that cannot be started because of a mistake: no call counts as a failure, none has to
/// wait, and the log mentions the mistake once. Returns the client and the gateway.
async fn check_mistake(home: &Arc<Home>, mistake: &str) -> (Gateway, Client) {
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    for _ in 0..6 {
        let output = client.call("bad__echo", &json!({})).await.tool_error();
        assert!(
            output.contains(mistake) && !output.contains("in a row"),
            "{output}"
        );
    }
    let warned = gateway.log();
    let warned = warned
        .lines()
        .filter(|line| line.contains("WARN") && line.contains(mistake));
    assert_eq!(warned.count(), 1, "{}", gateway.log());
    (gateway, client)
}

#[tokio::test]
async fn a_missing_secret_is_not_counted_as_failures_and_works_once_it_is_set() {
    let table = Testbed::new("bad").with("env = { TOKEN = \"${secret:E2E_LATER}\" }");
    let home = Home::new(&table.table());
    let (_gateway, client) = check_mistake(&home, "`bad` needs a variable").await;
    let value = home.path("value");
    std::fs::write(&value, "later").unwrap();
    let mut set = home.command(&["secret", "set", "E2E_LATER"]);
    set.stdin(std::fs::File::open(&value).unwrap());
    assert!(set.status().unwrap().success());
    until("the secret helps", async || {
        let reply = client.call("bad__echo", &json!({})).await;
        (reply.result()["isError"] != true).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_missing_program_is_not_counted_as_failures_and_works_once_it_is_installed() {
    let home = Home::new("");
    let program = home.path("later.sh");
    home.configure(&command_table("bad", program.to_str().unwrap(), &[], ""));
    let (_gateway, client) = check_mistake(&home, "`bad` could not be launched").await;
    let script = format!("#!/bin/sh\nexec {}\n", Testbed::new("bad").line());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    client.call("bad__echo", &json!({})).await.text();
}

#[tokio::test]
async fn an_invalid_header_is_not_counted_as_failures() {
    let home = Home::new(
        "[servers.bad]\nurl = \"http://127.0.0.1:1/mcp\"\nheaders = { x-thing = \"${E2E_THING}\" }\n",
    );
    home.export("E2E_THING", "two\nlines");
    check_mistake(
        &home,
        "`bad` is misconfigured: the value of the header `x-thing` has characters",
    )
    .await;
}
