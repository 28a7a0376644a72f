//! Arguments of the wrong type with only one possible meaning: converted on the small surfaces, with
//! a note to the model; passed unchanged to clients on the surface `all`.

use serde_json::{Value, json};

use super::{BATCH, SEARCH, SurfaceGateway, an_order, call_api};
use crate::harness::Era;

/// Wrong arguments and their meaning: an order of two teas for a customer called 7.
fn orders() -> Vec<(Value, Value, &'static str)> {
    let items = an_order()["items"].clone();
    vec![
        (
            json!({ "customer": 7, "items": items }),
            json!({ "customer": "7", "items": items }),
            "[Taken as: customer = \"7\" (was a number)]",
        ),
        (
            json!({ "customer": "Ann", "items": [{ "sku": "tea", "count": "2" }] }),
            an_order(),
            "[Taken as: items/0/count = 2 (was a string)]",
        ),
        (
            json!({ "customer": "Ann", "items": { "sku": "tea", "count": 2 } }),
            an_order(),
            "[Taken as: items = [{\"sku\":\"tea\",\"count\":2}] (was an object)]",
        ),
        (
            json!({ "customer": "Ann", "items": items.to_string() }),
            an_order(),
            "[Taken as: items = [{\"sku\":\"tea\",\"count\":2}] (was a string)]",
        ),
    ]
}

#[tokio::test]
async fn an_unambiguous_value_is_converted_and_the_model_is_informed() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for (written, meant, output) in orders() {
            for reply in [
                call_api(&client, "shop__create_order", &written).await,
                client.call("shop__create_order", &written).await,
            ] {
                let result = reply.result();
                assert_eq!(result["structuredContent"], meant, "{written}");
                assert!(reply.text().ends_with(output), "{}", reply.text());
            }
        }
        let calls = json!([{ "tool": "shop__create_order", "arguments": orders()[0].0 }]);
        let text = client.call(BATCH, &json!({ "calls": calls })).await.text();
        assert!(text.contains("Taken as: customer"), "{text}");
        let text = client
            .call(SEARCH, &json!({ "query": "place an order", "limit": "1" }))
            .await
            .text();
        assert!(text.starts_with("shop__create_order("), "{text}");
        assert!(
            text.ends_with("[Taken as: limit = 1 (was a string)]"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn valid_arguments_are_never_changed() {
    let setup = SurfaceGateway::new().await;
    for client in setup.clients("search").await {
        for arguments in [
            json!({ "customer": "7", "items": [{ "sku": "true", "count": 2 }], "note": "[1]" }),
            json!({ "customer": "{}", "items": [{ "sku": "3", "count": 2 }] }),
        ] {
            let reply = call_api(&client, "shop__create_order", &arguments).await;
            assert_eq!(reply.result()["structuredContent"], arguments);
            assert!(!reply.text().contains("Taken as"), "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn on_the_surface_all_arguments_pass_unchanged() {
    let setup = SurfaceGateway::new().await;
    for era in Era::each() {
        for (path, tool) in [
            ("/mcp/all", "shop__create_order"),
            ("/servers/shop/mcp", "create_order"),
        ] {
            let client = setup.client(path, era).await;
            for (written, _, _) in orders() {
                let reply = client.call(tool, &written).await;
                assert_eq!(reply.result()["structuredContent"], written, "{path}");
                assert!(!reply.text().contains("Taken as"), "{}", reply.text());
            }
        }
    }
}
