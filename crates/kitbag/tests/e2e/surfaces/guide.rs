//! The search tool's description of the servers behind it, and its notes on hidden results.

use serde_json::{Value, json};

use super::{
    SEARCH, SurfaceGateway, TOOLS_CHANGED, goods, key, search, shop, shop_table, wait_until_indexed,
};
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

/// The description of the search tool, as listed.
async fn description(client: &Client, tool: &str) -> String {
    let tools = client.list("tools/list", "tools").await;
    let found = tools.iter().find(|it| it["name"] == tool);
    found.unwrap()["description"].as_str().unwrap().to_owned()
}

async fn read_description(gateway: &Gateway, path: &str, tool: &str) -> String {
    let client = gateway.client_at(path, Era::Legacy).connect().await;
    description(&client, tool).await
}

#[tokio::test]
async fn the_search_describes_its_servers_in_stable_bytes() {
    let home = Home::new("");
    let remote = shop(&home, &goods()).await;
    let narrow = home.key("narrow").await;
    let (good, shop) = (Testbed::new("good").table(), shop_table(&remote));
    let broken = "[servers.broken]\ncommand = \"/nowhere/at/all\"\n";
    let rules = "[tenants.narrow]\nallow_tools = [\"shop/*\"]\n";
    home.configure(&format!("{good}{shop}{broken}{rules}"));
    let gateway = home.serve().await;
    wait_until_indexed(&gateway).await;

    let first = read_description(&gateway, "/mcp/search", SEARCH).await;
    let guide = first.split_once("themselves: ").unwrap().1;
    assert!(guide.contains("good: tests: every tool does"), "{guide}");
    assert!(guide.contains("shop: order"), "{guide}");
    assert!(!guide.contains("broken"), "it cannot be started: {guide}");
    let code = read_description(&gateway, "/mcp/code", "run_intent").await;
    assert!(code.ends_with("Behind it: good; shop."), "{code}");
    assert_eq!(
        read_description(&gateway, "/mcp/adaptive", SEARCH).await,
        first
    );
    let tenant = gateway.client_at("/mcp", Era::Modern).key(&narrow);
    let narrowed = description(&tenant.connect().await, SEARCH).await;
    assert!(
        narrowed.contains("shop: ") && !narrowed.contains("good"),
        "{narrowed}"
    );
    let output = home.kitbag(&["stats", "tokens", "--json"]).await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert!(report["shown"].as_u64().unwrap() <= 500, "{report}");

    // Neither the order of the servers nor a start makes a difference.
    gateway.stop().await;
    home.configure(&format!("{shop}{good}{broken}{rules}"));
    let gateway = home.serve().await;
    assert_eq!(
        read_description(&gateway, "/mcp/search", SEARCH).await,
        first
    );

    let client = gateway
        .client_at("/mcp/search", Era::Legacy)
        .connect()
        .await;
    let mut heard = client.listen().await;
    let described = shop.replace(
        "[servers.shop]\n",
        "[servers.shop]\ndescription = \"sells tea\"\n",
    );
    home.configure(&format!("{described}{good}{rules}"));
    heard.wait_for(TOOLS_CHANGED).await;
    let changed = description(&client, SEARCH).await;
    assert!(changed.contains("shop: sells tea"), "{changed}");
}

const RULES: &str = "[tenants.local]\ndeny_tools = [\"shop/refund\"]\n\
                     [tenants.acme]\ndeny_tools = [\"shop/refund\"]\n";

#[tokio::test]
async fn a_search_reports_withheld_tools_named_tools_and_the_language() {
    let setup = SurfaceGateway::with(RULES).await;
    let (_, token) = key(setup.home(), "acme").await;
    let client = setup.client("/mcp/search", Era::Modern).await;
    let money = "pay the money of an order back";
    let output = search(&client, money).await;
    assert!(
        output.contains("\n[1 more fits, but a rule keeps it from you]\n"),
        "{output}"
    );
    assert!(!output.contains("refund"), "{output}");
    let keyed = setup
        .gateway
        .client_at("/mcp/search", Era::Modern)
        .key(&token);
    let output = search(&keyed.connect().await, money).await;
    assert!(
        !output.contains("more fit"),
        "a key hears nothing of rules: {output}"
    );

    let answer = retrieve_answer(&setup.gateway, "look an order up", "destructive").await;
    assert!(
        answer["withheld"]["filter"].as_u64().unwrap() > 0,
        "{answer:#}"
    );

    let output = search(
        &client,
        "count the articles that are left, call delete_order",
    )
    .await;
    assert!(output.starts_with("shop__delete_order("), "{output}");

    let output = search(&client, "Zeige mir bitte alle Bestellungen").await;
    let line =
        "The request looks like German; the index knows English. Ask in English to find more.";
    assert_eq!(output.lines().next(), Some(line), "{output}");
}

/// The answer to a query among tools of one class, once every tool is indexed.
async fn retrieve_answer(gateway: &Gateway, intent: &str, class: &str) -> Value {
    let request = json!({ "intent": intent, "write_class": [class] });
    until("the filter withholds a tool", async || {
        let post = reqwest::Client::new().post(format!("{}/v1/retrieve", gateway.base));
        let post = post.header("content-type", "application/json");
        let sent = post.body(request.to_string()).send().await.unwrap();
        let answer: Value = serde_json::from_str(&sent.text().await.unwrap()).unwrap();
        (!answer["withheld"].is_null()).then_some(answer)
    })
    .await
}
