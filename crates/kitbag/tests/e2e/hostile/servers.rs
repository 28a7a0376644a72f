//! Attacks by servers.

use serde_json::json;

use super::{beside_a_good_one, watch};
use crate::harness::{Era, Testbed};

/// The server misbehaves during calls, and the good server is not affected.
async fn check(client_era: &str) {
    check_in("dual", client_era).await;
}

/// The same for misbehaviour in one era only.
async fn check_in(era: &str, client_era: &str) {
    // So that each attempt to use it ends while the good server is watched.
    let settings = "start_timeout = \"2s\"\ncall_timeout = \"1s\"";
    let home = crate::harness::Home::new("");
    let evil = Testbed::new("evil").era(era).manner(client_era);
    let evil = evil.data_dir(&home.path("trace")).with(settings);
    let (gateway, client) = beside_a_good_one(&evil).await;
    let modern = gateway.client(Era::Modern).await;
    let nuisance = async {
        loop {
            let nothing = json!({});
            let calls = [&client, &modern].map(|it| it.call("evil__echo", &nothing));
            futures::future::join_all(calls).await;
        }
    };
    tokio::select! {
        () = watch(&gateway, &client) => {}
        () = nuisance => {}
    }
}

#[tokio::test]
async fn an_endless_line_is_not_buffered() {
    check("endless-line").await;
}

#[tokio::test]
async fn unsolicited_messages_do_not_pile_up() {
    check("message-flood").await;
}

#[tokio::test]
async fn pings_whose_answers_are_not_read_affect_no_other_server() {
    // Only legacy servers are initialized, after which they begin, and send pings.
    check_in("legacy", "flood-pings").await;
}

#[tokio::test]
async fn an_answer_that_drips_fails_only_its_own_call() {
    check("slow-bytes").await;
}

#[tokio::test]
async fn a_flood_on_stderr_is_not_buffered_and_affects_no_other_server() {
    check("stderr-flood").await;
}

#[tokio::test]
async fn silence_fails_only_its_own_call() {
    check("hang").await;
}

#[tokio::test]
async fn processes_left_behind_affect_no_other_server() {
    check("detach").await;
}

#[tokio::test]
async fn lists_that_never_end_affect_no_other_server() {
    check("endless-cursor").await;
}
