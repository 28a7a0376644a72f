//! A tenant sees and uses only what the rules allow.

use serde_json::{Value, json};

use super::{key, servers, wait_until_listed};
use crate::harness::{Client, Era, Home};

#[tokio::test]
async fn what_rules_deny_to_a_tenant_is_neither_listed_nor_called() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    wait_until_listed(&gateway).await;
    for era in Era::each() {
        let client = gateway
            .client_at("/mcp/all", era)
            .key(&acme)
            .connect()
            .await;
        let tools = client.tool_names().await;
        assert!(tools.contains(&"good__echo".to_owned()));
        assert!(
            !tools
                .iter()
                .any(|tool| tool.ends_with("__exotic") || tool.starts_with("secret")),
            "{tools:?}"
        );
        for (method, key) in [
            ("prompts/list", "prompts"),
            ("resources/list", "resources"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            let listed = json!(client.list(method, key).await).to_string();
            assert!(
                !listed.contains("secret") && !listed.contains("test_simple_prompt"),
                "{listed}"
            );
            assert!(!listed.contains("test://static-text"), "{listed}");
        }
        for tool in ["good__exotic", "secret__exotic", "secret__echo"] {
            let refused = client.call(tool, &json!({})).await.error()["message"].to_string();
            assert!(
                refused.contains(&format!("there is no tool called `{tool}`")),
                "{refused}"
            );
        }
        for (method, params) in [
            ("prompts/get", json!({ "name": "good__test_simple_prompt" })),
            (
                "prompts/get",
                json!({ "name": "secret__test_simple_prompt" }),
            ),
            ("resources/read", json!({ "uri": "test://static-text" })),
            (
                "resources/read",
                json!({ "uri": "kitbag://server/secret/test://static-text" }),
            ),
            (
                "resources/read",
                json!({ "uri": "kitbag://server/secret/test://template/1/data" }),
            ),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "secret__test_prompt_with_arguments" }, "argument": { "name": "arg1", "value": "" } }),
            ),
        ] {
            let reply = client.request(method, &params).await;
            assert!(
                reply.error()["message"]
                    .as_str()
                    .unwrap()
                    .contains("there is no "),
                "{params}: {}",
                reply.raw()
            );
        }
        if era == Era::Legacy {
            for uri in [
                "test://static-text",
                "kitbag://server/secret/test://watched-resource",
            ] {
                let refused = client
                    .request("resources/subscribe", &json!({ "uri": uri }))
                    .await;
                assert!(
                    refused.error()["message"]
                        .as_str()
                        .unwrap()
                        .contains("there is no resource"),
                    "{}",
                    refused.raw()
                );
            }
        }
    }
}

#[tokio::test]
async fn the_route_of_one_server_follows_the_same_rules() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    for era in Era::each() {
        let client = gateway
            .client_at("/servers/good/mcp", era)
            .key(&acme)
            .connect()
            .await;
        let tools = client.tool_names().await;
        assert!(
            tools.contains(&"echo".to_owned()) && !tools.contains(&"exotic".to_owned()),
            "{tools:?}"
        );
        let called = client.call("exotic", &json!({})).await;
        assert!(
            called.error()["message"]
                .as_str()
                .unwrap()
                .contains("there is no tool called `exotic`")
        );
        let read = client
            .request("resources/read", &json!({ "uri": "test://static-text" }))
            .await;
        assert!(
            read.error()["message"]
                .as_str()
                .unwrap()
                .contains("there is no resource")
        );

        let hidden = gateway
            .client_at("/servers/secret/mcp", era)
            .key(&acme)
            .without_handshake();
        let none = gateway
            .client_at("/servers/nobody/mcp", era)
            .key(&acme)
            .without_handshake();
        for method in ["initialize", "server/discover", "tools/list"] {
            let (hidden, none) = (
                hidden.request(method, &json!({})).await,
                none.request(method, &json!({})).await,
            );
            assert_eq!((hidden.status, none.status), (404, 404));
            let as_if = none.raw().replace("nobody", "secret");
            assert_eq!(
                hidden.raw(),
                as_if,
                "a hidden server looks like one that is not there"
            );
        }
    }
}

#[tokio::test]
async fn a_name_written_twice_bypasses_no_rule() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    wait_until_listed(&gateway).await;
    for (path, allowed, denied) in [
        ("/servers/good/mcp", "echo", "exotic"),
        ("/mcp/all", "good__echo", "good__exotic"),
    ] {
        let client = gateway
            .client_at(path, Era::Legacy)
            .key(&acme)
            .connect()
            .await;
        let headers = client.headers("", &Value::Null);
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        for (first, last) in [(allowed, denied), (denied, allowed)] {
            for member in ["name", r"n\u0061me"] {
                let params =
                    format!(r#"{{"name":"{first}","arguments":{{}},"{member}":"{last}"}}"#);
                let body = client.body(1, "tools/call", &params);
                let reply = gateway.post(path, &headers, body).await;
                assert!(
                    !reply.raw().contains("hologram"),
                    "{params} ran what was denied: {}",
                    reply.raw()
                );
            }
        }
    }
}

#[tokio::test]
async fn only_the_key_determines_the_tenant() {
    let home = Home::new(&servers());
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    wait_until_listed(&gateway).await;
    let claims = [
        ("x-tenant", "local"),
        ("x-kitbag-tenant", "local"),
        ("tenant", "local"),
        ("forwarded", "for=127.0.0.1"),
        ("x-forwarded-for", "127.0.0.1"),
    ];
    let params = json!({
        "name": "good__exotic",
        "arguments": { "tenant": "local" },
        "tenant": "local",
        "_meta": { "tenant": "local", "io.kitbag/tenant": "local" },
    });
    let send = async |client: &Client| {
        let mut headers = client.headers("tools/call", &params);
        headers.extend(claims.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        gateway
            .post(
                "/mcp/all?tenant=local",
                &headers,
                client.body(1, "tools/call", &params.to_string()),
            )
            .await
    };
    for era in Era::each() {
        let client = gateway
            .client_at("/mcp/all", era)
            .key(&acme)
            .connect()
            .await;
        assert!(
            send(&client).await.error()["message"]
                .to_string()
                .contains("there is no tool")
        );
        let local = gateway.client(era).await;
        assert!(
            send(&local).await.raw().contains("hologram"),
            "the tenant `local` has no such rule"
        );
    }
}
