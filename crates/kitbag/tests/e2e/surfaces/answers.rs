//! Search results other than tools of one server: HTTP APIs, copies, built-in tools, and no match.

use serde_json::{Value, json};

use super::{SurfaceGateway, discover, goods, key, search, shop, shop_table, wait_until_indexed};
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

const APIS: &str = "[providers.weather]\nurl = \"https://weather.example/v1\"\n\
                    description = \"Forecasts of rain, wind and sunshine for any town.\"\n\
                    [providers.parcels]\nurl = \"https://parcels.example\"\nmethods = [\"GET\", \"POST\"]\n\
                    [tenants.acme]\ndeny_tools = [\"weather/*\"]\n\
                    [tenants.some]\nallow_tools = [\"weather/GET /towns/*\"]\n";

#[tokio::test]
async fn an_api_is_found_by_what_it_is_for_as_the_call_that_reaches_it() {
    let setup = SurfaceGateway::with(APIS).await;
    for client in setup.clients("search").await {
        for (query, expected) in [
            (
                "will it rain in the town tomorrow",
                "call_api(provider: \"weather\", path, query) · Forecasts of rain, wind and sunshine for any town",
            ),
            (
                "the API of parcels.example",
                "call_api(provider: \"parcels\", method: GET|POST, path, query, body)",
            ),
        ] {
            let text = until(&format!("{query} finds an API"), async || {
                let text = search(&client, query).await;
                text.contains("call_api(provider").then_some(text)
            })
            .await;
            assert!(text.lines().any(|line| line == expected), "{text}");
        }
    }
    let answer = retrieve_answer(&setup.gateway, "will it rain in the town tomorrow").await;
    assert_eq!(
        answer["candidates"][0]["tool_name"], "weather",
        "{answer:#}"
    );
    assert!(
        answer["tools"][0]
            .as_str()
            .unwrap()
            .starts_with("call_api(provider: \"weather\""),
        "{answer:#}"
    );
    let output = setup
        .home()
        .kitbag(&["search", "will it rain in the town tomorrow", "--json"])
        .await;
    let found: Value =
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(found[0]["tool_name"], "weather", "{found}");
    let verdict = setup.home().kitbag(&["index", "verify", "--json"]).await;
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    assert_eq!(verdict["tools"], verdict["embedded"], "{verdict:#}");
}

#[tokio::test]
async fn an_api_is_found_by_a_tenant_that_may_use_some_of_it_and_not_by_one_that_may_use_nothing() {
    let (mut token, mut partial_token) = (String::new(), String::new());
    let setup = SurfaceGateway::with_home(APIS, async |home| {
        token = key(home, "acme").await.1;
        partial_token = key(home, "some").await.1;
        String::new()
    })
    .await;
    for era in Era::each() {
        let denied = setup
            .gateway
            .client_at("/mcp", era)
            .key(&token)
            .connect()
            .await;
        let allowed = setup.client("/mcp", era).await;
        let query = "will it rain in the town tomorrow";
        assert!(search(&allowed, query).await.contains("\"weather\""));
        assert!(!search(&denied, query).await.contains("weather"));
        let partial = setup
            .gateway
            .client_at("/mcp", era)
            .key(&partial_token)
            .connect()
            .await;
        assert!(search(&partial, query).await.contains("\"weather\""));
        assert!(
            search(&denied, "the API of parcels.example")
                .await
                .contains("\"parcels\"")
        );
    }
}

#[tokio::test]
async fn an_api_that_comes_and_goes_with_the_configuration_is_found_as_it_is_now() {
    let home = Home::new(&Testbed::new("good").table());
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    let finds = async |wanted: bool| {
        let text = search(&client, "will it rain in the town tomorrow").await;
        (text.contains("provider: \"weather\"") == wanted).then_some(())
    };
    until("it is not there yet", async || finds(false).await).await;
    home.configure(&format!("{}{APIS}", Testbed::new("good").table()));
    until("it has come", async || finds(true).await).await;
    home.configure(&Testbed::new("good").table());
    until("it has gone", async || finds(false).await).await;
}

#[tokio::test]
async fn copies_of_one_tool_share_a_line() {
    let home = Home::new("");
    let remote = shop(&home, &goods()).await;
    let again = shop_table(&remote).replace("[servers.shop]", "[servers.mall]");
    home.configure(&format!("{}{again}", shop_table(&remote)));
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    let text = until("both are listed and can be compared", async || {
        let answer = retrieve_answer(&gateway, "anything").await;
        let text = search(&client, "place an order for a customer").await;
        (answer["embedded"] == 2 * goods().len() && text.contains("also: ")).then_some(text)
    })
    .await;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("create_order("))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    let also = ["shop", "mall"].map(|server| format!("[also: {server}__create_order]"));
    assert!(also.iter().any(|also| lines[0].ends_with(also)), "{text}");
    let tools = text.lines().filter(|line| line.contains("__")).count();
    assert_eq!(tools, 5, "copies take no places: {text}");
    let answer = retrieve_answer(&gateway, "place an order for a customer").await;
    assert_eq!(
        answer["candidates"][0]["also"].as_array().unwrap().len(),
        1,
        "{answer:#}"
    );
}

#[tokio::test]
async fn while_a_server_is_still_being_listed_a_doubtful_search_says_so() {
    let mute = "[servers.mute]\ncommand = \"sleep\"\nargs = [\"600\"]\n";
    let home = Home::new(&format!("{}{mute}", Testbed::new("good").table()));
    let gateway = home.serve().await;
    let client = gateway.client_at("/mcp", Era::Modern).connect().await;
    let asked = "1 server is still being listed: mute. Search again in a moment.";
    until(
        "the good server is found and the other is waited for",
        async || {
            let text = search(&client, "milk the cow").await;
            (text.contains(asked) && text.contains("good__")).then_some(())
        },
    )
    .await;
    let text = search(&client, "milk the cow").await;
    assert!(!text.contains("Nothing here"), "{text}");
    let answer = retrieve_answer(&gateway, "milk the cow").await;
    assert!(
        answer["note"].as_str().unwrap().contains(asked),
        "{answer:#}"
    );
}

#[tokio::test]
async fn a_misspelt_request_is_corrected_and_the_answer_says_so() {
    let setup = SurfaceGateway::new().await;
    let client = setup.client("/mcp", Era::Modern).await;
    wait_until_embedded(&setup.gateway).await;
    let text = search(&client, "place an oredr for a custmer").await;
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(first, "Searched for: place an order for a customer");
    assert!(rest.contains("shop__create_order("), "{text}");
    let answer = retrieve_answer(&setup.gateway, "place an oredr for a custmer").await;
    assert_eq!(answer["searched_for"], "place an order for a customer");
}

#[tokio::test]
async fn a_search_without_a_match_says_so() {
    let setup = SurfaceGateway::new().await;
    let client = setup.client("/mcp", Era::Modern).await;
    wait_until_embedded(&setup.gateway).await;
    for query in [
        "blah asdkjh qwoieu",
        "zzt vvlorp xkqj",
        "milk the cow",
        "cast my horoscope for Tuesday",
    ] {
        let text = search(&client, query).await;
        assert!(
            text.starts_with("No close match; the nearest are below. Reword, or do it in steps")
                || text.starts_with("Nothing here seems to do this; it may need another server ("),
            "{query}: {text}"
        );
        let answer = retrieve_answer(&setup.gateway, query).await;
        assert_eq!(answer["confident"], false, "{query}: {answer:#}");
        let note = answer["note"].as_str().unwrap();
        assert!(text.starts_with(note), "{note}");
        assert!(
            answer["confidence"]["any"].as_f64().unwrap() < 0.17,
            "{answer:#}"
        );
    }
    let output = setup.home().kitbag(&["search", "blah asdkjh qwoieu"]).await;
    assert!(
        output.stderr.contains("The nearest are below.")
            || output.stderr.contains("No close match"),
        "{output:?}"
    );
    for query in [
        "place an order for a customer",
        "pay the money of an order back",
    ] {
        let text = search(&client, query).await;
        assert!(!text.contains("nearest are below"), "{query}: {text}");
        assert!(
            text.contains("\nLikely right: the first "),
            "{query}: {text}"
        );
        let answer = retrieve_answer(&setup.gateway, query).await;
        assert_eq!(
            (&answer["confident"], &answer["note"]),
            (&json!(true), &Value::Null),
            "{answer:#}"
        );
    }
}

#[tokio::test]
async fn built_in_tools_are_found_and_listed_for_queries_about_coding_agents() {
    let home = Home::new("");
    let remote = shop(&home, &goods()).await;
    home.configure(&format!(
        "[agents]\nenabled = true\n{}",
        shop_table(&remote)
    ));
    let gateway = home.serve().await;
    wait_until_indexed(&gateway).await;
    let client = gateway
        .client_at("/mcp/adaptive", Era::Legacy)
        .connect()
        .await;
    until("the built-in tools are known", async || {
        search(&client, "does claude code support mcp")
            .await
            .contains("agents__lookup")
            .then_some(())
    })
    .await;
    let other = gateway
        .client_at("/mcp/adaptive", Era::Legacy)
        .connect()
        .await;
    for query in [
        "read a file",
        "place an order",
        "list what there is",
        "compare prices",
        "anything",
    ] {
        let found = other
            .call(super::SEARCH, &json!({ "query": query, "limit": 20 }))
            .await
            .text();
        assert!(!found.contains("agents__"), "{query}: {found}");
    }
    let built_in = async |client: &Client| {
        client
            .tool_names()
            .await
            .into_iter()
            .filter(|name| name.starts_with("agents__"))
            .count()
    };
    assert_eq!(
        built_in(&other).await,
        0,
        "it is not listed for those who did not ask"
    );
    assert!(
        built_in(&client).await > 0,
        "it is listed for those who did"
    );
    for query in [
        "which coding agents have hooks",
        "does copilot support mcp",
        "sources about gemini cli",
    ] {
        let text = search(&other, query).await;
        assert!(text.contains("agents__"), "{query}: {text}");
    }
}

#[tokio::test]
async fn a_servers_own_description_is_attributed_to_its_author() {
    let setup = SurfaceGateway::new().await;
    let alone = setup.client("/servers/good/mcp", Era::Legacy).await;
    let said = alone.greeting["instructions"].as_str().unwrap().to_owned();
    for client in setup.clients("search").await {
        let one = discover(&client, &json!({ "provider": "good" }))
            .await
            .text();
        let mut lines = one.lines();
        assert_eq!(
            lines.next(),
            Some("What the author of `good` says about it (not your user):")
        );
        for line in said.lines() {
            assert_eq!(lines.next(), Some(format!("> {line}").as_str()), "{one}");
        }
        assert!(lines.all(|line| line.starts_with("good__")), "{one}");
        let all = discover(&client, &json!({})).await.text();
        let first = said.split(". ").next().unwrap().trim_end_matches('.');
        assert!(
            all.lines()
                .any(|line| line.starts_with("good · ") && line.ends_with(first)),
            "{all}"
        );
    }
}

/// Waits until every tool has its vector, which may change the order of results.
pub(super) async fn wait_until_embedded(gateway: &Gateway) {
    until("every tool has its vector", async || {
        let answer = retrieve_answer(gateway, "anything").await;
        (answer["indexed"] == answer["embedded"]).then_some(())
    })
    .await;
}

async fn retrieve_answer(gateway: &Gateway, intent: &str) -> Value {
    let post = reqwest::Client::new().post(format!("{}/v1/retrieve", gateway.base));
    let request = json!({ "intent": intent }).to_string();
    let response = post
        .header("content-type", "application/json")
        .body(request)
        .send()
        .await
        .unwrap();
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}
