//! `call_api` used correctly: the call and its answer are the tool's own.

use serde_json::json;

use super::{CALL, SurfaceGateway, an_order, call_api};
use crate::harness::Era;

#[tokio::test]
async fn a_call_reaches_the_tool_as_it_was_written_and_its_answer_comes_back_as_it_is() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let placed = call_api(&client, "shop__create_order", &an_order())
            .await
            .result();
        assert_eq!(placed["structuredContent"], an_order());
        let direct = client
            .call("shop__create_order", &an_order())
            .await
            .result();
        assert_eq!(direct, placed, "a tool answers to its own name as well");
        if client.era == Era::Modern {
            assert_eq!(placed["resultType"], "complete");
        }

        let params = r#"{"name":"call_api","arguments":{"arguments":{"n":1.50,"big":123456789012345678901234567890},"tool":"good__echo"}}"#;
        let echoed = client.request_text("tools/call", params).await;
        assert!(
            echoed
                .raw()
                .contains(r#""structuredContent":{"n":1.50,"big":123456789012345678901234567890}"#),
            "{}",
            echoed.raw()
        );
    }
}

#[tokio::test]
async fn an_answer_without_a_known_type_passes_untouched() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let direct = setup
            .client("/servers/good/mcp", client.era)
            .await
            .call("exotic", &json!({}))
            .await;
        let reply = call_api(&client, "good__exotic", &json!({})).await;
        assert_eq!(reply.raw_result(), direct.raw_result());
    }
}

#[tokio::test]
async fn every_form_of_no_arguments_is_understood() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for arguments in [
            json!({ "tool": "good__test_simple_text" }),
            json!({ "tool": "good__test_simple_text", "arguments": null }),
            json!({ "tool": "good__test_simple_text", "arguments": {} }),
            json!({ "tool": "good__test_simple_text", "arguments": "{}" }),
            json!({ "tool": "good__test_simple_text", "arguments": "" }),
        ] {
            let text = client.call(CALL, &arguments).await.text();
            assert_eq!(
                text, "This is a simple text response for testing.",
                "{arguments}"
            );
        }
        let written = json!({ "tool": "shop__create_order", "arguments": an_order().to_string() });
        let placed = client.call(CALL, &written).await.result();
        assert_eq!(
            placed["structuredContent"],
            an_order(),
            "arguments in a string are meant as an object"
        );
    }
}

#[tokio::test]
async fn a_failing_tool_is_reported_with_its_own_message() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let output = call_api(&client, "good__test_error_handling", &json!({}))
            .await
            .tool_error();
        assert_eq!(
            output,
            "This tool intentionally returns an error for testing"
        );
        let output = call_api(&client, "good__exotic_error", &json!({}))
            .await
            .tool_error();
        assert!(
            output.contains("`good` rejected the call: as exotic as can be (-31415)"),
            "{output}"
        );
    }
}

#[tokio::test]
async fn a_result_that_violates_its_output_schema_is_marked() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        let kept = call_api(&client, "shop__stock_level", &json!({ "count": 3 })).await;
        assert!(!kept.text().contains("output schema"), "{}", kept.raw());
        let broken = call_api(&client, "shop__stock_level", &json!({ "count": "three" })).await;
        assert_eq!(
            broken.result()["structuredContent"],
            json!({ "count": "three" })
        );
        let text = broken.text();
        assert!(
            text.contains("does not match the tool's own output schema"),
            "{text}"
        );
        assert!(
            text.contains("/count: expected an integer, got \"three\" (a string)"),
            "{text}"
        );
    }
    assert!(
        setup
            .gateway
            .log()
            .contains("does not match the tool's own output schema")
    );
}
