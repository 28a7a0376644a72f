//! A tenant sees and calls only what policy allows, on every surface and through every tool.

use std::collections::BTreeSet;

use serde_json::json;

use kitbag_domain::Outcome;
use kitbag_store::{AuditQuery, AuditRowKind, Store};

use super::{
    BATCH, CALL, ENABLE, SEARCH, SurfaceGateway, an_order, call_api, discover, key, search,
};
use crate::harness::{Client, Era, until};

const RULES: &str = "[tenants.acme]\ndeny_tools = [\"shop/*_order\", \"good/echo\"]\n\
                     [groups]\norders = [\"shop/*_order\"]\nmixed = [\"shop/refund\", \"shop/create_order\"]\n\
                     [surfaces]\npinned = [\"shop/*\"]\n";
const HIDDEN: [&str; 4] = ["create_order", "find_order", "delete_order", "good__echo("];

async fn setup() -> (SurfaceGateway, String) {
    let mut token = String::new();
    let setup = SurfaceGateway::with_home(RULES, async |home| {
        token = key(home, "acme").await.1;
        String::new()
    })
    .await;
    (setup, token)
}

#[tokio::test]
async fn tools_denied_to_a_tenant_are_hidden_everywhere() {
    let (setup, token) = setup().await;
    for era in Era::each() {
        for surface in ["search", "adaptive", "code"] {
            let path = format!("/mcp/{surface}");
            let client = setup
                .gateway
                .client_at(&path, era)
                .key(&token)
                .connect()
                .await;
            let mut output = client.tool_names().await.join("\n");
            for query in ["place an order", "return arguments as they are", "delete"] {
                let found = client
                    .call(SEARCH, &json!({ "query": query, "limit": 20 }))
                    .await;
                output.push_str(&found.text());
            }
            for what in [
                json!({}),
                json!({ "provider": "shop" }),
                json!({ "group": "mixed" }),
            ] {
                output.push_str(&discover(&client, &what).await.text());
            }
            output.push_str(
                &call_api(&client, "shop__refnd", &json!({}))
                    .await
                    .tool_error(),
            );
            assert!(output.contains("shop__refund"), "{output}");
            for hidden in HIDDEN {
                assert!(!output.contains(hidden), "{hidden} on {surface}: {output}");
            }
            let shop = discover(&client, &json!({})).await.text();
            assert!(
                shop.contains("shop · 3 tools") && shop.contains("mixed · 1 tool"),
                "{shop}"
            );
            assert!(
                !shop.contains("orders"),
                "a group without a visible tool is none: {shop}"
            );
            for what in [
                json!({ "tool": "shop__create_order" }),
                json!({ "group": "orders" }),
            ] {
                let output = discover(&client, &what).await.tool_error();
                assert!(output.contains("there is no"), "{output}");
            }
            if surface == "adaptive" {
                let output = client
                    .call(ENABLE, &json!({ "group": "orders" }))
                    .await
                    .tool_error();
                assert!(
                    output.contains("there is no group called `orders`"),
                    "{output}"
                );
            }
        }
        // Another caller still sees them all.
        let client = setup.client("/mcp", era).await;
        assert!(
            search(&client, "place an order")
                .await
                .contains("shop__create_order")
        );
    }
}

/// Every way to call a tool on a surface.
async fn attempts(client: &Client, tool: &str) -> Vec<String> {
    let call = json!({ "tool": tool, "arguments": an_order() });
    vec![
        client.call(tool, &an_order()).await.tool_error(),
        client.call(CALL, &call).await.tool_error(),
        client.call(BATCH, &json!({ "calls": [call] })).await.text(),
    ]
}

#[tokio::test]
async fn tools_denied_to_a_tenant_do_not_exist_however_they_are_called() {
    let (setup, token) = setup().await;
    let mut count = 0;
    for era in Era::each() {
        for path in ["/mcp", "/mcp/adaptive", "/mcp/code"] {
            let client = setup
                .gateway
                .client_at(path, era)
                .key(&token)
                .named("auditor")
                .connect()
                .await;
            for output in attempts(&client, "shop__create_order").await {
                assert!(
                    output.contains("there is no tool called `shop__create_order`"),
                    "{output}"
                );
                assert!(
                    !output.contains("customer"),
                    "nothing is told of its schema: {output}"
                );
                count += 1;
            }
            let mixed = json!({ "calls": [
                { "tool": "shop__refund", "arguments": { "order": "1" } },
                { "tool": "shop__delete_order", "arguments": { "order": "1" } },
            ] });
            let output = client.call(BATCH, &mixed).await.text();
            assert!(output.contains("[1/2] shop__refund: ok"), "{output}");
            assert!(
                output.contains("[2/2] shop__delete_order: error"),
                "{output}"
            );
            count += 2;
        }
    }
    let store = Store::open(setup.home().store_address()).await.unwrap();
    let query = AuditQuery {
        tenant: "acme".parse().ok(),
        kinds: vec![AuditRowKind::Call],
        ..AuditQuery::newest(1000)
    };
    let rows = until("every attempt is written down", async || {
        let rows = store.read_audit(&query).await.unwrap();
        (rows.len() >= count).then_some(rows)
    })
    .await;
    assert_eq!(
        rows.len(),
        count,
        "one row for each call of a tool, and none for the tool around it"
    );
    let seen: BTreeSet<_> = rows
        .iter()
        .map(|row| {
            (
                row.capability().unwrap().name.as_str(),
                row.outcome == Outcome::Denied,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("create_order", true),
            ("delete_order", true),
            ("refund", false)
        ]
        .into()
    );
    assert!(
        rows.iter()
            .all(|row| row.client.as_deref() == Some("auditor"))
    );
}
