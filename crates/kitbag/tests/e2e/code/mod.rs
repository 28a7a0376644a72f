//! Programs through the real binary: what they can call, what a model is told, who must permit
//! what, and what the record says.
//!
//! # Layout
//! - this file: a gateway with a shop, and `run_code` as a function
//! - [`running`]: what a program can do, and what goes back
//! - [`writing`]: calls that do more than read
//! - [`questions`]: servers that ask in the middle of a run
//! - [`tenants`]: whose tools, whose workers

mod questions;
mod running;
mod tenants;
mod writing;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Home, Remote, Reply, until};

/// A gateway in front of one server, `shop`, whose tools repeat their arguments.
struct Shop {
    gateway: Gateway,
    _server: Remote,
}

impl Shop {
    async fn open(config: &str) -> Self {
        let home = Home::new("");
        let server = server(&home).await;
        let url = server.url.trim_end_matches('/');
        home.configure(&format!(
            "[servers.shop]\nurl = \"{url}/shop/mcp\"\n{config}"
        ));
        let gateway = home.serve().await;
        until("the shop is listed", async || {
            let log = gateway.log();
            log.contains("every server has been asked").then_some(())
        })
        .await;
        Self {
            gateway,
            _server: server,
        }
    }

    fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    async fn client(&self, era: Era) -> Client {
        self.gateway.visitor("/mcp/code", era).connect().await
    }
}

async fn server(home: &Home) -> Remote {
    let lines = tools().into_iter();
    let lines = lines.map(|tool| json!({ "server": "shop", "tool": tool }).to_string());
    let path = home.path("tools.jsonl");
    std::fs::write(&path, lines.collect::<Vec<_>>().join("\n")).unwrap();
    Remote::http(&["--catalog", path.to_str().unwrap()]).await
}

fn tools() -> Vec<Value> {
    let order = json!({
        "type": "object",
        "properties": { "order": { "type": "string" } },
        "required": ["order"],
        "additionalProperties": false,
    });
    [
        ("find_order", "Looks an order up.", json!({ "readOnlyHint": true })),
        ("cancel-order", "Takes an order back.", json!({ "readOnlyHint": false })),
        ("weigh", "Weighs an order; nothing is said about its effects.", json!({})),
    ]
    .into_iter()
    .map(|(name, description, annotations)| {
        json!({ "name": name, "description": description, "inputSchema": order, "annotations": annotations })
    })
    .collect()
}

async fn run(client: &Client, code: &str) -> Reply {
    client.call("run_code", &json!({ "code": code })).await
}

/// The lines that a model reads at the end of a run, also of one that failed.
async fn told(client: &Client, code: &str) -> String {
    text(&run(client, code).await)
}

fn text(reply: &Reply) -> String {
    let result = reply.result();
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{result}")).to_owned()
}
