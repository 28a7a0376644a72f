//! Deeply nested JSON is not passed on, neither from clients nor from servers.

use serde_json::json;

use super::{beside_a_good_one, watch};
use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

/// Nested deeper than a recursive parser survives.
fn nested_json(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

const TOO_DEEP: &str = "nested deeper than 128 levels";

/// Every client request that could carry nested JSON to a server.
fn requests(levels: usize) -> Vec<(&'static str, String)> {
    let deep = nested_json(levels);
    let inner = format!(r#"{{"deep":{deep}}}"#);
    vec![
        (
            "tools/call",
            format!(r#"{{"name":"good__echo","arguments":{inner}}}"#),
        ),
        (
            "tools/call",
            format!(r#"{{"name":"good__echo","_meta":{inner}}}"#),
        ),
        (
            "tools/call",
            format!(
                r#"{{"name":"call_api","arguments":{{"tool":"good__echo","arguments":{inner}}}}}"#
            ),
        ),
        (
            "tools/call",
            format!(
                r#"{{"name":"batch_execute","arguments":{{"calls":[{{"tool":"good__echo","arguments":{inner}}}]}}}}"#
            ),
        ),
        (
            "prompts/get",
            format!(r#"{{"name":"good__test_simple_prompt","arguments":{inner}}}"#),
        ),
        (
            "resources/read",
            format!(r#"{{"uri":"test://static-text","deep":{deep}}}"#),
        ),
        (
            "completion/complete",
            format!(
                r#"{{"ref":{{"type":"ref/prompt","name":"good__test_prompt_with_arguments"}},"argument":{{"name":"arg1","value":{deep}}}}}"#
            ),
        ),
    ]
}

async fn refuses(client: &Client) {
    client.knows_of("good__echo").await;
    for levels in [200, 200_000] {
        for (method, params) in requests(levels) {
            let reply = client.request_text(method, &params).await;
            assert_eq!(reply.code(), -32600, "{method}: {}", reply.raw());
            assert!(reply.raw().contains(TOO_DEEP), "{method}: {}", reply.raw());
        }
    }
    let (method, params) = &requests(100)[0];
    assert!(
        client
            .request_text(method, params)
            .await
            .raw()
            .contains(&nested_json(100)),
        "what is sensible passes"
    );
}

#[tokio::test]
async fn deeply_nested_json_of_a_client_reaches_no_server() {
    let home = Home::new("");
    home.configure(&Testbed::new("good").data_dir(&home.path("trace")).table());
    let gateway = home.serve().await;
    for era in Era::each() {
        refuses(&gateway.client_at("/mcp/all", era).connect().await).await;
        refuses(&Client::stdio(&home, era).connect().await).await;
    }
}

#[tokio::test]
async fn a_deeply_nested_answer_becomes_an_error_with_the_reason() {
    let evil = Testbed::new("evil").manner("deep");
    let (gateway, neighbour) = beside_a_good_one(&evil).await;
    for era in Era::each() {
        let client = gateway.client(era).await;
        client.knows_of("evil__deep").await;
        for levels in [129, 100_000] {
            let output = client
                .call("evil__deep", &json!({ "levels": levels }))
                .await
                .tool_error();
            assert!(
                output.contains("`evil` answered with JSON that is nested deeper than 128"),
                "{output}"
            );
        }
        let passes = client.call("evil__deep", &json!({ "levels": 50 })).await;
        assert!(passes.raw().contains(&nested_json(50)));
    }
    watch(&gateway, &neighbour).await;
}

#[tokio::test]
async fn a_deeply_nested_definition_is_left_out_of_every_list() {
    let evil = Testbed::new("evil").manner("deep");
    let gateway = Gateway::with(&evil.table()).await;
    let client = gateway.client(Era::Legacy).await;
    client.knows("evil__echo").await;
    let own = gateway
        .client_at("/servers/evil/mcp", Era::Legacy)
        .connect()
        .await;
    for names in [client.tool_names().await, own.tool_names().await] {
        assert!(
            !names.iter().any(|name| name.contains("deep_definition")),
            "{names:?}"
        );
        assert!(names.iter().any(|name| name.ends_with("echo")), "{names:?}");
    }
    until("it is said", async || {
        gateway
            .log()
            .contains("`deep_definition` is nested")
            .then_some(())
    })
    .await;
}
