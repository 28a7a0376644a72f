//! HTTP APIs behind `call_api`: with their secrets and within their limits.

use serde_json::{Value, json};

use super::{CALL, key};
use crate::harness::api::Api;
use crate::harness::{Client, Era, Gateway, Home, Reply};

const SECRET: &str = "s3cr3t-of-the-shop";

/// A gateway with `api`, which may be called although it is on this machine, and extra configuration.
async fn gateway(api: &Api, more: &str) -> Gateway {
    let settings = "bearer = \"${SHOP_TOKEN}\"\nmethods = [\"GET\", \"POST\"]\nallow_addresses = [\"127.0.0.1\"]";
    let home = Home::new(&format!("{}{more}", api.table("api", settings)));
    home.export("SHOP_TOKEN", SECRET);
    home.serve().await
}

async fn clients(gateway: &Gateway) -> Vec<Client> {
    let mut clients = Vec::new();
    for era in Era::each() {
        clients.push(gateway.client_at("/mcp", era).connect().await);
        clients.push(
            Client::stdio_on(&gateway.home, era, "search")
                .connect()
                .await,
        );
    }
    clients
}

/// The body of a response, which follows its status and headers.
fn body(reply: &Reply) -> Value {
    let result = reply.result();
    assert_ne!(result["isError"], true, "{result}");
    assert!(
        result["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("HTTP 200"),
        "{result}"
    );
    serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn an_api_is_called_with_its_secret_and_answers_as_it_does() {
    let api = Api::start().await;
    let gateway = gateway(&api, "").await;
    for client in clients(&gateway).await {
        for (asked, method, query, sent) in [
            (
                json!({ "provider": "api", "path": "/items" }),
                "GET",
                Value::Null,
                Value::Null,
            ),
            (
                json!({ "provider": "api", "method": "get", "path": "items", "query": { "page": 2, "q": "a b" } }),
                "GET",
                json!("page=2&q=a+b"),
                Value::Null,
            ),
            (
                json!({ "provider": "api", "method": "POST", "path": "/items?dry=1", "body": { "n": 1.50 } }),
                "POST",
                json!("dry=1"),
                json!({ "n": 1.50 }),
            ),
        ] {
            let reply = client.call(CALL, &asked).await;
            assert_eq!(
                body(&reply),
                json!({ "method": method, "query": query, "body": sent })
            );
            assert!(!reply.raw().contains(SECRET));
        }
        let refused = client
            .call(CALL, &json!({ "provider": "api", "path": "/rude" }))
            .await
            .tool_error();
        assert!(
            refused.contains("HTTP 403") && refused.contains("you shall not pass"),
            "{refused}"
        );
        let missing = client
            .call(CALL, &json!({ "provider": "api", "path": "/nothing" }))
            .await
            .tool_error();
        assert!(missing.contains("HTTP 404"), "{missing}");
    }
    for seen in api.requests() {
        assert_eq!(seen.headers["authorization"], format!("Bearer {SECRET}"));
    }
    assert!(
        api.requests()
            .iter()
            .any(|seen| seen.body == r#"{"n":1.5}"#)
    );
    assert!(!gateway.log().contains(SECRET));
}

#[tokio::test]
async fn a_forbidden_request_to_an_api_is_denied_before_anything_is_sent() {
    let api = Api::start().await;
    let gateway = gateway(&api, &api.table("closed", "")).await;
    for client in clients(&gateway).await {
        for (asked, expected) in [
            (
                json!({ "provider": "api", "method": "DELETE", "path": "/items" }),
                "may not be called with DELETE, only with GET, POST",
            ),
            (
                json!({ "provider": "api", "path": "../admin" }),
                "the path is invalid",
            ),
            (
                json!({ "provider": "api", "path": "http://evil.example/" }),
                "it is a full URL",
            ),
            (
                json!({ "provider": "closed", "path": "/items" }),
                "is not an allowed destination",
            ),
            (
                json!({ "provider": "aip", "path": "/items" }),
                "no provider called `aip`; did you mean api",
            ),
        ] {
            let output = client.call(CALL, &asked).await.tool_error();
            assert!(output.contains(expected), "{asked}: {output}");
        }
        let output = client
            .call(CALL, &json!({ "provider": "closed", "path": "/items" }))
            .await
            .tool_error();
        assert!(
            output.contains("allow_private"),
            "it says what to change: {output}"
        );
    }
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}

#[tokio::test]
async fn a_redirect_leads_to_no_address_that_may_not_be_called() {
    let (api, elsewhere) = (Api::start().await, Api::start().await);
    let gateway = gateway(&api, "").await;
    for client in clients(&gateway).await {
        for to in [
            "http://127.0.0.2:1/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::1]/",
        ] {
            let asked = json!({ "provider": "api", "path": "/away", "query": { "to": to } });
            let output = client.call(CALL, &asked).await.tool_error();
            assert!(
                output.contains("is not an allowed destination"),
                "{to}: {output}"
            );
        }
        let to = format!("{}/items", elsewhere.url);
        let asked = json!({ "provider": "api", "path": "/away", "query": { "to": to } });
        body(&client.call(CALL, &asked).await);
    }
    assert!(!elsewhere.requests().is_empty());
    for seen in elsewhere.requests() {
        assert!(
            !seen.headers.contains_key("authorization"),
            "the secret stays at home"
        );
    }
}

#[tokio::test]
async fn rules_are_about_the_method_and_the_path_however_they_are_written() {
    let api = Api::start().await;
    let rules = "[tenants.acme]\ndeny_tools = [\"api/POST *\", \"api/* /large\"]\n[tenants.globex]\ndeny_servers = [\"api\"]\n";
    let gateway = gateway(&api, rules).await;
    let (_, acme) = key(&gateway.home, "acme").await;
    let (_, globex) = key(&gateway.home, "globex").await;
    for era in Era::each() {
        let client = gateway.client_at("/mcp", era).key(&acme).connect().await;
        body(
            &client
                .call(CALL, &json!({ "provider": "api", "path": "/items" }))
                .await,
        );
        for asked in [
            json!({ "provider": "api", "method": "POST", "path": "/items" }),
            json!({ "provider": "api", "method": "post", "path": "items" }),
            json!({ "provider": "api", "path": "/large" }),
            json!({ "provider": "api", "path": "large" }),
            json!({ "provider": "api", "path": "/%6Carge" }),
            json!({ "provider": "api", "path": "/large?x=1" }),
            json!({ "provider": "api", "path": "/large/" }),
            json!({ "provider": "api", "path": "/LARGE" }),
            json!({ "provider": "api", "path": "/Large;x=1" }),
        ] {
            let output = client.call(CALL, &asked).await.tool_error();
            assert!(output.contains("`api` has nothing at"), "{asked}: {output}");
            let output = client
                .call(super::BATCH, &json!({ "calls": [asked] }))
                .await
                .text();
            assert!(output.contains("`api` has nothing at"), "{asked}: {output}");
        }
        let hidden = gateway.client_at("/mcp", era).key(&globex).connect().await;
        let output = super::discover(&hidden, &json!({})).await.text();
        assert!(!output.contains("api"), "{output}");
        let ask = async |provider: &str| {
            hidden
                .call(CALL, &json!({ "provider": provider, "path": "/items" }))
                .await
                .tool_error()
        };
        assert_eq!(
            ask("api").await,
            ask("ipa").await.replace("ipa", "api"),
            "as if there were none"
        );
    }
    assert!(
        api.requests()
            .iter()
            .all(|seen| seen.method == "GET" && seen.uri.path() == "/v1/items")
    );
}

#[tokio::test]
async fn a_redirect_within_an_api_leads_neither_past_the_rules_nor_out_of_its_base() {
    let api = Api::start().await;
    let gateway = gateway(&api, "[tenants.acme]\ndeny_tools = [\"api/* /admin*\"]\n").await;
    let (_, acme) = key(&gateway.home, "acme").await;
    let home = api.url.trim_end_matches("/v1").to_owned();
    for era in Era::each() {
        let client = gateway.client_at("/mcp", era).key(&acme).connect().await;
        let led = async |to: &str| {
            let asked = json!({ "provider": "api", "path": "/away", "query": { "to": to } });
            client.call(CALL, &asked).await
        };
        body(&led("/v1/items").await);
        for to in [
            "/v1/admin/delete-all",
            "/v1/ADMIN/x",
            "admin/x",
            "/v1/%61dmin/x",
            &format!("{home}/v1/admin/x"),
        ] {
            let output = led(to).await.tool_error();
            assert!(
                output.contains("`api` redirects to a path that the rules do not permit"),
                "{to}: {output}"
            );
        }
        for to in [
            "/hidden/x",
            "/",
            "/v10/x",
            "/v1/../hidden/x",
            &home.replace("127.0.0.1", "localhost"),
        ] {
            let output = led(to).await.tool_error();
            assert!(
                output.contains("`api` redirects to an address outside its base address"),
                "{to}: {output}"
            );
        }
    }
    let paths: Vec<_> = api
        .requests()
        .iter()
        .map(|seen| seen.uri.path().to_owned())
        .collect();
    assert!(
        paths
            .iter()
            .all(|path| ["/v1/away", "/v1/items"].contains(&path.as_str())),
        "{paths:?}"
    );
}

#[tokio::test]
async fn a_secret_in_an_apis_answer_does_not_reach_the_model() {
    let api = Api::start().await;
    let gateway = gateway(&api, "").await;
    for client in clients(&gateway).await {
        let reply = client
            .call(CALL, &json!({ "provider": "api", "path": "/mirror" }))
            .await;
        let shown = body(&reply);
        assert_eq!(shown["login"], "•••", "{shown}");
        assert_eq!(
            (&shown["token"], &shown["hex"]),
            (&json!("•••"), &json!("•••")),
            "{shown}"
        );
        assert!(shown["pair"].as_str().unwrap().contains("•••"), "{shown}");
        assert_eq!(shown["hidden"], "abc");
        let head = reply.result()["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(head.contains("link: </next?token=•••>"), "{head}");
    }
}

#[tokio::test]
async fn a_missing_secret_is_named_and_never_guessed() {
    let api = Api::start().await;
    let settings = "bearer = \"${NOT_SET}\"\nallow_private = true";
    let gateway = Gateway::with(&api.table("api", settings)).await;
    for era in Era::each() {
        let client = gateway.client_at("/mcp", era).connect().await;
        let output = client
            .call(CALL, &json!({ "provider": "api", "path": "/items" }))
            .await
            .tool_error();
        assert!(
            output.contains("NOT_SET") && output.contains("What to do: "),
            "{output}"
        );
    }
    assert!(api.requests().is_empty());
}
