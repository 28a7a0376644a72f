//! What is learned from use, through the real binary.
//!
//! The pairings are unlikely on purpose: no description could give them, so that only use can.
//!
//! # Layout
//! - this file: an office with more tools than a list holds
//! - [`pairings`]: what a search learns; [`lists`]: what the adaptive surface shows;
//!   [`hooks`]: what a prompt is told; [`unrelated`]: calls that have nothing to do with the words before them

mod hooks;
mod lists;
mod pairings;
mod unrelated;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shop::{shop, shop_table};
use crate::harness::{Client, Gateway, Home, Remote, until};

/// A gateway in front of one server, `shop`, with thirty tools that repeat their arguments.
struct Office {
    gateway: Gateway,
    shop: Remote,
}

impl Office {
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

    /// The lessons there are of a tool, as `kitbag learned show` tells them.
    async fn lessons(&self, tool: &str) -> Vec<Value> {
        let words = ["learned", "show", tool, "--json"];
        let told = self.home().kitbag(&words).await;
        serde_json::from_str(&told.stdout).unwrap_or_default()
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

/// The tools that a search shows, best first.
async fn found(client: &Client, words: &str) -> Vec<String> {
    let asked = json!({ "query": words });
    let told = client.call("search_available_tools", &asked).await.told();
    let names = told.lines().filter_map(|line| line.split_once('('));
    let names = names
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("shop__"));
    names.map(str::to_owned).collect()
}

/// Searches with words and then calls a tool for them, which the search need not have found: the arguments
/// show what the call is for.
async fn teach(client: &Client, words: &str, tool: &str) {
    found(client, words).await;
    let call = json!({ "tool": tool, "arguments": { "note": words } });
    client.call("call_api", &call).await.told();
}
