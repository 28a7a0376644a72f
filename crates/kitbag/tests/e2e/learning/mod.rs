//! Learning from use, through the real binary.
//!
//! The pairings are unlikely on purpose: no description implies them, so they can only come from use.
//!
//! # Layout
//! - this file: an office with more tools than a list holds
//! - [`pairings`]: what a search learns; [`lists`]: the list on the adaptive surface;
//!   [`hooks`]: tools for a prompt; [`unrelated`]: calls unrelated to the query before them

mod hooks;
mod lists;
mod pairings;
mod unrelated;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Client, Gateway, Home, Remote, until};

/// A gateway in front of one server, `shop`, with thirty tools that return their arguments.
struct LearningGateway {
    gateway: Gateway,
    shop: Remote,
}

impl LearningGateway {
    async fn open(config: &str) -> Self {
        let home = Home::new("");
        let shop = shop(&home, &tools()).await;
        home.configure(&format!("{}{config}", shop_table(&shop)));
        Self::serve(&home, shop).await
    }

    async fn serve(home: &Arc<Home>, shop: Remote) -> Self {
        let gateway = home.serve().await;
        until("the tools of the shop can be found", async || {
            let log = gateway.log();
            log.contains("tools=30 embedded=30").then_some(())
        })
        .await;
        Self { gateway, shop }
    }

    fn home(&self) -> &Arc<Home> {
        &self.gateway.home
    }

    /// The lessons about a tool, as printed by `kitbag learned show`.
    async fn lessons(&self, tool: &str) -> Vec<Value> {
        let words = ["learned", "show", tool, "--json"];
        let output = self.home().kitbag(&words).await;
        serde_json::from_str(&output.stdout).unwrap_or_default()
    }
}

fn tools() -> Vec<Value> {
    let subjects = [
        "invoice", "customer", "parcel", "calendar", "ticket", "password", "backup", "report",
        "meeting", "photo",
    ];
    let verbs = [
        ("list", "Lists every"),
        ("create", "Creates a new"),
        ("archive", "Archives an old"),
    ];
    let pairs = subjects
        .iter()
        .flat_map(|subject| verbs.iter().map(move |verb| (subject, verb)));
    pairs
        .map(|(subject, (verb, does))| {
            json!({
                "name": format!("{verb}_{subject}"), "description": format!("{does} {subject}."),
                "inputSchema": { "type": "object", "properties": { "note": { "type": "string" } } },
            })
        })
        .collect()
}

/// The tools that a search returns, best first.
async fn search_tools(client: &Client, words: &str) -> Vec<String> {
    let asked = json!({ "query": words });
    let output = client
        .call("search_available_tools", &asked)
        .await
        .tool_text();
    let names = output.lines().filter_map(|line| line.split_once('('));
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("shop__"));
    names.map(str::to_owned).collect()
}

/// Searches and then calls a tool for the query, which the search need not have found: the arguments
/// show the purpose of the call.
async fn teach(client: &Client, words: &str, tool: &str) {
    search_tools(client, words).await;
    let call = json!({ "tool": tool, "arguments": { "note": words } });
    client.call("call_api", &call).await.tool_text();
}
