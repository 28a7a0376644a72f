//! What a model is told when it did something wrong: enough to do it right the next time.

use serde_json::{Value, json};

use super::{BATCH, CALL, DISCOVER, House, SEARCH, an_order, call_api};
use crate::harness::{Client, Manner};

#[tokio::test]
async fn the_arguments_of_the_always_on_tools_are_read_strictly_and_refused_with_their_schema() {
    let house = House::new().await;
    for client in house.clients("search").await {
        for (tool, arguments, expected) in [
            (SEARCH, json!({}), "missing field `query`"),
            (SEARCH, json!({ "query": 3 }), "invalid type: integer `3`, expected a string"),
            (SEARCH, json!({ "query": "x", "limit": "five" }), "invalid type: string"),
            (SEARCH, json!({ "query": "x", "limit": -1 }), "invalid value"),
            (SEARCH, json!({ "query": "x", "top": 3 }), "unknown field `top`"),
            (DISCOVER, json!({ "server": "shop" }), "unknown field `server`"),
            (CALL, json!({ "name": "good__echo" }), "unknown field `name`"),
            (CALL, json!({}), "give one of: tool"),
            (CALL, json!({ "tool": "good__echo", "provider": "shop" }), "give one of: tool"),
            (CALL, json!({ "tool": "good__echo", "arguments": [1] }), "`arguments` must be an object"),
            (CALL, json!({ "tool": "good__echo", "arguments": "no json" }), "`arguments` must be an object"),
            (CALL, json!({ "provider": "shop" }), "`path` is missing"),
            (CALL, json!({ "provider": "shop", "path": "/", "method": "G T" }), "is not an HTTP method"),
            (CALL, json!({ "result": "x", "offset": -1 }), "invalid value"),
            (BATCH, json!({}), "missing field `calls`"),
            (BATCH, json!({ "calls": "x" }), "invalid type: string"),
        ] {
            let told = client.call(tool, &arguments).await.tool_error();
            assert!(told.contains(expected), "{tool} {arguments}: {told}");
            assert!(!told.contains(" at line "), "nobody sees the line: {told}");
        }
        let told = client.call(SEARCH, &json!({ "q": "x" })).await.tool_error();
        assert!(told.contains("\"query\"") && told.contains("\"required\""), "{told}");
    }
}

#[tokio::test]
async fn a_wrong_name_is_answered_with_those_like_it() {
    let house = House::new().await;
    for client in house.clients("search").await {
        for (name, near) in [
            ("shop__creat_order", "shop__create_order"),
            ("create_order", "shop__create_order"),
            ("shop.create_order", "shop__create_order"),
            ("shop_create_order", "shop__create_order"),
            ("Shop__Create_Order", "shop__create_order"),
            ("good__ecko", "good__echo"),
        ] {
            let told = call_api(&client, name, &json!({})).await.tool_error();
            assert!(
                told.contains(&format!("there is no tool called `{name}`; did you mean {near}")),
                "{told}"
            );
            let direct = client.call(name, &json!({})).await.tool_error();
            assert_eq!(direct, told);
        }
        let told = call_api(&client, "zzz", &json!({})).await.tool_error();
        assert!(told.contains("search_available_tools"), "with nothing like it, where to look: {told}");
        let told = client.call(CALL, &json!({ "provider": "shop", "path": "/x" })).await.tool_error();
        assert!(told.contains("no provider called `shop`"), "{told}");
        let told = client.call(CALL, &json!({ "result": "nothing" })).await.tool_error();
        assert!(told.contains("there is no result `nothing`"), "{told}");
    }
}

/// Calls wrongly, and then with the example the error gave.
async fn check(client: &Client, tool: &str, wrong: &Value, told: &[&str]) {
    let error = call_api(client, tool, wrong).await.tool_error();
    assert!(error.starts_with(&format!("`{tool}` was not called, its arguments do not fit:\n")), "{error}");
    for told in told {
        assert!(error.contains(told), "no {told} in {error}");
    }
    let example = error.lines().find_map(|line| line.strip_prefix("Example: ")).unwrap();
    let example: Value = serde_json::from_str(example).unwrap_or_else(|_| panic!("{example}"));
    let mended = call_api(client, tool, &example).await.text();
    assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), example);
}

#[tokio::test]
async fn wrong_arguments_are_told_with_an_example_that_is_right() {
    let house = House::new().await;
    for client in house.clients("search").await {
        let tool = "shop__create_order";
        let items = json!([{ "sku": "tea", "count": 2 }]);
        for (wrong, told) in [
            (json!({}), &["/customer: missing, expected a string", "/items: missing"] as &[_]),
            (json!({ "items": items }), &["/customer: missing"]),
            (
                json!({ "customer": 7, "items": items }),
                &["/customer: expected a string, got 7 (a number)", r#"{"type":"string"}"#],
            ),
            (
                json!({ "customer": "Ann", "items": [{ "sku": "tea", "count": 0 }] }),
                &["/items/0/count", r#""minimum":1"#],
            ),
            (json!({ "customer": "Ann", "items": [] }), &["/items"]),
            (
                json!({ "customer": "Ann", "items": { "sku": "tea", "count": 1 } }),
                &["/items: expected an array"],
            ),
            (json!({ "costumer": "Ann", "items": items }), &["did you mean `customer`?"]),
            (
                json!({ "customer": "Ann", "items": items, "priority": "urgent" }),
                &["/priority", r#"["low","high"]"#],
            ),
            (json!({ "customer": "Ann", "items": items, "zzz": 1 }), &["/zzz: there is no such parameter"]),
        ] {
            check(&client, tool, &wrong, told).await;
        }
        check(&client, "shop__find_order", &json!({ "Order": "7" }), &["/order: missing"]).await;
    }
}

#[tokio::test]
async fn a_call_that_does_not_fit_never_reaches_the_server() {
    let house = House::new().await;
    for manner in Manner::BOTH {
        let client = house.client("/mcp", manner).await;
        call_api(&client, "good__slow", &json!({ "ms": "soon" })).await.tool_error();
        client.call("good__slow", &json!({ "ms": "soon" })).await.tool_error();
    }
    let events = std::fs::read_to_string(house.home().path("good/events.log")).unwrap_or_default();
    assert!(!events.contains("slow"), "{events}");
    let everything = house.client("/mcp/all", Manner::Modern).await;
    everything.call("shop__create_order", &json!({})).await.text();
    assert_eq!(
        everything.call("shop__create_order", &an_order()).await.result()["structuredContent"],
        an_order()
    );
}
