//! Many servers at once, some of them broken: the broken ones do not affect the others.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::testbed::command_table;
use crate::harness::{Era, Gateway, Home, Testbed, until};
use kitbag_testkit::processes::find_by_command_line;

#[tokio::test]
async fn of_fifty_servers_the_forty_good_ones_are_listed_whatever_the_ten_others_do() {
    let mut config = broken_servers();
    for number in 1..=GOOD {
        let era = ["legacy", "modern", "dual"][number % 3];
        config += &Testbed::new(&format!("good-{number:02}")).era(era).table();
    }
    let gateway = Gateway::with(&config).await;
    let client = gateway.client(Era::Legacy).await;
    let seen = until("forty servers are listed", async || {
        let started = Instant::now();
        let names = client.tool_names().await;
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "a list took {:?}",
            started.elapsed()
        );
        let servers: BTreeSet<String> = names
            .iter()
            .filter_map(|name| Some(name.split_once("__")?.0.to_owned()))
            .collect();
        (servers.len() >= GOOD).then_some(servers)
    })
    .await;
    assert!(
        seen.len() == GOOD && seen.iter().all(|name| name.starts_with("good-")),
        "{seen:?}"
    );
    for name in seen {
        assert_eq!(
            client
                .call(&format!("{name}__echo"), &json!({}))
                .await
                .text(),
            "{}"
        );
    }
}

#[tokio::test]
async fn none_of_thirty_servers_started_for_listing_keeps_running() {
    let home = Home::new("");
    let trace = home.path("trace");
    let table = |number: usize| {
        Testbed::new(&format!("idle-{number:02}"))
            .data_dir(&trace)
            .table()
    };
    home.configure(&(1..=30).map(table).collect::<String>());
    let gateway = home.serve().await;
    until("every server is listed", async || {
        gateway
            .log()
            .contains("all servers have been listed")
            .then_some(())
    })
    .await;
    let words = trace.to_str().unwrap();
    until("none runs", async || {
        find_by_command_line(words).is_empty().then_some(())
    })
    .await;
    let client = gateway.client(Era::Legacy).await;
    for number in [1, 30] {
        let tool = format!("idle-{number:02}__echo");
        assert_eq!(
            client.call(&tool, &json!({})).await.text(),
            "{}",
            "the first call starts it again"
        );
    }
    assert_eq!(
        find_by_command_line(words).len(),
        2,
        "those that are used go on"
    );
}

#[tokio::test]
async fn a_server_that_is_watched_or_used_keeps_running_and_announcing_after_it_was_listed() {
    let home = Home::new("");
    let trace = home.path("trace");
    home.configure(
        &Testbed::new("seen")
            .manner("change-tools")
            .data_dir(&trace)
            .table(),
    );
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("seen__change_tools").await;
    let watched = json!({ "resourceSubscriptions": ["test://static-text"] });
    let mut watching = client.subscribe(&watched).await;
    until("it runs", async || {
        (find_by_command_line(trace.to_str().unwrap()).len() == 1).then_some(())
    })
    .await;
    client.call("seen__change_tools", &json!({})).await.text();
    client.knows("seen__added_1").await;
    client
        .call(
            "seen__touch_resource",
            &json!({ "uri": "test://static-text" }),
        )
        .await
        .text();
    watching.wait_for("notifications/resources/updated").await;
    assert_eq!(find_by_command_line(trace.to_str().unwrap()).len(), 1);
}

const GOOD: usize = 40;

/// Ten servers that never start, each for a reason seen in practice. Their names sort first.
fn broken_servers() -> String {
    let mut config = String::new();
    for number in 1..=4 {
        config += &Testbed::new(&format!("a-mute-{number}"))
            .manner("hang")
            .table();
    }
    config += &Testbed::new("b-crash").manner("crash-at-start").table();
    config += &Testbed::new("c-variable")
        .with("env = { KEY = \"${E2E_NOT_SET}\" }")
        .table();
    config += &command_table("d-missing", "no-such-program-anywhere", &[], "");
    config += &command_table("e-gone", "true", &[], "");
    config += &command_table(
        "f-talks-nonsense",
        "sh",
        &["-c".to_owned(), CHATTER.to_owned()],
        "",
    );
    writeln!(
        config,
        "[servers.g-unreachable]\nurl = \"http://127.0.0.1:1/mcp\""
    )
    .unwrap();
    config
}

const CHATTER: &str = "echo hello; echo '{\"a\":1}'; echo '[1,2]'; cat > /dev/null";
