//! Tokens after the login: refreshed, revoked, insufficient, for another server.

use futures::future::join_all;
use serde_json::json;

use super::{home, log_in};
use crate::harness::guarded::{Deviations, Guarded};
use crate::harness::{Client, Era, Gateway};

const HELLO: &str = "hello";

/// A gateway in front of a server with a login.
async fn gateway(guarded: &Guarded) -> (Gateway, Client) {
    let home = home(&guarded.table("docs", ""));
    log_in(&home, &[]).await;
    let gateway = home.serve().await;
    let client = gateway.client(Era::Modern).await;
    client.knows("docs__echo").await;
    (gateway, client)
}

async fn works(client: &Client) {
    let said = client
        .call("docs__echo", &json!({ "message": HELLO }))
        .await
        .text();
    assert!(said.contains(HELLO), "{said}");
}

#[tokio::test]
async fn a_running_gateway_uses_a_new_login_at_once() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    let gateway = home.serve().await;
    let client = gateway.client(Era::Legacy).await;
    assert_eq!(client.tool_names().await, [""; 0]);
    log_in(&home, &[]).await;
    client.knows("docs__echo").await;
    works(&client).await;
}

#[tokio::test]
async fn an_expired_token_is_refreshed_once_however_many_calls_need_it() {
    let guarded = Guarded::start(Deviations::default()).await;
    let (_gateway, client) = gateway(&guarded).await;
    for round in 1..=2 {
        guarded.expire();
        join_all((0..20).map(|_| works(&client))).await;
        assert_eq!(
            guarded.count("token refresh_token"),
            round,
            "{:?}",
            guarded.log()
        );
    }
}

#[tokio::test]
async fn a_token_about_to_expire_is_refreshed_in_time() {
    let guarded = Guarded::start(Deviations {
        lifetime: 0,
        ..Deviations::default()
    })
    .await;
    let (_gateway, client) = gateway(&guarded).await;
    works(&client).await;
    assert!(guarded.count("token refresh_token") > 1);
    assert_eq!(
        guarded.count("turned away with a token"),
        0,
        "{:?}",
        guarded.log()
    );
}

#[tokio::test]
async fn two_processes_refresh_one_login_without_ending_it() {
    let guarded = Guarded::start(Deviations::default()).await;
    let (gateway, client) = gateway(&guarded).await;
    for _ in 0..3 {
        guarded.expire();
        let words = ["call", "docs__echo", "message=hello"];
        let (output, ()) = tokio::join!(gateway.home.kitbag(&words), works(&client));
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    assert_eq!(
        guarded.count("token refresh_token"),
        3,
        "{:?}",
        guarded.log()
    );
}

#[tokio::test]
async fn a_revoked_login_is_reported_to_the_model_with_a_remedy() {
    let guarded = Guarded::start(Deviations::default()).await;
    let (gateway, client) = gateway(&guarded).await;
    guarded.revoke();
    for _ in 0..2 {
        let output = client
            .call("docs__echo", &json!({ "message": HELLO }))
            .await
            .tool_error();
        assert_eq!(
            output,
            "`docs` requires a new login because the old one ended (the authorization server refused: \
             invalid_grant)\nWhat to do: run `kitbag servers login docs`"
        );
    }
    assert_eq!(
        guarded.count("token refresh_token"),
        1,
        "asking again cannot help"
    );
    log_in(&gateway.home, &[]).await;
    works(&client).await;
    for secret in guarded.secrets() {
        assert!(!gateway.log().contains(&secret));
    }
}

#[tokio::test]
async fn scopes_that_a_call_lacks_are_requested_by_the_next_login() {
    let guarded = Guarded::start(Deviations::default()).await;
    let (gateway, client) = gateway(&guarded).await;
    works(&client).await;
    guarded.demand("write");
    let output = client
        .call("docs__echo", &json!({ "message": HELLO }))
        .await
        .tool_error();
    assert_eq!(
        output,
        "`docs` requires permissions that Kitbag's login does not have (write)\nWhat to do: run `kitbag servers login docs`"
    );
    log_in(&gateway.home, &[]).await;
    assert_eq!(
        guarded.count("authorize registered for read write"),
        1,
        "{:?}",
        guarded.log()
    );
    works(&client).await;

    guarded.revoke();
    guarded.demand("admin");
    log_in(&gateway.home, &["--scope", "read"]).await;
    assert_eq!(
        guarded.count("authorize registered for read write"),
        2,
        "nothing once asked for is dropped"
    );
}

#[tokio::test]
async fn a_token_is_not_shown_to_a_server_that_took_the_name_of_another() {
    let guarded = Guarded::start(Deviations::default()).await;
    let home = home(&guarded.table("docs", ""));
    log_in(&home, &[]).await;
    let other = Guarded::start(Deviations::default()).await;
    home.configure(&other.table("docs", ""));
    let output = home.kitbag(&["servers", "test", "docs"]).await;
    assert!(
        output.stdout.contains("run `kitbag servers login docs`"),
        "{output:?}"
    );
    assert_eq!(other.count("turned away with a token"), 0);
    assert!(other.count("turned away") > 0);
}
