//! Tools from files, through the real binary: they are found and called as soon as the file exists, with
//! the credential of the caller's tenant, and reject arguments that the file does not declare.

mod catalog_tools;
mod checked;
mod model_providers;
mod model_tools;
mod own_tools;

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::api::Api;
use crate::harness::{Client, Era, Gateway, Home, until};

const DESK: &str = r#"
name = "desk"
aliases = ["service_desk"]
kind = "curated"
purpose = "Read and open tickets of the service desk."
description = "Searches and opens tickets of the service desk: what is broken, who reported it."
owner = "support"
writes = "read + write"
intents = ["is there a ticket about the broken printer"]

[api]
url = "https://desk.example/v1"
credential = "desk"
auth = { scheme = "bearer" }

[actions.search]
description = "Search tickets by words."
writes = "read"
method = "GET"
path = "/items"
query = { q = "{words}" }
input = '''
{
  "type": "object",
  "properties": { "words": { "type": "string" } },
  "required": ["words"],
  "additionalProperties": false
}'''

[actions.open]
description = "Open a ticket."
writes = "write"
method = "POST"
path = "/items"
body = '''{ "ticket": { "subject": "{subject}", "priority": "{priority}" } }'''
input = '''
{
  "type": "object",
  "properties": { "subject": { "type": "string" }, "priority": { "type": "integer" } },
  "required": ["subject"],
  "additionalProperties": false
}'''
"#;

/// A gateway with an empty directory for tool files, and an API that the tool `desk` calls.
struct Desk {
    home: Arc<Home>,
    gateway: Gateway,
    api: Api,
}

impl Desk {
    async fn new() -> Self {
        let api = Api::start().await;
        let config = format!(
            "[catalog]\ndirectories = ['mine']\n[endpoints.desk]\nurl = '{}'\nallow_private = true\n",
            api.url
        );
        let home = Home::new(&config);
        fs::create_dir(home.path("mine")).unwrap();
        let gateway = home.serve().await;
        Self { home, gateway, api }
    }

    fn drop_file(&self, name: &str, text: &str) {
        fs::write(self.home.path("mine").join(name), text).unwrap();
    }

    async fn client(&self, path: &str, key: Option<&str>) -> Client {
        let builder = self.gateway.client_at(path, Era::Modern);
        match key {
            Some(key) => builder.key(key).connect().await,
            None => builder.connect().await,
        }
    }

    /// Sets a tenant's token for the desk.
    async fn give(&self, tenant: &str, token: &str) {
        let field = format!("token={token}");
        let words = ["secret", "set", "desk", &field, "--tenant", tenant];
        let output = self.home.kitbag(&words).await;
        assert_eq!(output.code, Some(0), "{output:?}");
    }

    fn tokens_seen(&self) -> Vec<String> {
        let seen = self.api.requests();
        let headers = seen.iter().filter_map(|it| it.headers.get("authorization"));
        headers.map(|it| it.to_str().unwrap().to_owned()).collect()
    }
}

async fn text(client: &Client, tool: &str, arguments: &Value) -> String {
    let reply = client.call(tool, arguments).await;
    reply.result()["content"][0]["text"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_file_is_found_and_called_seconds_later_and_a_bad_one_harms_no_other() {
    let desk = Desk::new().await;
    desk.give("local", "t0ken").await;
    let everything = desk.client("/mcp/all", None).await;
    assert!(!everything.tool_names().await.contains(&"desk".to_owned()));
    desk.drop_file("bad.toml", "name = 'bad'\nkind = 'curious'\n");
    desk.drop_file("desk.toml", DESK);
    everything.knows("desk").await;

    for (tool, arguments) in [
        ("desk", json!({ "action": "search", "words": "two words" })),
        (
            "service_desk",
            json!({ "action": "open", "subject": "door" }),
        ),
    ] {
        let output = text(&everything, tool, &arguments).await;
        assert!(output.contains("method"), "{output}");
    }
    let seen = desk.api.requests();
    assert_eq!(seen[0].uri, "/v1/items?q=two%20words");
    assert_eq!(seen[1].body, r#"{"ticket":{"subject":"door"}}"#);
    assert_eq!(desk.tokens_seen(), ["Bearer t0ken"; 2]);

    let small = desk.client("/mcp/search", None).await;
    until("a search finds it", async || {
        let query = json!({ "query": "is there a ticket about the broken printer" });
        let output = text(&small, "search_available_tools", &query).await;
        output.contains("desk(").then_some(())
    })
    .await;
    let log = desk.gateway.log();
    assert!(log.contains("bad.toml, line 2, in `kind`"), "{log}");
    assert!(!log.contains("t0ken"), "{log}");

    fs::remove_file(desk.home.path("mine/desk.toml")).unwrap();
    until("it is gone", async || {
        let names = everything.tool_names().await;
        (!names.contains(&"desk".to_owned())).then_some(())
    })
    .await;
}

#[tokio::test]
async fn each_tenant_calls_with_its_own_credential_and_one_without_gets_a_remedy() {
    let desk = Desk::new().await;
    desk.drop_file("desk.toml", DESK);
    for tenant in ["acme", "globex"] {
        desk.give(tenant, &format!("token-of-{tenant}")).await;
    }
    let search = json!({ "action": "search", "words": "x" });
    for tenant in ["globex", "acme"] {
        let key = desk.home.key(tenant).await;
        let client = desk.client("/mcp/all", Some(&key)).await;
        client.knows("desk").await;
        let output = text(&client, "desk", &search).await;
        assert!(!output.contains("token-of"), "{output}");
    }
    assert_eq!(
        desk.tokens_seen(),
        ["Bearer token-of-globex", "Bearer token-of-acme"]
    );
    let key = desk.home.key("third").await;
    let client = desk.client("/mcp/all", Some(&key)).await;
    let output = text(&client, "desk", &search).await;
    assert!(output.starts_with("CONFIG_MISSING"), "{output}");
    assert!(output.contains("kitbag secret set desk token"), "{output}");
}

#[tokio::test]
async fn an_argument_that_the_file_does_not_declare_is_rejected_on_every_route() {
    let desk = Desk::new().await;
    desk.give("local", "t0ken").await;
    desk.drop_file("desk.toml", DESK);
    desk.client("/mcp/all", None).await.knows("desk").await;
    let wrong = json!({ "action": "search", "words": "x", "tenant": "acme" });
    let through_call_api = json!({ "tool": "desk", "arguments": wrong });
    let in_a_batch = json!({ "calls": [{ "tool": "desk", "arguments": wrong }] });
    for (path, tool, arguments) in [
        ("/mcp/all", "desk", &wrong),
        ("/mcp/search", "desk", &wrong),
        ("/mcp/search", "call_api", &through_call_api),
        ("/mcp/search", "batch_execute", &in_a_batch),
    ] {
        let client = desk.client(path, None).await;
        let reply = client.call(tool, arguments).await;
        let output = format!("{reply:?}");
        assert!(output.contains("tenant"), "{path} {tool}: {output}");
    }
    assert!(desk.api.requests().is_empty());
}
