//! Which key is sent where, who is accepted, and which tools are ours.

use serde_json::{Value, json};

use super::Proxied;
use crate::harness::{Gateway, Home};

const KEYED: &str = "bind = \"127.0.0.1:0\"\nrequire_key = true\n";
const BODY: &str = r#"{"tools":[],"messages":[]}"#;

#[track_caller]
fn error_of(reply: &str) -> String {
    let reply: Value = serde_json::from_str(reply).unwrap();
    reply["error"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_key_goes_only_where_it_belongs() {
    let home = Home::new(&format!("[serve]\n{KEYED}"));
    let key = home.key("acme").await;
    let proxied = Proxied::start(home, None, &format!("[serve]\n{KEYED}")).await;
    let Proxied {
        gateway, vendor, ..
    } = &proxied;
    let path = "/anthropic/v1/messages";
    let theirs = ("x-api-key", "sk-ant-client");
    let refused = gateway.post(path, &[theirs], BODY).await;
    assert_eq!(refused.status, 401);
    assert!(error_of(refused.raw()).contains("x-kitbag-key"));

    let admitted = gateway
        .post(path, &[theirs, ("x-kitbag-key", &key)], BODY)
        .await;
    assert_eq!(admitted.status, 200);
    let sent = vendor.last().headers;
    assert_eq!(sent["x-api-key"], "sk-ant-client");
    assert!(!sent.contains_key("x-kitbag-key"));

    // A key stored by the operator replaces the client's.
    let stored = format!("{}key = \"${{VENDOR_KEY}}\"\n", vendor.tables());
    let home = Home::new(&format!("[serve]\n{KEYED}{stored}"));
    home.export("VENDOR_KEY", "sk-of-the-operator");
    let key = home.key("acme").await;
    let gateway = home.serve().await;
    let bearer = format!("Bearer {key}");
    let path = "/openai/v1/chat/completions";
    assert_eq!(
        gateway
            .post(path, &[("authorization", &bearer)], BODY)
            .await
            .status,
        200
    );
    assert_eq!(
        vendor.last().headers["authorization"],
        "Bearer sk-of-the-operator"
    );
    assert!(!gateway.log().contains("sk-of-the-operator"));
}

#[tokio::test]
async fn nothing_passes_unless_the_operator_enables_it_and_never_from_a_web_page() {
    let off = Gateway::with("").await;
    let refused = off.post("/anthropic/v1/messages", &[], BODY).await;
    assert_eq!(refused.status, 404);
    assert!(
        error_of(refused.raw()).contains("[models]"),
        "{}",
        refused.raw()
    );

    let proxied = Proxied::with_shop("[tenants.acme]\ndeny_tools = [\"*\"]\n").await;
    let page = ("origin", "https://evil.example");
    let refused = proxied.gateway.post("/openai/v1/models", &[page], "").await;
    assert_eq!(refused.status, 403);

    // Tools hidden from a caller count as foreign tools: they stay.
    let key = proxied.gateway.home.key("acme").await;
    let tools: Vec<Value> = super::GOODS
        .iter()
        .map(|(name, _)| json!({ "name": format!("shop__{name}") }))
        .collect();
    let body =
        json!({ "tools": tools, "messages": [{ "role": "user", "content": "send a mail" }] });
    let body = body.to_string();
    let reply = proxied
        .gateway
        .post(
            "/anthropic/v1/messages",
            &[("x-kitbag-key", &key)],
            body.clone(),
        )
        .await;
    assert_eq!(reply.status, 200);
    assert_eq!(proxied.vendor.last().body, body);
}
