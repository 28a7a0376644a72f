//! Rules hold on every route and in every spelling, for what the server will actually read.

use serde_json::{Value, json};

use crate::callers::key;
use crate::harness::{Client, Era, Gateway, Home, Testbed};

const RULES: &str = r#"
[tenants.acme]
deny_tools = ["good/test://static-*", "good/test://template/secret*", "good/test_prompt_with_arguments"]
"#;

/// A route by which a tenant reaches the server `good`, and the names on it.
struct Route {
    client: Client,
    prefix: &'static str,
    uri: &'static str,
}

async fn routes(gateway: &Gateway, key: &str, era: Era) -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, prefix, uri) in [
        ("/servers/good/mcp", "", ""),
        ("/mcp/all", "good__", ""),
        ("/mcp", "good__", "kitbag://server/good/"),
    ] {
        let client = gateway.client_at(path, era).key(key).connect().await;
        routes.push(Route {
            client,
            prefix,
            uri,
        });
    }
    routes
}

async fn gateway_with_rules() -> (Gateway, String) {
    let home = Home::new(&format!("{}{RULES}", Testbed::new("good").table()));
    let (_, acme) = key(&home, "acme").await;
    let gateway = home.serve().await;
    gateway.client(Era::Modern).await.knows("good__echo").await;
    (gateway, acme)
}

/// Whatever the response is, it must not come from the server.
#[track_caller]
fn check_refused(raw: &str, asked: &Value) {
    let words = [
        "may not use",
        "must be spelled",
        "there is no resource",
        "there is no prompt",
    ];
    assert!(
        words.iter().any(|words| raw.contains(words)),
        "{asked}: {raw}"
    );
}

#[tokio::test]
async fn a_completion_is_judged_by_what_the_server_will_complete() {
    let (gateway, acme) = gateway_with_rules().await;
    for era in Era::each() {
        for Route {
            client,
            prefix,
            uri,
        } in routes(&gateway, &acme, era).await
        {
            let complete = async |reference: Value, more: Value| {
                let mut params =
                    json!({ "ref": reference, "argument": { "name": "reference", "value": "" } });
                params
                    .as_object_mut()
                    .unwrap()
                    .extend(more.as_object().unwrap().clone());
                client.request("completion/complete", &params).await
            };
            let allowed = format!("{prefix}test_simple_prompt");
            let denied = format!("{prefix}test_prompt_with_arguments");
            let secret = format!("{uri}test://static-text");
            let template = format!("{uri}test://template/{{id}}/data");
            for reference in [
                json!({ "type": "ref/resource", "uri": secret, "name": allowed }),
                json!({ "type": "ref/prompt", "name": denied, "uri": template }),
                json!({ "type": "ref/prompt", "name": denied }),
            ] {
                check_refused(
                    complete(reference.clone(), json!({})).await.raw(),
                    &reference,
                );
            }
            // Only the members that the rule checked are passed on.
            for (reference, expected) in [
                (
                    json!({ "type": "ref/prompt", "name": allowed, "uri": secret, "Name": denied }),
                    json!({ "type": "ref/prompt", "name": "test_simple_prompt" }),
                ),
                (
                    json!({ "type": "ref/resource", "uri": template, "name": denied }),
                    json!({ "type": "ref/resource", "uri": "test://template/{id}/data" }),
                ),
            ] {
                let reply = complete(reference.clone(), json!({})).await.result();
                let arrived = reply["completion"]["values"][0].as_str().unwrap();
                assert_eq!(
                    serde_json::from_str::<Value>(arrived).unwrap(),
                    expected,
                    "{reference}"
                );
            }
            let reference = json!({ "type": "ref/resource", "uri": template });
            for filled in [
                json!({ "argument": { "name": "id", "value": "secret-1" } }),
                json!({ "context": { "arguments": { "id": "secret-1" } } }),
            ] {
                check_refused(
                    complete(reference.clone(), filled.clone()).await.raw(),
                    &filled,
                );
            }
            for odd in [
                json!({ "name": allowed }),
                json!({ "type": "ref/other", "uri": secret }),
                json!("x"),
            ] {
                assert_eq!(
                    complete(odd.clone(), json!({})).await.code(),
                    -32602,
                    "{odd}"
                );
            }
        }
    }
}

#[tokio::test]
async fn no_spelling_of_a_resource_gets_past_the_rule_about_it() {
    let (gateway, acme) = gateway_with_rules().await;
    for era in Era::each() {
        for Route {
            client, uri: mark, ..
        } in routes(&gateway, &acme, era).await
        {
            for spelling in [
                "test://static-text",
                "TEST://static-text",
                "test://STATIC-text",
                "test://%73tatic-text",
                "test://%2573tatic-text",
                "test:%2f%2fstatic-text",
                "test:\\\\static-text",
                "test:////static-text",
                "test://x/../static-text",
                "test://x/..%2fstatic-text",
                "test://./static-text",
                "test://ann@static-text",
                "test://static-text:80",
                "test://st\tatic-text",
                "test://template/%73ecret/data",
            ] {
                let uri = format!("{mark}{spelling}");
                let reply = client
                    .request("resources/read", &json!({ "uri": uri }))
                    .await;
                check_refused(reply.raw(), &json!(uri));
                if era == Era::Legacy {
                    let reply = client
                        .request("resources/subscribe", &json!({ "uri": uri }))
                        .await;
                    check_refused(reply.raw(), &json!(uri));
                }
            }
            let uri = format!("{mark}test://template/7/data");
            let read = client
                .request("resources/read", &json!({ "uri": uri }))
                .await;
            assert!(read.raw().contains("Data for ID: 7"), "{}", read.raw());
        }
    }
}

#[tokio::test]
async fn a_member_that_only_some_servers_read_is_not_sent() {
    let (gateway, acme) = gateway_with_rules().await;
    for era in Era::each() {
        for Route { client, prefix, .. } in routes(&gateway, &acme, era).await {
            let allowed = format!("{prefix}echo");
            for member in ["Name", "NAME", "Arguments", "argument\u{17f}", "URI"] {
                let asked = json!({ "name": allowed, "arguments": {}, member: { "a": 1 } });
                check_refused(client.request("tools/call", &asked).await.raw(), &asked);
            }
        }
    }
}
