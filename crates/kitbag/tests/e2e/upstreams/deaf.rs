//! Servers that stop responding, and servers that are only slow.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kitbag_testkit::processes::find_by_command_line;
use serde_json::json;

use super::{ERAS, call_with_progress};
use crate::harness::{Era, Home, Remote, Testbed, until};

const SHORT: &str = "call_timeout = \"3s\"";
const DEAF: &str = "`mute` does not answer at all (no reply to a ping either)";

/// A home with one testbed, and the folder of its event log.
fn home_with(era: &str, misbehave: impl FnOnce(Testbed) -> Testbed) -> (Arc<Home>, String) {
    let home = Home::new("");
    let trace = home.path("trace");
    let testbed = Testbed::new("mute").era(era).data_dir(&trace).with(SHORT);
    home.configure(&misbehave(testbed).table());
    (home, trace.to_str().unwrap().to_owned())
}

fn cure(trace: &str) {
    fs::write(Path::new(trace).join("cured"), "").unwrap();
}

async fn became_deaf(trace: &str) {
    until("the server is deaf", async || {
        let events = fs::read_to_string(Path::new(trace).join("events.log")).unwrap_or_default();
        events.contains("became deaf").then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_that_answers_no_ping_after_a_timeout_is_restarted_and_the_caller_is_informed() {
    for era in ERAS {
        let (home, trace) = home_with(era, |it| it.manner("deaf"));
        let gateway = home.serve().await;
        let client = gateway.client(Era::Modern).await;
        client.knows("mute__echo").await;
        let output = client.call("mute__echo", &json!({})).await.tool_error();
        assert!(
            output.contains(&format!(
                "{DEAF}; it was restarted\nWhat to do: try once more"
            )),
            "{era}: {output}"
        );
        cure(&trace);
        assert_eq!(
            client.call("mute__echo", &json!({})).await.text(),
            "{}",
            "{era}"
        );
    }
}

#[tokio::test]
async fn calls_that_time_out_together_share_one_restart() {
    let (home, trace) = home_with("legacy", |it| it.manner("deaf"));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("mute__echo").await;
    let nothing = json!({});
    let calls = (0..8).map(|_| client.call("mute__echo", &nothing));
    for reply in futures::future::join_all(calls).await {
        let output = reply.tool_error();
        assert!(output.contains("it was restarted"), "{output}");
    }
    cure(&trace);
    client.call("mute__echo", &json!({})).await.text();
    let restarts = gateway.log().matches("restarting it").count();
    assert_eq!(restarts, 1, "{}", gateway.log());
}

#[tokio::test]
async fn a_server_that_is_deaf_again_after_its_restart_is_restarted_only_after_a_pause() {
    let (home, _trace) = home_with("legacy", |it| it.manner("deaf"));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("mute__echo").await;
    let call = async || client.call("mute__echo", &json!({})).await.tool_error();
    assert!(call().await.contains("it was restarted"));
    let output = call().await;
    assert!(
        output.contains(DEAF) && output.contains("failed 2 times in a row; the next attempt is in"),
        "{output}"
    );
}

#[tokio::test]
async fn a_slow_server_that_answers_a_ping_continues_with_its_other_calls() {
    for era in ERAS {
        let (home, trace) = home_with(era, |it| it);
        let gateway = home.serve().await;
        let client = gateway.client(Era::Modern).await;
        client.knows("mute__slow").await;
        client.call("mute__echo", &json!({})).await.text();
        let before = find_by_command_line(&trace);
        let steady = call_with_progress("mute__slow", &json!({ "ms": 12_000, "steps": 60 }));
        let steady = client.start("tools/call", &steady).await;
        let silent = json!({ "ms": 100_000 });
        let output = client.call("mute__slow", &silent).await.tool_error();
        assert!(
            output.contains("`mute` did not answer within 3 s")
                && output.contains("try a smaller request"),
            "{output}"
        );
        assert_eq!(
            steady.finish().await.text(),
            "slept 12000 ms in 60 steps",
            "{era}"
        );
        assert_eq!(
            find_by_command_line(&trace),
            before,
            "it is the same process"
        );
    }
}

#[tokio::test]
async fn a_remote_server_that_is_deaf_to_a_session_gets_a_new_one() {
    let home = Home::new("");
    let trace = home.path("trace").to_str().unwrap().to_owned();
    let deaf = ["--era", "legacy", "--manner", "deaf", "--data-dir", &trace];
    let remote = Remote::http(&deaf).await;
    home.configure(&remote.table("mute", SHORT));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("mute__echo").await;
    let nothing = json!({});
    let cured = async {
        became_deaf(&trace).await;
        cure(&trace);
    };
    let (reply, ()) = tokio::join!(client.call("mute__echo", &nothing), cured);
    let output = reply.tool_error();
    assert!(
        output.contains(&format!("{DEAF}; the connection to it was replaced")),
        "{output}"
    );
    assert_eq!(client.call("mute__echo", &json!({})).await.text(), "{}");
}

#[tokio::test]
async fn a_remote_server_that_stays_deaf_is_reported_and_used_again_when_it_answers() {
    for era in ERAS {
        let home = Home::new("");
        let trace = home.path("trace").to_str().unwrap().to_owned();
        let deaf = ["--era", era, "--manner", "deaf", "--data-dir", &trace];
        let remote = Remote::http(&deaf).await;
        home.configure(&remote.table("mute", &format!("{SHORT}\nstart_timeout = \"4s\"")));
        let gateway = home.serve().await;
        let client = gateway.client(Era::Modern).await;
        client.knows("mute__echo").await;
        let output = client.call("mute__echo", &json!({})).await.tool_error();
        assert!(
            output.contains(&format!("{DEAF}; restarting it failed: `mute` ")),
            "{era}: {output}"
        );
        cure(&trace);
        until("it serves again", async || {
            let reply = client.call("mute__echo", &json!({})).await;
            (reply.result()["isError"] != true).then_some(())
        })
        .await;
    }
}
