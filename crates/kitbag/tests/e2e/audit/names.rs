//! Names from clients and servers are truncated where they enter.

use kitbag_domain::ShortText;
use serde_json::json;

use super::rows;
use crate::harness::{Era, Gateway, Testbed};

#[tokio::test]
async fn stored_names_of_clients_and_tools_are_truncated() {
    let gateway = Gateway::with(&Testbed::new("good").table()).await;
    let long = format!("long\u{1b}[2J{}", "é".repeat(20_000));
    let mut calls = 0;
    for era in Era::each() {
        let one = gateway
            .client_at("/servers/good/mcp", era)
            .named(&long)
            .connect()
            .await;
        one.call("echo", &json!({})).await;
        one.call(&long, &json!({})).await;
        one.request("prompts/get", &json!({ "name": long })).await;
        one.request("resources/read", &json!({ "uri": long })).await;
        let all = gateway
            .client_at("/mcp/all", era)
            .named(&long)
            .connect()
            .await;
        all.call(&long, &json!({})).await;
        all.call(&format!("good__{long}"), &json!({})).await;
        calls += 6;
    }
    for row in rows(&gateway.home, calls).await {
        let (client, name) = (
            row.client.clone().unwrap(),
            row.capability().unwrap().name.clone(),
        );
        assert!(client.chars().count() <= ShortText::MAX, "{client}");
        assert!(name.chars().count() <= ShortText::MAX, "{name}");
        assert!(
            client.starts_with("long\u{fffd}[2J") && client.ends_with('…'),
            "{client}"
        );
    }
    let figures = reqwest::get(format!("{}/v1/tokens", gateway.base))
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    assert!(
        !figures.contains(&"é".repeat(300)),
        "the meter keeps no long name either"
    );
    assert!(
        !gateway.log().contains(&"é".repeat(2_000)),
        "nor does the log"
    );
}
