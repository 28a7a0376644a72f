//! Each step of `run_intent`: a cached result, a template, a tool, the tools to choose from.

use serde_json::json;

use super::{Shop, intend, template};
use crate::harness::{Era, until};

const STATUS: &str = "const found = await tools.shop.find_order({ order: params.order }); return `order ${found.order}`;";

#[tokio::test]
async fn a_template_answers_with_its_parameters_and_the_same_request_is_answered_again() {
    let templates = [(
        "status.toml",
        &*template("order_status", "status of order {order}", STATUS),
    )];
    let shop = Shop::open("[policy]\ncode_writes = 'allow'\n", &templates).await;
    let client = shop.client().await;
    let first = intend(&client, "Status of order 4711?", &json!({}))
        .await
        .tool_text();
    assert!(first.starts_with("order 4711\n"), "{first}");
    let again = intend(&client, "status of order 4711", &json!({})).await;
    assert_eq!(
        again.tool_text(),
        first,
        "a kept result costs no further token"
    );
    let age = &again.result()["_meta"]["io.kitbag/kept_s"];
    assert!(age.is_number(), "{}", again.result());
    let other = intend(&client, "status of order 12", &json!({}))
        .await
        .tool_text();
    assert!(other.starts_with("order 12\n"), "{other}");
    assert_eq!(shop.event_count("code_execution_success").await, 2);

    let write = json!({ "code": "return await tools.shop.cancel_order({ order: '4711' })" });
    client.call("run_code", &write).await;
    let fresh = intend(&client, "status of order 4711", &json!({}))
        .await
        .result();
    assert!(
        fresh["_meta"]["io.kitbag/kept_s"].is_null(),
        "a write makes kept results stale: {fresh}"
    );
}

#[tokio::test]
async fn a_cached_result_answers_only_its_tenant_however_the_request_of_another_is_spelt() {
    let templates = [(
        "status.toml",
        &*template("order_status", "status of order {order}", STATUS),
    )];
    let shop = Shop::open("[tenants.acme]\n[tenants.globex]\n", &templates).await;
    let [acme, globex] = ["acme", "globex"].map(|tenant| async {
        let key = shop.home().key(tenant).await;
        let builder = shop.gateway.client_at("/mcp/code", Era::Modern);
        builder.key(&key).connect().await
    });
    let (acme, globex) = (acme.await, globex.await);
    let words = "status of order 4711";
    for (client, kept) in [
        (&acme, false),
        (&acme, true),
        (&globex, false),
        (&globex, true),
    ] {
        let reply = intend(client, words, &json!({})).await;
        let output = reply.tool_text();
        assert!(output.starts_with("order 4711\n"), "{output}");
        let age = &reply.result()["_meta"]["io.kitbag/kept_s"];
        assert_eq!(!age.is_null(), kept, "{output}");
    }
    for (words, params) in [
        ("status of order 4711", json!({ "order": "12" })),
        ("status of order 4711\0", json!({})),
        ("status of order '4711\0{}'", json!({})),
        ("order status", json!({ "order": "4711\0" })),
    ] {
        let reply = intend(&globex, words, &params).await;
        let age = &reply.result()["_meta"]["io.kitbag/kept_s"];
        assert!(age.is_null(), "{words:?}: {}", reply.tool_text());
    }
}

#[tokio::test]
async fn without_a_cache_every_request_is_carried_out() {
    let templates = [(
        "status.toml",
        &*template("order_status", "status of order {order}", STATUS),
    )];
    let shop = Shop::open("[code]\ncache = 0\n", &templates).await;
    let client = shop.client().await;
    for _ in 0..2 {
        let result = intend(&client, "status of order 1", &json!({})).await;
        assert!(
            result.tool_text().starts_with("order 1\n"),
            "{}",
            result.tool_text()
        );
    }
    assert_eq!(shop.event_count("code_execution_success").await, 2);
    let page = reqwest::get(format!("{}/metrics", shop.gateway.base));
    let page = page.await.unwrap().text().await.unwrap();
    let runs = page
        .lines()
        .find(|line| line.starts_with("kitbag_template_runs") && line.contains("order_status"));
    assert!(runs.is_some_and(|line| line.ends_with(" 2")), "{runs:?}");
}

#[tokio::test]
async fn an_argument_is_read_from_the_words_and_a_failed_call_is_followed_by_the_tools() {
    let shop = Shop::open("", &[]).await;
    let client = shop.client().await;
    let output = intend(&client, "look up the order WEB-12", &json!({}))
        .await
        .tool_text();
    assert!(
        output.contains("WEB-12") && !output.contains("run_code"),
        "{output}"
    );
    let output = intend(&client, "cancel the order WEB-12", &json!({}))
        .await
        .tool_text();
    assert!(
        output.contains("may change something") && output.contains("Tools for this, for run_code:"),
        "{output}"
    );
    let output = intend(&client, "look up the order", &json!({}))
        .await
        .tool_text();
    assert!(
        output.starts_with(
            "Nothing was run. `shop__find_order` seems to do this, but the request lacks order"
        ),
        "{output}"
    );
}

#[tokio::test]
async fn a_custom_query_searches_for_a_tool_and_skips_templates() {
    let templates = [(
        "status.toml",
        &*template("order_status", "status of order {order}", STATUS),
    )];
    let shop = Shop::open("", &templates).await;
    let client = shop.client().await;
    for (words, params) in [
        ("custom_query: look an order up", json!({ "order": "8" })),
        (
            "new_capability",
            json!({ "capability": "look an order up", "order": "8" }),
        ),
    ] {
        let output = intend(&client, words, &params).await.tool_text();
        assert!(
            output.contains('8') && !output.contains("order 8"),
            "{output}"
        );
    }
    assert_eq!(shop.event_count("mcp_discovery_fallback").await, 2);
    assert_eq!(shop.event_count("code_execution_success").await, 0);
}

#[tokio::test]
async fn parameters_are_data_and_are_checked() {
    let templates = [(
        "status.toml",
        &*template("order_status", "status of order {order}", STATUS),
    )];
    let shop = Shop::open("", &templates).await;
    let client = shop.client().await;
    for hostile in [
        r#"7"; throw new Error("pasted"); //"#,
        "7'); throw 1; ('",
        "${process.exit()} `${params.order}`",
        "</script><script>throw 1</script>",
        "7\u{2028}throw 1\u{2029}throw 2",
        "*/ throw 1 /*",
        "\\\\\" + 1",
        "__proto__",
        "constructor",
        "{{order}} {order}",
    ] {
        let output = intend(&client, "order status", &json!({ "order": hostile }))
            .await
            .tool_text();
        // Line separators are escaped.
        let shown = hostile.replace(['\u{2028}', '\u{2029}'], "\n");
        assert!(output.starts_with(&format!("order {shown}")), "{output}");
    }
    for name in ["__proto__", "constructor", "toString"] {
        let params = json!({ "order": "7", name: { "order": "8" } });
        let output = intend(&client, "order status", &params).await.tool_text();
        assert!(!output.contains("order 8"), "{name}: {output}");
    }
    let missing = intend(&client, "order status", &json!({}))
        .await
        .tool_text();
    assert!(missing.contains("needs params: { order:"), "{missing}");
    let wrong = intend(&client, "order status", &json!({ "order": [1] }))
        .await
        .tool_text();
    assert!(wrong.contains("/order: expected a string"), "{wrong}");
}

#[tokio::test]
async fn a_simple_tool_is_called_by_the_words_of_its_name() {
    let shop = Shop::open("", &[]).await;
    let client = shop.client().await;
    for (words, params) in [
        ("list parcels", json!({})),
        ("shop: list the parcels", json!({})),
        ("find order", json!({ "order": "3" })),
    ] {
        let reply = intend(&client, words, &params).await;
        assert_ne!(
            reply.result()["isError"],
            true,
            "{words}: {}",
            reply.tool_text()
        );
        assert!(
            !reply.tool_text().contains("run_code"),
            "{words}: {}",
            reply.tool_text()
        );
    }
}

#[tokio::test]
async fn a_request_that_nothing_answers_leads_to_typed_tools() {
    let shop = Shop::open("", &[]).await;
    let client = shop.client().await;
    let output = intend(&client, "take the order of a customer back", &json!({}))
        .await
        .tool_text();
    assert!(output.contains("for run_code:"), "{output}");
    assert!(
        output.contains("tools.shop.cancel_order(args: { order: string })"),
        "{output}"
    );
    assert_eq!(shop.event_count("mcp_discovery_fallback").await, 1);
    assert!(output.starts_with("Nothing was run. "), "{output}");
    let log = shop.gateway.log();
    let event = log
        .lines()
        .find(|it| it.contains("falling_back_to_discovery"));
    let intent = "intent=\"take the order of a customer back\"";
    assert!(event.is_some_and(|it| it.contains(intent)), "{log}");
}

#[tokio::test]
async fn an_invalid_template_is_rejected_with_its_line_and_the_others_work() {
    let bad = "name = \"broken\"\nintents = 7\n";
    let wrong = template(
        "unwritten",
        "write order {order}",
        "const a = 1;\nreturn a +;",
    );
    let good = template("order_status", "status of order {order}", STATUS);
    let files = [
        ("bad.toml", bad),
        ("wrong.toml", &*wrong),
        ("good.toml", &*good),
    ];
    let shop = Shop::open("", &files).await;
    let client = shop.client().await;
    let output = intend(&client, "status of order 1", &json!({}))
        .await
        .tool_text();
    assert!(output.starts_with("order 1"), "{output}");
    let log = shop.gateway.log();
    assert!(log.contains("bad.toml:2:11"), "{log}");
    until("the programs of templates are read", async || {
        let log = shop.gateway.log();
        log.contains("has an error: line 2, column 11")
            .then_some(())
    })
    .await;
}
