//! Servers that ask for roots between calls, as most do right after initialization.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::harness::client::ClientBuilder;
use crate::harness::{Client, Era, Gateway, Home, Remote, Testbed, until};

const MANNERS: [&str; 4] = ["--era", "legacy", "--manner", "remember-roots"];

/// A client whose roots can change later.
fn with_roots(builder: ClientBuilder, root: &Arc<Mutex<String>>) -> ClientBuilder {
    let root = root.clone();
    builder.answer_with(move |method, _| {
        assert_eq!(method, "roots/list");
        json!({ "roots": [{ "uri": *root.lock().unwrap() }] })
    })
}

fn root(uri: &str) -> Arc<Mutex<String>> {
    Arc::new(Mutex::new(uri.to_owned()))
}

async fn check(client: &Client, uri: &str) {
    for _ in 0..2 {
        let known = client.call("files__known_roots", &json!({})).await.text();
        assert_eq!(
            known,
            json!({ "roots": [{ "uri": uri }] }).to_string(),
            "{:?}",
            client.era
        );
    }
}

fn table() -> String {
    Testbed::new("files")
        .era("legacy")
        .manner("remember-roots")
        .table()
}

#[tokio::test]
async fn a_server_that_asks_for_roots_gets_those_of_its_only_client_before_the_first_call() {
    for client_era in Era::each() {
        let remotes = [
            None,
            Some(Remote::http(&MANNERS).await),
            Some(Remote::sse(&MANNERS).await),
        ];
        for remote in remotes {
            let table = remote
                .as_ref()
                .map_or_else(table, |remote| remote.table("files", ""));
            let gateway = Gateway::with(&table).await;
            let client = with_roots(
                gateway.client_at("/mcp/all", client_era),
                &root("file:///ann"),
            )
            .connect()
            .await;
            client.knows("files__known_roots").await;
            check(&client, "file:///ann").await;
        }
        let home = Home::new(&table());
        let client = with_roots(Client::stdio(&home, client_era), &root("file:///ann"))
            .connect()
            .await;
        client.knows("files__known_roots").await;
        check(&client, "file:///ann").await;
    }
}

#[tokio::test]
async fn a_server_is_notified_of_changed_roots_with_the_next_call() {
    let gateway = Gateway::with(&table()).await;
    let roots = root("file:///before");
    let client = with_roots(gateway.client_at("/mcp/all", Era::Legacy), &roots)
        .connect()
        .await;
    client.knows("files__known_roots").await;
    check(&client, "file:///before").await;
    "file:///after".clone_into(&mut roots.lock().unwrap());
    client
        .notify("notifications/roots/list_changed", &json!({}))
        .await;
    check(&client, "file:///after").await;
}

#[tokio::test]
async fn no_client_is_asked_for_roots_when_several_use_the_server() {
    let gateway = Gateway::with(&table()).await;
    let plain = gateway.client(Era::Legacy).await;
    plain.knows("files__known_roots").await;
    let known = until("the server has asked", async || {
        let known = plain.call("files__known_roots", &json!({})).await.text();
        (known != "none").then_some(known)
    })
    .await;
    let other = gateway
        .client_at("/mcp/all", Era::Legacy)
        .answer_with(|_, _| panic!("asked"))
        .connect()
        .await;
    other
        .notify("notifications/roots/list_changed", &json!({}))
        .await;
    assert_eq!(
        other.call("files__known_roots", &json!({})).await.text(),
        known
    );
}
