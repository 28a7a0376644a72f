//! Programs through the real binary: what they can call, what the model reads, who must permit calls,
//! and the audit.
//!
//! # Layout
//! - this file: a gateway with a shop, and `run_code` as a function
//! - [`running`]: what a program can do and return
//! - [`writing`]: calls that do more than read
//! - [`questions`]: servers that ask in the middle of a run
//! - [`tenants`]: tools and workers of each tenant

mod questions;
mod running;
mod tenants;
mod writing;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Client, Era, Gateway, Home, Remote, Reply, until};

/// A gateway in front of one server, `shop`, whose tools return their arguments.
struct Shop {
    gateway: Gateway,
    _server: Remote,
}

impl Shop {
    async fn open(config: &str) -> Self {
        let home = Home::new("");
        let server = shop(&home, &tools()).await;
        home.configure(&format!("{}{config}", shop_table(&server)));
        let gateway = home.serve().await;
        until("the shop is listed", async || {
            let log = gateway.log();
            log.contains("all servers have been listed").then_some(())
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
        self.gateway.client_at("/mcp/code", era).connect().await
    }
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
        ("list_orders", "Lists orders; nothing is said about its effects.", json!({})),
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

/// The text that a model reads at the end of a run, even a failed one.
async fn run_text(client: &Client, code: &str) -> String {
    run(client, code).await.tool_text()
}
