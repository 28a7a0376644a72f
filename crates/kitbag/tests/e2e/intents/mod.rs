//! `run_intent` through the real binary: cached results, templates, tools, falling back to plain calls,
//! and learning.
//!
//! # Layout
//! - this file: a gateway with a shop and templates for it, and `run_intent` as a function
//! - [`answer_with`]: each step of a request; [`falling_back`]: the steps after a failure
//! - [`learning`]: programs that become templates; [`generated`]: templates that a model writes

mod answering;
mod falling_back;
mod generated;
mod learning;

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Client, Era, Gateway, Home, Remote, Reply, until};

/// A gateway in front of one server, `shop`, whose tools return their arguments, with these operator
/// templates.
struct Shop {
    gateway: Gateway,
    server: Option<Remote>,
}

impl Shop {
    async fn open(config: &str, templates: &[(&str, &str)]) -> Self {
        Self::open_in(&Home::new(""), config, templates).await
    }

    async fn open_in(home: &Arc<Home>, config: &str, templates: &[(&str, &str)]) -> Self {
        let folder = home.path("data/templates");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in templates {
            fs::write(folder.join(name), text).unwrap();
        }
        let server = shop(home, &tools("Looks an order up.")).await;
        home.configure(&format!("{}{config}", shop_table(&server)));
        Self::serve(home, server).await
    }

    async fn serve(home: &Arc<Home>, server: Remote) -> Self {
        let gateway = home.serve().await;
        until("the tools of the shop can be found", async || {
            let log = gateway.log();
            log.contains("tools=3 embedded=3").then_some(())
        })
        .await;
        let server = Some(server);
        Self { gateway, server }
    }

    fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    async fn client(&self) -> Client {
        let builder = self.gateway.client_at("/mcp/code", Era::Modern);
        builder.connect().await
    }

    /// The count of an event.
    async fn event_count(&self, event: &str) -> u64 {
        let page = reqwest::get(format!("{}/metrics", self.gateway.base));
        let page = page.await.unwrap().text().await.unwrap();
        let line = page.lines().find(|line| {
            line.starts_with("kitbag_operation_events") && line.contains(&format!("\"{event}\""))
        });
        let count = line.and_then(|line| line.rsplit_once(' '));
        count.map_or(0, |(_, count)| count.parse().unwrap())
    }
}

fn tools(finds: &str) -> Vec<Value> {
    let order = json!({
        "type": "object",
        "properties": { "order": { "type": "string" } },
        "required": ["order"],
        "additionalProperties": false,
    });
    let nothing = json!({ "type": "object", "properties": {} });
    [
        ("find_order", finds, &order, true),
        (
            "list_parcels",
            "Lists the parcels that are on their way.",
            &nothing,
            true,
        ),
        ("cancel_order", "Takes an order back.", &order, false),
    ]
    .into_iter()
    .map(|(name, description, schema, reads)| {
        json!({
            "name": name, "description": description, "inputSchema": schema,
            "annotations": { "readOnlyHint": reads },
        })
    })
    .collect()
}

/// A template written by the operator.
fn template(name: &str, intent: &str, code: &str) -> String {
    format!(
        "name = \"{name}\"\ndescription = \"A template of the tests.\"\nintents = [\"{intent}\"]\n\
         uses = [\"shop.find_order\"]\ncode = '''\n{code}\n'''\n\
         [parameters.order]\ntype = \"string\"\n"
    )
}

async fn intend(client: &Client, words: &str, params: &Value) -> Reply {
    let arguments = json!({ "intent": words, "params": params });
    client.call("run_intent", &arguments).await
}
