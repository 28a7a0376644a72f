//! Falling back to plain calls: after a failed template, without a sandbox, and when nothing answers.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Shop, intend, template};
use crate::harness::Home;

#[tokio::test]
async fn after_a_template_that_fails_the_tool_that_fits_is_called() {
    let fails = template(
        "find_an_order",
        "look order {order} up",
        "throw new Error('wrong');",
    );
    let shop = Shop::open("", &[("fails.toml", &fails)]).await;
    let client = shop.client().await;
    let output = intend(&client, "look order 5 up", &json!({ "order": "5" }))
        .await
        .tool_text();
    assert!(
        output.contains('5') && !output.contains("wrong"),
        "{output}"
    );
    assert_eq!(shop.event_count("mcp_error_fallback").await, 1);
    let log = shop.gateway.log();
    let event = log.lines().find(|it| it.contains("code_execution_failed"));
    let event = event.unwrap_or_else(|| panic!("{log}"));
    for field in [
        "intent=\"look order 5 up\"",
        "template=find_an_order",
        "error=\"line 1",
    ] {
        assert!(event.contains(field), "{field}: {event}");
    }
}

#[tokio::test]
async fn nothing_is_run_again_after_a_template_that_may_have_written() {
    let writes =
        "await tools.shop.cancel_order({ order: params.order }); throw new Error('half done');";
    let writes = template("undo", "take order {order} back", writes)
        .replace("shop.find_order", "shop.cancel_order");
    let shop = Shop::open(
        "[policy]\ncode_writes = 'allow'\n",
        &[("undo.toml", &writes)],
    )
    .await;
    let client = shop.client().await;
    let reply = intend(&client, "take order 5 back", &json!({ "order": "5" })).await;
    assert!(
        reply.tool_text().contains("half done"),
        "{}",
        reply.tool_text()
    );
    assert_eq!(shop.event_count("mcp_error_fallback").await, 0);
}

#[tokio::test]
async fn without_a_sandbox_requests_are_answered_by_plain_calls() {
    let finds = "return await tools.shop.find_order(params);";
    let finds = template("find_an_order", "look order {order} up", finds);
    let home = Home::new("");
    let program = home.copy_program();
    let config = "[code]\nwarm_workers = 0\n";
    let shop = Shop::open_in(&home, config, &[("finds.toml", &finds)]).await;
    let client = shop.client().await;
    // A worker is this program started again, which fails from now on; none is waiting.
    fs::set_permissions(program, Permissions::from_mode(0o644)).unwrap();
    let output = intend(&client, "look order 5 up", &json!({ "order": "5" }))
        .await
        .tool_text();
    assert!(output.contains('5'), "{output}");
    assert_eq!(shop.event_count("mcp_error_fallback").await, 1);
    let refused = client
        .call("run_code", &json!({ "code": "return 1" }))
        .await;
    assert!(
        refused.tool_text().contains("programs cannot run here"),
        "{}",
        refused.tool_text()
    );
}

#[tokio::test]
async fn a_server_that_is_down_is_reported() {
    let finds = "return await tools.shop.find_order(params);";
    let finds = template("find_an_order", "look order {order} up", finds);
    let mut shop = Shop::open("", &[("finds.toml", &finds)]).await;
    let client = shop.client().await;
    drop(shop.server.take());
    let reply = intend(&client, "look order 5 up", &json!({ "order": "5" })).await;
    assert_eq!(reply.result()["isError"], true, "{}", reply.tool_text());
    assert_eq!(shop.event_count("mcp_error_fallback").await, 1);
}
