//! The tools that a surface lists, and how the surface is chosen.

use serde_json::{Value, json};

use super::{
    BATCH, CALL, DISCOVER, ENABLE, PROMPTS_CHANGED, SEARCH, SurfaceGateway, TOOLS_CHANGED,
    call_api, key,
};
use crate::harness::{Client, Era, Gateway, Testbed};

const CONSTANT: [&str; 4] = [SEARCH, DISCOVER, CALL, BATCH];

#[tokio::test]
async fn the_list_on_search_is_the_same_for_every_client_and_stays_so() {
    let setup = SurfaceGateway::new().await;
    let (_, token) = key(setup.home(), "acme").await;
    let mut lists = Vec::new();
    let mut clients = setup.clients("search").await;
    clients.push(setup.client("/mcp", Era::Legacy).await);
    clients.push(setup.client("/mcp", Era::Modern).await);
    clients.push(
        setup
            .gateway
            .client_at("/mcp/search", Era::Modern)
            .key(&token)
            .connect()
            .await,
    );
    for client in &clients {
        assert_eq!(client.tool_names().await, CONSTANT);
        lists.push(client.list("tools/list", "tools").await);
    }
    let everything = setup.client("/mcp/all", Era::Modern).await;
    everything
        .call("good__change_tools", &json!({}))
        .await
        .text();
    everything.knows("good__added_1").await;
    for client in &clients {
        lists.push(client.list("tools/list", "tools").await);
    }
    assert!(lists.iter().all(|list| *list == lists[0]), "{lists:?}");
    for tool in &lists[0] {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}

#[tokio::test]
async fn a_list_that_never_changes_is_never_announced() {
    let setup = SurfaceGateway::new().await;
    for surface in ["search", "code"] {
        for era in Era::each() {
            let client = setup.client(&format!("/mcp/{surface}"), era).await;
            let witness = setup.client("/mcp/all", era).await;
            let (mut quiet, mut output) = (client.listen().await, witness.listen().await);
            call_api(&client, "good__change_tools", &json!({}))
                .await
                .text();
            output.wait_for(TOOLS_CHANGED).await;
            call_api(&client, "good__test_trigger_prompt_change", &json!({}))
                .await
                .text();
            output.wait_for(PROMPTS_CHANGED).await;
            let first = quiet.next().await.unwrap();
            assert!(
                first.contains(PROMPTS_CHANGED),
                "the first it hears is about prompts: {first}"
            );
        }
    }
}

#[tokio::test]
async fn the_list_of_one_server_is_its_own() {
    let setup = SurfaceGateway::new().await;
    for era in Era::each() {
        let names = setup
            .client("/servers/shop/mcp", era)
            .await
            .tool_names()
            .await;
        assert_eq!(
            names,
            [
                "create_order",
                "find_order",
                "delete_order",
                "ship_parcel",
                "stock_level",
                "refund"
            ]
        );
        let all = setup.client("/mcp/all", era).await.tool_names().await;
        assert!(
            names
                .iter()
                .all(|name| all.contains(&format!("shop__{name}"))),
            "{all:?}"
        );
        assert!(
            !all.iter().any(|name| CONSTANT.contains(&name.as_str())),
            "{all:?}"
        );
    }
}

/// The surface with this list.
async fn surface(client: &Client) -> &'static str {
    let names = client.tool_names().await;
    let has = |name: &str| names.iter().any(|it| it == name);
    match (has(SEARCH), has(ENABLE)) {
        _ if names == ["run_intent", "run_code"] => "code",
        (true, true) => "adaptive",
        (true, false) => "search",
        (false, _) => "all",
    }
}

#[tokio::test]
async fn the_route_the_key_and_the_name_of_the_client_choose_the_surface() {
    let (mut chosen, mut plain) = (String::new(), String::new());
    let setup = SurfaceGateway::with_home("", async |home| {
        let (id, token) = key(home, "acme").await;
        chosen = token;
        plain = key(home, "acme").await.1;
        format!("[surfaces.keys]\n{id} = \"adaptive\"\n[surfaces.clients]\n\"claude*\" = \"all\"\n")
    })
    .await;
    for era in Era::each() {
        for (path, token, name, expected) in [
            ("/mcp", None, "zed", "search"),
            ("/mcp", None, "claude-code", "all"),
            ("/mcp", Some(&plain), "claude-code", "all"),
            ("/mcp", Some(&plain), "zed", "search"),
            ("/mcp", Some(&chosen), "claude-code", "adaptive"),
            ("/mcp/search", Some(&chosen), "claude-code", "search"),
            ("/mcp/adaptive", None, "zed", "adaptive"),
            ("/mcp/all", Some(&chosen), "zed", "all"),
            ("/mcp/code", Some(&chosen), "claude-code", "code"),
        ] {
            let builder = setup.gateway.client_at(path, era).named(name);
            let builder = token.into_iter().fold(builder, |it, token| it.key(token));
            assert_eq!(
                surface(&builder.connect().await).await,
                expected,
                "{path} {token:?} {name}"
            );
        }
        let nowhere = setup
            .gateway
            .client_at("/mcp/serch", era)
            .without_handshake();
        let reply = nowhere.request("tools/list", &json!({})).await;
        assert_eq!(reply.status, 404);
        assert!(
            reply.raw().contains("/mcp/{search,adaptive,code,all}"),
            "{}",
            reply.raw()
        );
    }
}

#[tokio::test]
async fn over_stdio_the_flag_chooses_and_without_it_the_configuration() {
    let gateway = Gateway::with(&format!(
        "[surfaces]\ndefault = \"adaptive\"\n{}",
        Testbed::new("good").table()
    ))
    .await;
    gateway.client(Era::Modern).await.knows("good__echo").await;
    for era in Era::each() {
        assert_eq!(
            surface(&gateway.client_at("/mcp", era).connect().await).await,
            "adaptive"
        );
        for (flag, expected) in [
            ("search", "search"),
            ("adaptive", "adaptive"),
            ("all", "all"),
        ] {
            let client = Client::stdio_on(&gateway.home, era, flag).connect().await;
            assert_eq!(surface(&client).await, expected, "{flag}");
        }
    }
}

#[tokio::test]
async fn modern_lists_say_how_long_they_may_be_cached() {
    let setup = SurfaceGateway::new().await;
    for path in ["/mcp/search", "/mcp/adaptive", "/mcp/code", "/mcp/all"] {
        let client = setup.client(path, Era::Modern).await;
        let list: Value = client.request("tools/list", &json!({})).await.result();
        assert_eq!(
            (&list["resultType"], &list["cacheScope"]),
            (&json!("complete"), &json!("private"))
        );
        assert!(list["ttlMs"].as_u64().unwrap() > 0, "{path}");
    }
}
