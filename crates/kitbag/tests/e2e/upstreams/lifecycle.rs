//! When servers are started and stopped, and that no process is left behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::ERAS;
use crate::harness::testbed::command_table;
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};
use kitbag_testkit::processes::{alive, find_by_command_line};

#[tokio::test]
async fn after_a_restart_the_list_is_there_at_once_and_nothing_runs_until_the_first_call() {
    for era in ERAS {
        let (home, trace) = home_with("lazy", |it| it.era(era));
        listed_once(&home, "lazy__echo").await;
        assert_eq!(
            find_by_command_line(&trace),
            [0; 0],
            "the first gateway took its server along"
        );

        let gateway = home.serve().await;
        let client = gateway.client(Era::Legacy).await;
        assert!(
            client.tool_names().await.contains(&"lazy__echo".to_owned()),
            "known from the first run"
        );
        assert_eq!(
            find_by_command_line(&trace),
            [0; 0],
            "listing starts nothing"
        );
        client.call("lazy__echo", &json!({})).await.text();
        assert_eq!(find_by_command_line(&trace).len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_would_hang_is_listed_from_the_store() {
    let home = Home::new("");
    let script = home.path("server.sh");
    let settings = format!("cwd = {:?}\nstart_timeout = \"1s\"", home.path(""));
    home.configure(&command_table(
        "moody",
        "sh",
        &["server.sh".to_owned()],
        &settings,
    ));
    fs::write(&script, format!("exec {}", Testbed::new("moody").line())).unwrap();
    listed_once(&home, "moody__echo").await;

    fs::write(&script, "sleep 600").unwrap();
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    assert!(
        client
            .tool_names()
            .await
            .contains(&"moody__echo".to_owned())
    );
    let log = gateway.log();
    assert!(!log.contains("was not ready"), "no start was tried: {log}");
    let output = client.call("moody__echo", &json!({})).await.tool_error();
    assert!(
        output.contains("`moody` was not ready within 1s"),
        "{output}"
    );
}

#[tokio::test]
async fn the_era_of_a_server_is_stored_so_that_it_is_not_probed_again() {
    let (home, trace) = home_with("old", |it| it.era("legacy").manner("no-discover-answer"));
    let probes = || {
        let events = fs::read_to_string(Path::new(&trace).join("events.log")).unwrap();
        events.matches("ignored server/discover").count()
    };
    listed_once(&home, "old__echo").await;
    assert_eq!(probes(), 1);

    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.call("old__echo", &json!({})).await.text();
    assert_eq!(probes(), 1);
}

#[tokio::test]
async fn a_server_without_calls_is_stopped_and_started_again_by_the_next_call() {
    for era in ERAS {
        let (home, trace) = home_with("rare", |it| it.era(era).with("idle_timeout = \"1s\""));
        let gateway = home.serve().await;
        let client = gateway.client(Era::Legacy).await;
        use_tool(&client, "rare__echo").await;
        until(&format!("the {era} server is stopped"), async || {
            find_by_command_line(&trace).is_empty().then_some(())
        })
        .await;
        assert!(
            client.tool_names().await.contains(&"rare__echo".to_owned()),
            "its tools stay on offer"
        );
        client.call("rare__echo", &json!({})).await.text();
        assert_eq!(find_by_command_line(&trace).len(), 1, "{era}");
    }
}

#[tokio::test]
async fn a_server_with_a_long_call_is_not_idle() {
    let (home, _trace) = home_with("busy", |it| it.with("idle_timeout = \"1s\""));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("busy__slow").await;
    // A stopped server would give no answer.
    let answer = client.call("busy__slow", &json!({ "ms": 3500 })).await;
    answer.text();
}

/// The gateway is asked to end; its server and all descendants must be gone too.
async fn ends_without_trace(misbehaviours: &[&str]) {
    let (home, trace) = home_with("sticky", |it| {
        misbehaviours
            .iter()
            .fold(it, |it, misbehaviour| it.manner(misbehaviour))
    });
    let gateway = home.serve().await;
    use_tool(&gateway.client(Era::Legacy).await, "sticky__echo").await;
    let mut left = find_by_command_line(&trace);
    assert_eq!(left.len(), 1);
    left.extend(detached_pid(&trace));
    assert!(gateway.stop().await.success());
    left.retain(|pid| alive(*pid));
    assert!(left.is_empty(), "{misbehaviours:?} left {left:?}");
}

#[tokio::test]
async fn a_server_that_ignores_a_closed_stdin_gets_sigterm() {
    ends_without_trace(&["ignore-stdin-close"]).await;
}

#[tokio::test]
async fn a_server_that_ignores_sigterm_is_killed() {
    ends_without_trace(&["ignore-stdin-close", "ignore-term"]).await;
}

#[tokio::test]
async fn a_process_that_a_server_detached_ends_with_the_gateway() {
    ends_without_trace(&["detach"]).await;
}

#[tokio::test]
async fn a_process_that_a_server_detached_ends_with_the_server() {
    let (home, trace) = home_with("loose", |it| {
        it.manner("detach").with("idle_timeout = \"1s\"")
    });
    let gateway = home.serve().await;
    use_tool(&gateway.client(Era::Legacy).await, "loose__echo").await;
    let sidecar = detached_pid(&trace).expect("the server has started one");
    assert!(alive(sidecar));
    until("the server is stopped", async || {
        find_by_command_line(&trace).is_empty().then_some(())
    })
    .await;
    until("its sidecar as well", async || {
        (!alive(sidecar)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_process_that_a_server_detached_ends_when_the_server_crashes() {
    let (home, trace) = home_with("frail", |it| it.manner("detach"));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    use_tool(&client, "frail__echo").await;
    let sidecar = detached_pid(&trace).expect("the server has started one");
    client.call("frail__crash", &json!({})).await.tool_error();
    until("the sidecar is gone", async || {
        (!alive(sidecar)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_still_starting_ends_with_the_gateway() {
    let (home, trace) = home_with("mute", |it| {
        it.manner("hang")
            .manner("detach")
            .manner("ignore-stdin-close")
            .manner("ignore-term")
    });
    let gateway = home.serve().await;
    let sidecar = until("it is being started", async || detached_pid(&trace)).await;
    let mut left = find_by_command_line(&trace);
    left.push(sidecar);
    assert!(gateway.stop().await.success());
    left.retain(|pid| alive(*pid));
    assert!(left.is_empty(), "{left:?} are left");
}

#[tokio::test]
async fn processes_left_behind_by_a_killed_gateway_are_ended_by_the_next_one() {
    let (home, trace) = home_with("orphan", |it| {
        it.manner("detach")
            .manner("ignore-stdin-close")
            .manner("ignore-term")
    });
    let gateway = home.serve().await;
    use_tool(&gateway.client(Era::Legacy).await, "orphan__echo").await;
    let mut left = find_by_command_line(&trace);
    left.extend(detached_pid(&trace));
    assert_eq!(left.len(), 2);
    gateway.kill().await;

    let _next = home.serve().await;
    until("no orphan lives", async || {
        (!left.iter().any(|pid| alive(*pid))).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_stdio_gateway_ends_with_its_client_and_stops_its_servers() {
    let (home, trace) = home_with("child", |it| it.manner("detach"));
    let client = Client::stdio(&home, Era::Legacy).connect().await;
    client.knows("child__echo").await;
    client.call("child__echo", &json!({})).await.text();
    let mut left = find_by_command_line(&trace);
    left.extend(detached_pid(&trace));
    assert_eq!(left.len(), 2);
    assert!(client.pipe().close().is_some_and(|status| status.success()));
    left.retain(|pid| alive(*pid));
    assert!(left.is_empty(), "{left:?} are left");
}

#[tokio::test]
async fn a_server_sees_only_harmless_variables_and_those_it_was_given() {
    let home = Home::new("");
    let given = "env = { GIVEN = \"plain\", PASSED = \"${E2E_SOURCE}\" }";
    home.configure(&Testbed::new("curious").with(given).table());
    home.export("E2E_SOURCE", "from outside");
    home.export("AWS_SECRET_ACCESS_KEY", "not for you");
    home.export("LANG", "C.UTF-8");
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("curious__environment").await;
    let result = client
        .call("curious__environment", &json!({}))
        .await
        .result();
    assert_eq!(
        result["structuredContent"]["names"],
        json!(["GIVEN", "HOME", "KITBAG_CHILD_OF", "LANG", "PASSED", "PATH"])
    );
}

/// A home with one testbed, and a path that occurs on no other command line.
fn home_with(name: &str, misbehave: impl FnOnce(Testbed) -> Testbed) -> (Arc<Home>, String) {
    let home = Home::new("");
    let trace = home.path("trace");
    home.configure(&misbehave(Testbed::new(name).data_dir(&trace)).table());
    (home, trace.to_str().unwrap().to_owned())
}

/// Calls a tool as soon as it is known, so that its server runs.
async fn use_tool(client: &Client, tool: &str) {
    client.knows(tool).await;
    assert_eq!(client.call(tool, &json!({})).await.text(), "{}");
}

/// Runs a gateway until it has listed its server.
async fn listed_once(home: &Arc<Home>, tool: &str) {
    let gateway: Gateway = home.serve().await;
    gateway.client(Era::Legacy).await.knows(tool).await;
    assert!(gateway.stop().await.success());
}

fn detached_pid(trace: &str) -> Option<u32> {
    fs::read_to_string(Path::new(trace).join("detached.pid"))
        .ok()?
        .trim()
        .parse()
        .ok()
}
