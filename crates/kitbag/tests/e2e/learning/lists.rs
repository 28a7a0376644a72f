//! The list on the adaptive surface: its start for a new client, and how it follows use.

use serde_json::{Value, json};

use super::{LearningGateway, search_tools};
use crate::harness::{Client, Era};

/// The listed tools of the shop, in their order.
async fn listed_tools(client: &Client) -> Vec<String> {
    let names = client.tool_names().await.into_iter();
    names.filter(|name| name.starts_with("shop__")).collect()
}

async fn client(setup: &LearningGateway, era: Era, name: &str) -> Client {
    let builder = setup.gateway.client_at("/mcp/adaptive", era);
    builder.named(name).connect().await
}

#[tokio::test]
async fn a_new_client_is_listed_twenty_tools_or_all_of_them() {
    let setup = LearningGateway::open("").await;
    for era in Era::each() {
        let client = client(&setup, era, "invoice-keeper").await;
        let listed = listed_tools(&client).await;
        assert_eq!(listed.len(), 20);
        // A legacy client first sees tools similar to its name.
        if era == Era::Legacy {
            assert!(listed[0].ends_with("invoice"), "{listed:?}");
        }
    }
    let home = setup.home().clone();
    let shop = super::shop_table(&setup.shop);
    home.configure(&format!("{shop}[surfaces]\ncold_start = 'all'\n"));
    let client = client(&setup, Era::Modern, "anyone").await;
    crate::harness::until("the list has all tools", async || {
        (listed_tools(&client).await.len() == 30).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_new_key_of_a_tenant_that_has_worked_for_long_is_listed_what_a_new_client_is() {
    let setup = LearningGateway::open("[tenants.acme]\n[surfaces]\ncold_start = 'all'\n").await;
    let home = setup.home().clone();
    let worker = setup.gateway.client_at("/mcp/adaptive", Era::Legacy);
    let worker = worker.key(&home.key("acme").await).connect().await;
    let call = json!({ "tool": "shop__list_ticket", "arguments": { "note": "ticket 7" } });
    worker.call("call_api", &call).await.tool_text();
    crate::harness::until("the tenant has a history", async || {
        (!setup.lessons("shop__list_ticket").await.is_empty()).then_some(())
    })
    .await;
    let newcomer = setup.gateway.client_at("/mcp/adaptive", Era::Legacy);
    let newcomer = newcomer.key(&home.key("acme").await).connect().await;
    assert_eq!(listed_tools(&newcomer).await.len(), 30);
}

#[tokio::test]
async fn the_list_follows_the_users_prompts_and_shrinks_to_the_used_tools() {
    let setup = LearningGateway::open("").await;
    let home = setup.home().clone();
    let said = json!({ "text": "archive the photos of the last year" }).to_string();
    let url = format!("{}/v1/context", setup.gateway.base);
    let answer = reqwest::Client::new().post(url).body(said).send().await;
    let answer = answer.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["tools"][0]["name"], "shop__archive_photo");
    let worker = client(&setup, Era::Legacy, "worker").await;
    assert_eq!(listed_tools(&worker).await[0], "shop__archive_photo");

    for number in 0..30 {
        for tool in ["shop__list_ticket", "shop__create_ticket"] {
            let note = format!("ticket {number} about thing {}", number * 7);
            let call = json!({ "tool": tool, "arguments": { "note": note } });
            search_tools(&worker, &format!("{number} {tool} {}", number * 13)).await;
            worker.call("call_api", &call).await.tool_text();
        }
    }
    let LearningGateway { gateway, shop } = setup;
    gateway.stop().await;
    let setup = LearningGateway::serve(&home, shop).await;
    let listed = listed_tools(&client(&setup, Era::Modern, "worker").await).await;
    assert!(listed.len() <= 8, "{listed:?}");
    let mut used = listed[..2].to_vec();
    used.sort_unstable();
    assert_eq!(used, ["shop__create_ticket", "shop__list_ticket"]);
}
