//! Finding a tool: by search, or by browsing level by level.

use std::process::Output;

use serde_json::{Value, json};

use super::{
    SurfaceGateway, discover, find_line, goods, key, search, shop, shop_table, wait_until_indexed,
};
use crate::harness::{Client, Era, Home, Testbed, until};

#[tokio::test]
async fn a_search_gives_the_best_first_one_line_each_and_says_how_to_go_on() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        find_line(
            &client,
            "place an order for a customer",
            "shop__create_order",
        )
        .await;
        let text = search(&client, "place an order for a customer").await;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines.len(),
            6,
            "five unless told otherwise, and how to call: {text}"
        );
        assert_eq!(
            lines[0],
            "shop__create_order(customer, items: { sku: string; count: number }[], priority?: \"low\" | \"high\", \
             note?: string) · Places an order for a customer [writes]"
        );
        assert!(lines[5].contains("call_api"), "{text}");
        for (limit, expected) in [(1, 1), (3, 3)] {
            let asked = json!({ "query": "place an order for a customer", "limit": limit });
            let text = client.call(super::SEARCH, &asked).await.text();
            assert_eq!(text.lines().count(), expected + 1, "{text}");
        }
    }
}

#[tokio::test]
async fn a_line_shows_required_arguments_and_warnings() {
    let setup = SurfaceGateway::new().await;
    for client_era in Era::each() {
        let client = setup.client("/mcp", client_era).await;
        for (query, tool, expected) in [
            (
                "look an order up",
                "shop__find_order",
                "(order) · Looks an order up",
            ),
            (
                "remove an order for good",
                "shop__delete_order",
                "(order) · Removes an order for good [destructive]",
            ),
            (
                "pay the money back",
                "shop__refund",
                "(order) · Pays the money of an order back [writes]",
            ),
            (
                "count what is left of an article",
                "shop__stock_level",
                "() · Counts what is left of an article",
            ),
        ] {
            assert_eq!(
                find_line(&client, query, tool).await,
                format!("{tool}{expected}")
            );
        }
        let parcel = find_line(&client, "hand a parcel to the carrier", "shop__ship_parcel").await;
        for number in 1..=7 {
            assert!(parcel.contains(&format!("must{number}")), "{parcel}");
        }
        assert!(
            parcel.contains("may6?: string, …)") && !parcel.contains("may7"),
            "{parcel}"
        );
    }
}

#[tokio::test]
async fn an_empty_search_suggests_what_else_to_try() {
    let home = Home::new("");
    let gateway = home.serve().await;
    for client_era in Era::each() {
        let client = gateway.client_at("/mcp", client_era).connect().await;
        let text = search(&client, "anything").await;
        assert!(
            text.contains("No tool fits") && text.contains("discover_apis"),
            "{text}"
        );
        assert_eq!(
            discover(&client, &json!({})).await.text(),
            "Nothing is connected yet."
        );
    }
}

#[tokio::test]
async fn browsing_goes_from_providers_to_tools_to_one_tool_in_full() {
    let tables = "[groups]\norders = [\"shop/*_order\"]\n\
                  [tools.shop__refund]\ntags = [\"cash\"]\ngroup = \"back office\"\n\
                  [providers.weather]\nurl = \"https://weather.example/v1\"\nmethods = [\"GET\", \"POST\"]\n\
                  description = \"Forecasts\"\n";
    let setup = SurfaceGateway::with(tables).await;
    for client in setup.clients("search").await {
        let all = discover(&client, &json!({})).await.text();
        let line = |start: &str| {
            let found = all.lines().find(|line| line.starts_with(start));
            found
                .unwrap_or_else(|| panic!("no {start} in {all}"))
                .to_owned()
        };
        assert!(line("shop").starts_with("shop · 6 tools · "), "{all}");
        assert!(line("good").contains(" tools · "), "{all}");
        assert_eq!(
            line("weather"),
            "weather · HTTP GET POST · https://weather.example/v1 · Forecasts"
        );
        assert_eq!(line("orders"), "orders · 3 tools");
        assert_eq!(
            line("cash"),
            "cash · 1 tool",
            "what people say of a tool counts"
        );
        assert_eq!(line("back office"), "back office · 1 tool");

        let shop = discover(&client, &json!({ "provider": "shop" }))
            .await
            .text();
        let tools = shop
            .lines()
            .filter(|line| line.starts_with("shop__"))
            .count();
        assert_eq!(tools, goods().len());
        assert!(
            shop.contains("shop__delete_order(order) · Removes an order for good [destructive]"),
            "{shop}"
        );
        let orders = discover(&client, &json!({ "group": "orders" }))
            .await
            .text();
        assert_eq!(orders.lines().count(), 3, "{orders}");
        let weather = discover(&client, &json!({ "provider": "weather" }))
            .await
            .text();
        assert!(
            weather.contains("call_api(provider, method, path"),
            "{weather}"
        );

        let refund = discover(&client, &json!({ "tool": "shop__refund" }))
            .await
            .text();
        let refund: Value = serde_json::from_str(&refund).unwrap();
        let own = goods()
            .into_iter()
            .find(|tool| tool["name"] == "refund")
            .unwrap();
        assert_eq!(refund["name"], "shop__refund");
        assert_eq!(
            (
                &refund["inputSchema"],
                &refund["annotations"],
                &refund["description"]
            ),
            (
                &own["inputSchema"],
                &own["annotations"],
                &own["description"]
            )
        );
        assert_eq!(
            refund.get("_meta"),
            None,
            "what only programs read costs nothing"
        );
    }
}

#[tokio::test]
async fn an_unknown_name_gets_similar_names() {
    let setup = SurfaceGateway::with("[groups]\norders = [\"shop/*_order\"]\n").await;
    for client in setup.clients("search").await {
        for (asked, expected) in [
            (
                json!({ "tool": "shop__creat_order" }),
                "no tool called `shop__creat_order`; did you mean shop__create_order",
            ),
            (
                json!({ "tool": "create_order" }),
                "did you mean shop__create_order",
            ),
            (
                json!({ "provider": "shpo" }),
                "no provider called `shpo`; did you mean shop",
            ),
            (
                json!({ "provider": "nothing like it" }),
                "did you mean good, shop?",
            ),
            (
                json!({ "group": "ordres" }),
                "no group called `ordres`; did you mean orders?",
            ),
        ] {
            let printed = discover(&client, &asked).await.tool_error();
            assert!(printed.contains(expected), "{asked}: {printed}");
        }
    }
}

#[tokio::test]
async fn a_broken_server_is_marked_and_has_a_remedy() {
    let broken = Testbed::new("broken")
        .era("legacy")
        .manner("crash-at-start")
        .table();
    let setup = SurfaceGateway::with(&broken).await;
    for client_era in Era::each() {
        let client = setup.client("/mcp", client_era).await;
        let all = discover(&client, &json!({})).await.text();
        let line = all.lines().find(|line| line.starts_with("broken")).unwrap();
        assert!(line.starts_with("broken · does not work: "), "{line}");
        let one = discover(&client, &json!({ "provider": "broken" }))
            .await
            .text();
        assert!(
            one.contains("broken") && one.contains("What to do: "),
            "{one}"
        );
    }
}

#[tokio::test]
async fn a_tool_that_cannot_be_used_is_found_with_a_remedy() {
    let home = Home::new("");
    let remote = shop(&home, &goods()).await;
    let vault = Testbed::new("vault")
        .with("env = { TOKEN = \"${VAULT_TOKEN}\" }")
        .table();
    home.configure(&format!("{}{vault}", shop_table(&remote)));
    let listed = tested_with(&home, "VAULT_TOKEN", "s3cret").await;
    assert!(listed.status.success(), "{listed:?}");

    let gateway = home.serve().await;
    for client_era in Era::each() {
        let client = gateway.client_at("/mcp", client_era).connect().await;
        let line = find_line(
            &client,
            "return everything that came with the call",
            "vault__echo_params",
        )
        .await;
        assert!(
            line.contains("[missing variable VAULT_TOKEN: set it: export VAULT_TOKEN="),
            "{line}"
        );
        let all = discover(&client, &json!({})).await.text();
        let line = all.lines().find(|line| line.starts_with("vault")).unwrap();
        assert!(
            line.starts_with("vault · missing variable VAULT_TOKEN: set it: export VAULT_TOKEN="),
            "{line}"
        );
        let printed = super::call_api(&client, "vault__echo_params", &json!({}))
            .await
            .tool_error();
        assert!(
            printed.contains("VAULT_TOKEN") && printed.contains("What to do: "),
            "{printed}"
        );
        assert!(
            !find_line(&client, "order", "shop__find_order")
                .await
                .contains("missing variable")
        );
    }

    gateway.stop().await;
    home.export("VAULT_TOKEN", "s3cret");
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    let line = find_line(
        &client,
        "return everything that came with the call",
        "vault__echo_params",
    )
    .await;
    assert!(!line.contains("missing variable"), "{line}");
    super::call_api(&client, "vault__echo_params", &json!({}))
        .await
        .text();
}

/// Tests every server in an environment with one more variable.
async fn tested_with(home: &Home, name: &str, value: &str) -> Output {
    let mut command = home.command(&["servers", "test"]);
    command.env(name, value);
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_tools_of_a_server_that_changed_are_found_as_they_are_now() {
    let setup = SurfaceGateway::new().await;
    let client = setup.client("/mcp", Era::Modern).await;
    super::call_api(&client, "good__change_tools", &json!({}))
        .await
        .text();
    find_line(&client, "was added later", "good__added_1").await;
    until("the new tool is described", async || {
        let printed = discover(&client, &json!({ "tool": "good__added_1" }))
            .await
            .result();
        (printed["isError"] != true).then_some(())
    })
    .await;
    assert_eq!(
        super::call_api(&client, "good__added_1", &json!({}))
            .await
            .text(),
        "added_1 is here"
    );
}

#[tokio::test]
async fn find_describe_and_call_need_only_the_earlier_answers() {
    let setup = SurfaceGateway::new().await;
    let (_, token) = key(setup.home(), "acme").await;
    let mut clients: Vec<Client> = setup.clients("search").await;
    clients.push(
        setup
            .gateway
            .client_at("/mcp", Era::Modern)
            .key(&token)
            .connect()
            .await,
    );
    wait_until_indexed(&setup.gateway).await;
    for client in clients {
        let line = find_line(&client, "place an order", "shop__create_order").await;
        let name = line.split('(').next().unwrap();
        let definition = discover(&client, &json!({ "tool": name })).await.text();
        let definition: Value = serde_json::from_str(&definition).unwrap();
        let required = definition["inputSchema"]["required"].as_array().unwrap();
        let order = super::an_order();
        assert!(
            required
                .iter()
                .all(|name| order.get(name.as_str().unwrap()).is_some())
        );
        let placed = super::call_api(&client, definition["name"].as_str().unwrap(), &order).await;
        assert_eq!(
            serde_json::from_str::<Value>(&placed.text()).unwrap(),
            order
        );
    }
}

#[tokio::test]
async fn an_early_search_waits_for_known_tools_and_names_the_pending_servers() {
    let hung = Testbed::new("hung").era("legacy").manner("hang").table();
    let home = Home::new(&hung);
    let gateway = home.serve().await;
    for client_era in Era::each() {
        let client = gateway.client_at("/mcp", client_era).connect().await;
        let text = search(&client, "anything").await;
        assert!(text.contains("still being listed: hung"), "{text}");
    }
    gateway.stop().await;
    home.configure(&Testbed::new("good").table());
    assert_eq!(home.kitbag(&["servers", "test"]).await.code, Some(0));
    for client_era in Era::each() {
        let client = Client::stdio_on(&home, client_era, "search")
            .connect()
            .await;
        let text = search(&client, "return everything that came with the call").await;
        assert!(text.contains("good__echo_params("), "{text}");
    }
}
