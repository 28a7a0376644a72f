//! The adaptive surface: at most twenty tools in addition to the constant ones, and how they change.

use serde_json::{Value, json};

use kitbag_store::{LessonFilter, Store};

use super::answers::wait_until_embedded;
use super::{
    BATCH, CALL, DISCOVER, ENABLE, PROMPTS_CHANGED, SEARCH, SurfaceGateway, TOOLS_CHANGED,
    call_api, find_line, goods, key, search, shop, shop_table,
};
use crate::harness::{Client, Era, Home, until};

const CONSTANT: [&str; 5] = [SEARCH, DISCOVER, CALL, BATCH, ENABLE];
const MOST: usize = 20;

/// The tools listed in addition to the constant ones.
async fn shown_tools(client: &Client) -> Vec<String> {
    let mut names = client.tool_names().await;
    let others = names.split_off(CONSTANT.len());
    assert_eq!(names, CONSTANT);
    assert!(others.len() <= MOST, "{others:?}");
    others
}

/// The number of the shop's tools at the head of a list.
fn of_shop(names: &[String]) -> usize {
    let mut names = names.iter();
    let first_other = names.position(|name| !name.starts_with("shop__"));
    first_other.unwrap_or(names.len())
}

async fn enable(client: &Client, group: &str) -> String {
    client.call(ENABLE, &json!({ "group": group })).await.text()
}

#[tokio::test]
async fn pinned_tools_are_always_listed_and_come_first() {
    let setup =
        SurfaceGateway::with("[surfaces]\npinned = [\"shop/find_*\", \"good/echo\"]\n").await;
    for client in setup.clients("adaptive").await {
        let pinned = ["good__echo", "shop__find_order"];
        assert_eq!(shown_tools(&client).await[..2], pinned);
        enable(&client, "shop").await;
        let names = shown_tools(&client).await;
        assert_eq!(names[..2], pinned);
        assert_eq!(of_shop(&names[2..]), goods().len() - 1);
    }
}

#[tokio::test]
async fn up_to_twenty_tools_are_all_listed() {
    let home = Home::new("");
    let remote = shop(&home, &goods()).await;
    home.configure(&shop_table(&remote));
    let gateway = home.serve().await;
    for era in Era::each() {
        let client = gateway.client_at("/mcp/adaptive", era).connect().await;
        client.knows("shop__refund").await;
        assert_eq!(shown_tools(&client).await.len(), goods().len());
    }
}

#[tokio::test]
async fn an_enabled_group_is_listed_and_announced_to_the_legacy_session() {
    let setup = SurfaceGateway::with("[groups]\norders = [\"shop/*_order\"]\n").await;
    let client = setup.client("/mcp/adaptive", Era::Legacy).await;
    let other = setup.client("/mcp/adaptive", Era::Legacy).await;
    let (mut output, mut untold) = (client.listen().await, other.listen().await);
    let before = shown_tools(&other).await;
    assert_eq!(before.len(), MOST);
    for (group, are) in [
        ("orders", "3 tools of orders are"),
        ("money", "1 tool of money is"),
        ("shop", "6 tools of shop are"),
    ] {
        assert_eq!(
            enable(&client, group).await,
            format!("{are} in your list now.")
        );
        output.wait_for(TOOLS_CHANGED).await;
    }
    assert_eq!(of_shop(&shown_tools(&client).await), goods().len());
    assert!(
        enable(&client, "good")
            .await
            .contains("the first 20 are in your list now")
    );
    assert_eq!(shown_tools(&client).await.len(), MOST);

    // Sessions are separate, even with the same credential.
    assert_eq!(shown_tools(&other).await, before);
    call_api(
        &setup.client("/mcp", Era::Modern).await,
        "good__test_trigger_prompt_change",
        &json!({}),
    )
    .await
    .text();
    let first = untold.next().await.unwrap();
    assert!(first.contains(PROMPTS_CHANGED), "{first}");
}

#[tokio::test]
async fn modern_clients_of_one_credential_share_a_list_and_others_do_not() {
    let (mut one, mut two) = (String::new(), String::new());
    let setup = SurfaceGateway::with_home("", async |home| {
        (one, two) = (key(home, "acme").await.1, key(home, "acme").await.1);
        String::new()
    })
    .await;
    let visit = |token: &str| {
        setup
            .gateway
            .client_at("/mcp/adaptive", Era::Modern)
            .key(token)
            .connect()
    };
    let (client, same, other) = (visit(&one).await, visit(&one).await, visit(&two).await);
    let (mut output, mut untold) = (same.listen().await, other.listen().await);
    let before = shown_tools(&other).await;
    enable(&client, "shop").await;
    output.wait_for(TOOLS_CHANGED).await;
    assert_eq!(of_shop(&shown_tools(&same).await), goods().len());
    assert_eq!(shown_tools(&other).await, before);
    call_api(&client, "good__test_trigger_prompt_change", &json!({}))
        .await
        .text();
    let first = untold.next().await.unwrap();
    assert!(
        first.contains(PROMPTS_CHANGED),
        "another key's list did not change: {first}"
    );
}

#[tokio::test]
async fn tools_that_a_legacy_session_finds_and_calls_join_its_list() {
    let setup = SurfaceGateway::new().await;
    // While tools are found by words only, other tools fill the list.
    wait_until_embedded(&setup.gateway).await;
    for (client, called) in [
        (
            setup.client("/mcp/adaptive", Era::Legacy).await,
            "good__test_image_content",
        ),
        (
            Client::stdio_on(setup.home(), Era::Legacy, "adaptive")
                .connect()
                .await,
            "good__environment",
        ),
    ] {
        find_line(&client, "place an order", "shop__create_order").await;
        let first = shown_tools(&client).await;
        assert!(
            first.contains(&"shop__create_order".to_owned()),
            "{first:?}"
        );
        assert!(!first.contains(&called.to_owned()), "{first:?}");
        call_api(&client, called, &json!({})).await.text();
        assert_eq!(
            shown_tools(&client).await[0],
            called,
            "the latest comes first"
        );
    }
    let client = setup.client("/mcp/adaptive", Era::Legacy).await;
    let mut output = client.listen().await;
    search(&client, "place an order").await;
    output.wait_for(TOOLS_CHANGED).await;
    call_api(&client, "good__test_audio_content", &json!({})).await;
    output.wait_for(TOOLS_CHANGED).await;
}

#[tokio::test]
async fn tools_that_a_modern_client_finds_do_not_change_its_list() {
    let setup = SurfaceGateway::with("[surfaces]\npinned = [\"good/echo\"]\n").await;
    let client = setup.client("/mcp/adaptive", Era::Modern).await;
    let mut stream = client.listen().await;
    let before = shown_tools(&client).await;
    assert_eq!(before[0], "good__echo");
    search(&client, "place an order").await;
    call_api(&client, "shop__create_order", &super::an_order())
        .await
        .text();
    call_api(&client, "good__test_trigger_prompt_change", &json!({}))
        .await
        .text();
    assert_eq!(shown_tools(&client).await, before);
    let first = stream.next().await.unwrap();
    assert!(first.contains(PROMPTS_CHANGED), "{first}");
}

#[tokio::test]
async fn a_credentials_most_used_tools_are_listed_first_for_it_and_not_for_other_tenants() {
    let (mut one, mut two) = (String::new(), String::new());
    let setup = SurfaceGateway::with_home("", async |home| {
        (one, two) = (key(home, "acme").await.1, key(home, "globex").await.1);
        String::new()
    })
    .await;
    let visit = |path: &str, token: &str| {
        setup
            .gateway
            .client_at(path, Era::Modern)
            .key(token)
            .connect()
    };
    let user = visit("/mcp", &one).await;
    for (tool, arguments) in [
        ("shop__find_order", json!({ "order": "1" })),
        ("good__echo", json!({})),
        ("shop__find_order", json!({ "order": "2" })),
    ] {
        call_api(&user, tool, &arguments).await.text();
    }
    let store = Store::open(setup.home().store_address()).await.unwrap();
    let all = LessonFilter::default();
    until("the calls are learned from", async || {
        (store.count_lessons(&all).await.unwrap() == 3).then_some(())
    })
    .await;
    for era in Era::each() {
        let client = setup
            .gateway
            .client_at("/mcp/adaptive", era)
            .key(&one)
            .connect()
            .await;
        let used = ["shop__find_order", "good__echo"];
        assert_eq!(shown_tools(&client).await[..2], used);
    }
    let others = shown_tools(&visit("/mcp/adaptive", &two).await).await;
    assert!(!others.contains(&"good__echo".to_owned()), "{others:?}");
}

#[tokio::test]
async fn a_listed_tool_is_called_by_name_and_promises_only_what_a_truncated_result_keeps() {
    let setup = SurfaceGateway::with("[surfaces]\npinned = [\"shop/*\"]\n").await;
    for client in setup.clients("adaptive").await {
        let tools = client.list("tools/list", "tools").await;
        let stock = tools
            .iter()
            .find(|tool| tool["name"] == "shop__stock_level")
            .unwrap();
        assert_eq!(stock.get("outputSchema"), None);
        let result = client
            .call("shop__create_order", &super::an_order())
            .await
            .text();
        assert_eq!(
            serde_json::from_str::<Value>(&result).unwrap(),
            super::an_order()
        );
    }
}

#[tokio::test]
async fn an_unknown_group_gets_similar_names() {
    let setup = SurfaceGateway::with("[groups]\norders = [\"shop/*_order\"]\n").await;
    for era in Era::each() {
        let client = setup.client("/mcp/adaptive", era).await;
        let output = client
            .call(ENABLE, &json!({ "group": "order" }))
            .await
            .tool_error();
        assert!(
            output.contains("there is no group called `order`; did you mean orders?"),
            "{output}"
        );
        let output = client
            .call(ENABLE, &json!({ "group": "shopp" }))
            .await
            .tool_error();
        assert!(output.contains("did you mean shop"), "{output}");
        let elsewhere = setup.client("/mcp/search", era).await;
        let output = elsewhere
            .call(ENABLE, &json!({ "group": "orders" }))
            .await
            .tool_error();
        assert!(output.contains("/mcp/adaptive"), "{output}");
    }
}
