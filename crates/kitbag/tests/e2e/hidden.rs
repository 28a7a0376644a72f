//! Capabilities that a tenant may not use look as if they did not exist.

use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

const RULES: &str = r#"
[tenants.acme]
deny_tools = ["*/environment", "good/test://static-text", "good/test_simple_prompt"]
deny_servers = ["secret"]
[tenants.narrow]
allow_tools = ["good/echo"]
[tenants.local]
deny_tools = ["*/exotic"]
"#;

async fn start_gateway() -> (Gateway, String, String) {
    let servers = format!(
        "{}{}",
        Testbed::new("good").table(),
        Testbed::new("secret").table()
    );
    let home = Home::new(&format!("{servers}{RULES}"));
    let key = async |tenant: &str| {
        home.kitbag(&["key", "create", "--tenant", tenant])
            .await
            .stdout
            .trim()
            .to_owned()
    };
    let (acme, narrow) = (key("acme").await, key("narrow").await);
    let gateway = home.serve().await;
    let local = gateway.client(Era::Modern).await;
    local.knows("good__echo").await;
    local.knows("secret__echo").await;
    (gateway, acme, narrow)
}

/// Requests two things in the same way; the answers must be the same.
async fn same(
    client: &Client,
    method: &str,
    ask: impl Fn(&str) -> Value,
    hidden: &str,
    missing: &str,
) {
    let (of_hidden, of_missing) = (
        client.request(method, &ask(hidden)).await,
        client.request(method, &ask(missing)).await,
    );
    let without_id = |raw: &str| {
        let mut message: Value = serde_json::from_str(raw).unwrap();
        message["id"] = Value::Null;
        message.to_string()
    };
    let as_if = without_id(of_missing.raw()).replace(missing, hidden);
    assert_eq!(without_id(of_hidden.raw()), as_if, "{method} {hidden}");
    assert_eq!(of_hidden.status, of_missing.status);
}

#[tokio::test]
async fn a_hidden_thing_gets_the_error_of_a_missing_one() {
    let (gateway, acme, _) = start_gateway().await;
    let name = |name: &str| json!({ "name": name, "arguments": {} });
    let uri = |uri: &str| json!({ "uri": uri });
    for era in Era::each() {
        for path in ["/mcp", "/mcp/all", "/mcp/adaptive"] {
            let client = gateway.client_at(path, era).key(&acme).connect().await;
            // Names with the same nearest names.
            same(&client, "tools/call", name, "secret__echo", "nobody__echo").await;
            same(
                &client,
                "tools/call",
                name,
                "good__environment",
                "good__zzzzzzzzzzz",
            )
            .await;
            same(
                &client,
                "prompts/get",
                name,
                "secret__test_simple_prompt",
                "nobody__any",
            )
            .await;
            same(
                &client,
                "prompts/get",
                name,
                "good__test_simple_prompt",
                "good__any",
            )
            .await;
            same(
                &client,
                "resources/read",
                uri,
                "test://static-text",
                "test://nothing-here",
            )
            .await;
            let aliased = |own: &str| uri(&format!("kitbag://server/{own}/test://static-text"));
            same(&client, "resources/read", aliased, "secret", "nobody").await;
            if path != "/mcp/all" {
                let call =
                    |tool: &str| json!({ "name": "call_api", "arguments": { "tool": tool } });
                same(&client, "tools/call", call, "secret__echo", "nobody__echo").await;
                let one =
                    |tool: &str| json!({ "name": "discover_apis", "arguments": { "tool": tool } });
                same(&client, "tools/call", one, "secret__echo", "nobody__echo").await;
            }
        }
        let alone = gateway
            .client_at("/servers/good/mcp", era)
            .key(&acme)
            .connect()
            .await;
        same(&alone, "tools/call", name, "environment", "zzzzzzzzzzz").await;
        same(
            &alone,
            "prompts/get",
            name,
            "test_simple_prompt",
            "no_such_prompt",
        )
        .await;
        same(
            &alone,
            "resources/read",
            uri,
            "test://static-text",
            "test://nothing-here",
        )
        .await;
    }
    let log = gateway.log();
    assert!(
        log.contains("the rules of this tenant deny `secret`"),
        "the rule is in the log: {log}"
    );
}

#[tokio::test]
async fn a_caller_who_needs_no_key_still_reads_which_rule_it_was() {
    let (gateway, ..) = start_gateway().await;
    for era in Era::each() {
        let refused = gateway
            .client(era)
            .await
            .call("good__exotic", &json!({}))
            .await
            .tool_error();
        assert!(
            refused.contains("the rules of this tenant deny `*/exotic`"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn what_a_tenant_may_not_see_is_neither_counted_nor_named() {
    let (gateway, acme, narrow) = start_gateway().await;
    for (key, tools) in [(&acme, None), (&narrow, Some(1))] {
        let small = gateway
            .client_at("/mcp", Era::Legacy)
            .key(key)
            .connect()
            .await;
        let said = small.greeting["instructions"].to_string();
        assert!(said.contains("The tools of 1 servers"), "{said}");
        let all = gateway
            .client_at("/mcp/all", Era::Legacy)
            .key(key)
            .connect()
            .await;
        assert!(
            !all.greeting.to_string().contains("secret"),
            "{}",
            all.greeting
        );
        let found = gateway
            .post(
                "/v1/retrieve",
                &[("authorization", &format!("Bearer {key}"))],
                json!({ "intent": "echo a message" }).to_string(),
            )
            .await;
        let found: Value = serde_json::from_str(found.raw()).unwrap();
        assert!(!found.to_string().contains("secret"), "{found}");
        let visible = all.tool_names().await.len();
        assert_eq!(tools.unwrap_or(visible), visible);
        assert!(
            found["indexed"].as_u64().unwrap() <= visible as u64,
            "{found}"
        );
    }
    let hidden = gateway
        .client_at("/servers/secret/mcp", Era::Modern)
        .key(&narrow)
        .without_handshake();
    assert_eq!(
        hidden.request("tools/list", &json!({})).await.status,
        404,
        "it may use nothing there"
    );
}

#[tokio::test]
async fn a_key_of_a_tenant_without_a_table_is_useless_and_gets_a_remedy() {
    let home = Home::new(&format!(
        "{}[tenants]\n[tenants.acme]\n",
        Testbed::new("good").table()
    ));
    let output = home.kitbag(&["key", "create", "--tenant", "ghost"]).await;
    assert!(
        output
            .stderr
            .contains("has no table for the tenant `ghost`"),
        "{output:?}"
    );
    assert!(output.stderr.contains("[tenants.ghost]"), "{output:?}");
    let named = home.kitbag(&["key", "create", "--tenant", "acme"]).await;
    assert!(!named.stderr.contains("warning"), "{named:?}");
    let refused = home.kitbag(&["key", "create", "--tenant", "unknown"]).await;
    assert!(
        refused.stderr.contains("tenant name `unknown` is reserved"),
        "{refused:?}"
    );
    let local = home.kitbag(&["key", "create"]).await;
    let found = home.kitbag(&["doctor", "--offline"]).await;
    assert!(
        found.stdout.contains("tenant ghost") && !found.stdout.contains("tenant acme"),
        "{found:?}"
    );
    let gateway = home.serve().await;
    let warned = || gateway.log().contains("keys of this tenant cannot be used");
    until("the log names such tenants", async || {
        warned().then_some(())
    })
    .await;
    for era in Era::each() {
        gateway.client(era).await.knows("good__echo").await;
        for key in [&named, &local] {
            let client = gateway
                .client_at("/mcp/all", era)
                .key(key.stdout.trim())
                .connect()
                .await;
            client.knows("good__echo").await;
        }
        let ghost = gateway
            .client_at("/mcp/all", era)
            .key(output.stdout.trim())
            .connect()
            .await;
        assert_eq!(ghost.tool_names().await, [""; 0]);
        for tool in ["good__echo", "nothing__like_it"] {
            let refused = ghost.call(tool, &json!({})).await.tool_error();
            assert!(refused.contains("tenant `ghost` has no rules"), "{refused}");
            assert!(refused.contains("[tenants.ghost]"), "{refused}");
        }
        let read = ghost
            .request("resources/read", &json!({ "uri": "test://static-text" }))
            .await;
        assert!(
            read.error()["message"].to_string().contains("has no rules"),
            "{}",
            read.raw()
        );
        let small = gateway
            .client_at("/mcp", era)
            .key(output.stdout.trim())
            .connect()
            .await;
        let found = small
            .call("search_available_tools", &json!({ "query": "echo" }))
            .await
            .tool_error();
        assert!(found.contains("has no rules"), "{found}");
    }
    let retrieved = gateway
        .post(
            "/v1/retrieve",
            &[("authorization", &format!("Bearer {}", output.stdout.trim()))],
            "{}",
        )
        .await;
    assert_eq!(retrieved.status, 403, "{}", retrieved.raw());
    home.configure(&format!(
        "{}[tenants]\nunknown = \"allow\"\n",
        Testbed::new("good").table()
    ));
    let client = gateway
        .client_at("/mcp/all", Era::Modern)
        .key(output.stdout.trim())
        .connect()
        .await;
    client.knows("good__echo").await;
}
