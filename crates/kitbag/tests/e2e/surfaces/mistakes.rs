//! Error messages for a model: enough to get it right the next time.

use serde_json::{Value, json};

use super::{BATCH, CALL, DISCOVER, ENABLE, SEARCH, SurfaceGateway, an_order, call_api};
use crate::harness::{Client, Era};

#[tokio::test]
async fn the_arguments_of_the_always_on_tools_are_checked_and_explained_like_those_of_any_other() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for (tool, arguments, expected) in [
            (SEARCH, json!({}), "/query: missing, expected a string"),
            (
                SEARCH,
                json!({ "query": [] }),
                "/query: expected a string, got [] (an array)",
            ),
            (
                SEARCH,
                json!({ "query": "x", "limit": "five" }),
                "/limit: expected an integer, got \"five\"",
            ),
            (
                SEARCH,
                json!({ "query": "x", "limit": -1 }),
                "/limit: expected at least 1, got -1",
            ),
            (
                SEARCH,
                json!({ "query": "x", "limit": 21 }),
                "/limit: expected at most 20, got 21",
            ),
            (
                SEARCH,
                json!({ "query": "x", "top": 3 }),
                "/top: there is no such parameter; there are `query`",
            ),
            (
                SEARCH,
                json!({ "querry": "x" }),
                "/querry: there is no such parameter; did you mean `query`?",
            ),
            (
                SEARCH,
                json!({ "text": "open an issue", "limit": 3 }),
                "Example: {\"limit\":3,\"query\":\"open an issue\"}",
            ),
            (
                DISCOVER,
                json!({ "server": "shop" }),
                "/server: there is no such parameter",
            ),
            (
                CALL,
                json!({ "name": "good__echo" }),
                "/name: there is no such parameter",
            ),
            (CALL, json!({}), "give one of: tool"),
            (
                CALL,
                json!({ "tool": "good__echo", "provider": "shop" }),
                "give one of: tool",
            ),
            (
                CALL,
                json!({ "tool": "good__echo", "arguments": [1] }),
                "/arguments: expected an object",
            ),
            (
                CALL,
                json!({ "tool": "good__echo", "arguments": "no json" }),
                "/arguments: expected an object",
            ),
            (CALL, json!({ "provider": "shop" }), "`path` is missing"),
            (
                CALL,
                json!({ "provider": "shop", "path": "/", "method": "G T" }),
                "unknown HTTP method",
            ),
            (
                CALL,
                json!({ "result": "x", "offset": -1 }),
                "/offset: expected at least 0, got -1",
            ),
            (
                CALL,
                json!({ "result": "x", "offset": 1.5 }),
                "/offset: expected an integer, got 1.5",
            ),
            (BATCH, json!({}), "/calls: missing, expected an array"),
            (
                BATCH,
                json!({ "calls": "a, b" }),
                "/calls: expected an array, got \"a, b\" (a string)",
            ),
            (
                BATCH,
                json!({ "calls": [], "parallel": true }),
                "/parallel: there is no such parameter",
            ),
        ] {
            let output = client.call(tool, &arguments).await.tool_error();
            assert!(output.contains(expected), "{tool} {arguments}: {output}");
            no_names_of_ours(&output);
        }
        let output = client
            .call(SEARCH, &json!({ "querry": "x" }))
            .await
            .tool_error();
        assert!(output.ends_with("Example: {\"query\":\"x\"}"), "{output}");
    }
    let adaptive = setup.client("/mcp/adaptive", Era::Modern).await;
    let output = adaptive
        .call(ENABLE, &json!({ "groups": "shop" }))
        .await
        .tool_error();
    assert!(
        output.contains("/group: missing, expected a string; you sent `groups`"),
        "{output}"
    );
    no_names_of_ours(&output);
}

#[tokio::test]
async fn an_invalid_entry_of_a_batch_is_explained_without_internal_names() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for (calls, expected) in [
            (
                json!(["good__echo"]),
                "- /: expected an object, got \"good__echo\" (a string)",
            ),
            (json!([3]), "- /: expected an object, got 3 (a number)"),
            (json!([null]), "give one of: tool"),
            (
                json!([{ "tool": ["good__echo"] }]),
                "/tool: expected a string, got [\"good__echo\"] (an array)",
            ),
            (
                json!([{ "toll": "good__echo" }]),
                "Example: {\"tool\":\"good__echo\"}",
            ),
        ] {
            let output = client.call(BATCH, &json!({ "calls": calls })).await.text();
            assert!(output.starts_with("[1/1] not a call: error"), "{output}");
            assert!(output.contains(expected), "{calls}: {output}");
            no_names_of_ours(&output);
        }
    }
}

#[track_caller]
fn no_names_of_ours(output: &str) {
    for name in [
        "struct ",
        "enum ",
        "invalid type",
        "missing field",
        "unknown field",
        " at line ",
        "CallApiArguments",
    ] {
        assert!(!output.contains(name), "{name:?} in {output}");
    }
}

#[tokio::test]
async fn an_always_on_tool_called_through_another_runs_if_it_only_reads() {
    let setup = SurfaceGateway::new().await;
    super::answers::wait_until_embedded(&setup.gateway).await;
    for client in setup.clients("search").await {
        let query = json!({ "query": "place an order for a customer" });
        let direct = client.call(SEARCH, &query).await.text();
        assert_eq!(call_api(&client, SEARCH, &query).await.text(), direct);
        let all = client.call(DISCOVER, &json!({})).await.text();
        assert_eq!(call_api(&client, DISCOVER, &json!({})).await.text(), all);
        let batch = client
            .call(
                BATCH,
                &json!({ "calls": [{ "tool": SEARCH, "arguments": query }] }),
            )
            .await;
        assert!(batch.text().contains(&direct), "{}", batch.text());
        for tool in [CALL, BATCH] {
            let output = call_api(&client, tool, &json!({ "tool": "good__echo" }))
                .await
                .tool_error();
            assert_eq!(
                output,
                format!("call `{tool}` directly, not through call_api")
            );
        }
        let output = call_api(&client, ENABLE, &json!({ "group": "shop" }))
            .await
            .tool_error();
        assert!(output.contains("/mcp/adaptive"), "{output}");
        let output = call_api(&client, SEARCH, &json!({})).await.tool_error();
        assert!(output.contains("/query: missing"), "{output}");
    }
    let adaptive = setup.client("/mcp/adaptive", Era::Modern).await;
    let output = call_api(&adaptive, ENABLE, &json!({ "group": "shop" }))
        .await
        .text();
    assert_eq!(output, "6 tools of shop are in your list now.");
}

#[tokio::test]
async fn a_wrong_name_gets_similar_names() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for (name, near) in [
            ("shop__creat_order", "shop__create_order"),
            ("create_order", "shop__create_order"),
            ("shop.create_order", "shop__create_order"),
            ("shop_create_order", "shop__create_order"),
            ("Shop__Create_Order", "shop__create_order"),
            ("good__ecko", "good__echo"),
        ] {
            let output = call_api(&client, name, &json!({})).await.tool_error();
            assert!(
                output.contains(&format!(
                    "there is no tool called `{name}`; did you mean {near}"
                )),
                "{output}"
            );
            let direct = client.call(name, &json!({})).await.tool_error();
            assert_eq!(direct, output);
        }
        let output = call_api(&client, "zzz", &json!({})).await.tool_error();
        assert!(
            output.contains("search_available_tools"),
            "with nothing like it, where to look: {output}"
        );
        let output = client
            .call(CALL, &json!({ "provider": "shop", "path": "/x" }))
            .await
            .tool_error();
        assert!(output.contains("no provider called `shop`"), "{output}");
        let output = client
            .call(CALL, &json!({ "result": "nothing" }))
            .await
            .tool_error();
        assert!(output.contains("there is no result `nothing`"), "{output}");
    }
}

/// Makes a wrong call, and then the example call in its error.
async fn check(client: &Client, tool: &str, wrong: &Value, output: &[&str]) {
    let error = call_api(client, tool, wrong).await.tool_error();
    assert!(
        error.starts_with(&format!(
            "`{tool}` was not called because its arguments are invalid:\n"
        )),
        "{error}"
    );
    for output in output {
        assert!(error.contains(output), "no {output} in {error}");
    }
    let example = error
        .lines()
        .find_map(|line| line.strip_prefix("Example: "))
        .unwrap();
    let example: Value = serde_json::from_str(example).unwrap_or_else(|_| panic!("{example}"));
    let mended = call_api(client, tool, &example).await.text();
    assert_eq!(serde_json::from_str::<Value>(&mended).unwrap(), example);
}

#[tokio::test]
async fn wrong_arguments_get_a_correct_example() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let tool = "shop__create_order";
        let items = json!([{ "sku": "tea", "count": 2 }]);
        for (wrong, output) in [
            (
                json!({}),
                &["/customer: missing, expected a string", "/items: missing"] as &[_],
            ),
            (json!({ "items": items }), &["/customer: missing"]),
            (
                json!({ "customer": [7], "items": items }),
                &[
                    "/customer: expected a string, got [7] (an array)",
                    r#"{"type":"string"}"#,
                ],
            ),
            (
                json!({ "customer": "Ann", "items": [{ "sku": "tea", "count": 0 }] }),
                &["/items/0/count", r#""minimum":1"#],
            ),
            (json!({ "customer": "Ann", "items": [] }), &["/items"]),
            (
                json!({ "customer": "Ann", "items": "tea, coffee" }),
                &["/items: expected an array"],
            ),
            (
                json!({ "costumer": "Ann", "items": items }),
                &["did you mean `customer`?"],
            ),
            (
                json!({ "customer": "Ann", "items": items, "priority": "urgent" }),
                &["/priority", r#"["low","high"]"#],
            ),
            (
                json!({ "customer": "Ann", "items": items, "zzz": 1 }),
                &["/zzz: there is no such parameter"],
            ),
        ] {
            check(&client, tool, &wrong, output).await;
        }
        check(
            &client,
            "shop__find_order",
            &json!({ "Order": "7" }),
            &["/order: missing"],
        )
        .await;
    }
}

#[tokio::test]
async fn an_invalid_call_never_reaches_the_server() {
    let setup = SurfaceGateway::new().await;
    for era in Era::each() {
        let client = setup.client("/mcp", era).await;
        call_api(&client, "good__slow", &json!({ "ms": "soon" }))
            .await
            .tool_error();
        client
            .call("good__slow", &json!({ "ms": "soon" }))
            .await
            .tool_error();
    }
    let events = std::fs::read_to_string(setup.home().path("good/events.log")).unwrap_or_default();
    assert!(!events.contains("slow"), "{events}");
    let everything = setup.client("/mcp/all", Era::Modern).await;
    everything
        .call("shop__create_order", &json!({}))
        .await
        .text();
    assert_eq!(
        everything
            .call("shop__create_order", &an_order())
            .await
            .result()["structuredContent"],
        an_order()
    );
}
