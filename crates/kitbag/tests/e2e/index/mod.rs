//! The index through the real binary: the source of its vectors, its knowledge of tools, and odd tools.

mod asked_first;
mod changes;
mod embedders;
mod odd;
mod priors;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Gateway, Home, Remote, until};
use kitbag_testkit::home::CommandOutcome;

/// Servers with tools from a file of `{"server", "tool"}` lines.
struct Listed {
    home: Arc<Home>,
    remote: Option<Remote>,
}

impl Listed {
    /// One server `shop` with these tools.
    async fn with(tools: &[Value], config: &str) -> Self {
        let home = Home::new("");
        write(&home, tools);
        let file = home.path("tools.jsonl").display().to_string();
        let remote = Remote::http(&["--catalog", &file]).await;
        let listed = Self {
            home,
            remote: Some(remote),
        };
        listed.configure(config);
        listed
    }

    fn configure(&self, config: &str) {
        let url = &self.remote.as_ref().unwrap().url;
        self.home.configure(&format!(
            "[servers.shop]\nurl = \"{}/shop/mcp\"\n{config}",
            url.trim_end_matches('/')
        ));
    }

    /// Replaces the tools of the server.
    async fn replace_tools(&mut self, tools: &[Value]) {
        write(&self.home, tools);
        self.remote = Some(self.remote.take().unwrap().restart().await);
    }
}

fn write(home: &Home, tools: &[Value]) {
    let lines: Vec<_> = tools
        .iter()
        .map(|tool| json!({ "server": "shop", "tool": tool }).to_string())
        .collect();
    std::fs::write(home.path("tools.jsonl"), lines.join("\n")).unwrap();
}

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

async fn retrieve(gateway: &Gateway, request: &Value) -> (u16, Value) {
    let post = reqwest::Client::new().post(format!("{}/v1/retrieve", gateway.base));
    let response = post.body(request.to_string()).send().await.unwrap();
    let (status, body) = (response.status().as_u16(), response.text().await.unwrap());
    (
        status,
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("not JSON: {body}")),
    )
}

/// Waits until this many tools are indexed, all with vectors.
async fn wait_until_embedded(gateway: &Gateway, tools: u64) {
    until("every tool has its vector", async || {
        let (_, answer) = retrieve(gateway, &json!({ "intent": "anything" })).await;
        (answer["indexed"] == tools && answer["embedded"] == tools).then_some(())
    })
    .await;
}

fn found_names(answer: &Value) -> Vec<&str> {
    let candidates = answer["candidates"]
        .as_array()
        .unwrap_or_else(|| panic!("no candidates: {answer}"));
    candidates
        .iter()
        .map(|it| it["tool_name"].as_str().unwrap())
        .collect()
}

/// The names in the output of `kitbag search --json`.
fn names(output: &CommandOutcome) -> Vec<String> {
    let rows: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| row["tool_name"].as_str().unwrap().to_owned())
        .collect()
}
