//! Servers whose lists change, and notifications to clients.

use serde_json::json;

use super::ERAS;
use crate::harness::{Era, Gateway, Remote, Testbed};

/// A tool appears while clients of both eras listen.
async fn check(gateway: &Gateway) {
    let mut added = 0;
    for client_era in Era::each() {
        let client = gateway.client(client_era).await;
        client.knows("growing__change_tools").await;
        let mut stream = client.listen().await;
        client
            .call("growing__change_tools", &json!({}))
            .await
            .text();
        added += 1;
        let name = format!("growing__added_{added}");
        // The first listing of the server may still be announced before this one.
        loop {
            let output = stream.wait_for("notifications/tools/list_changed").await;
            if client_era == Era::Modern {
                assert!(
                    output["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].is_i64(),
                    "{output}"
                );
            }
            if client.tool_names().await.contains(&name) {
                break;
            }
        }
        assert_eq!(
            client.call(&name, &json!({})).await.text(),
            format!("added_{added} is here")
        );
    }
}

#[tokio::test]
async fn a_tool_added_by_a_child_is_listed_and_announced() {
    for era in ERAS {
        check(
            &Gateway::with(
                &Testbed::new("growing")
                    .era(era)
                    .manner("change-tools")
                    .table(),
            )
            .await,
        )
        .await;
    }
}

#[tokio::test]
async fn a_tool_added_by_a_remote_server_is_listed_and_announced() {
    for era in ERAS {
        let remote = Remote::http(&["--era", era, "--manner", "change-tools"]).await;
        check(&Gateway::with(&remote.table("growing", "")).await).await;
    }
    let remote = Remote::sse(&["--era", "legacy", "--manner", "change-tools"]).await;
    check(&Gateway::with(&remote.table("growing", "")).await).await;
}

#[tokio::test]
async fn an_early_client_is_notified_when_the_servers_are_ready() {
    let gateway = Gateway::with(&Testbed::new("late").manner("slow-start").table()).await;
    for client_era in Era::each() {
        let client = gateway.client(client_era).await;
        if client.tool_names().await.is_empty() {
            client
                .listen()
                .await
                .wait_for("notifications/tools/list_changed")
                .await;
        }
        assert!(client.tool_names().await.contains(&"late__echo".to_owned()));
    }
}
