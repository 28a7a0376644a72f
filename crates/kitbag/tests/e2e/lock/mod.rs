//! Servers that change their definitions after approval.
//!
//! # Layout
//! - this file: a gateway in front of a server whose author publishes another version
//! - [`every_path`]: withheld definitions on every path
//! - [`drifting`]: each kind of drift, restarts, and an unreadable lock file
//! - [`outrun`]: servers that change between listing and call
//! - [`rotated`]: secrets in approved definitions
//! - [`uris`]: skills, resource templates and resources

mod drifting;
mod every_path;
mod outrun;
mod rotated;
mod uris;

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Client, Era, Gateway, Home, Testbed, until};

/// A folder with one server, `good`, that also lists what [`publish`] writes.
fn home(config: &str) -> Arc<Home> {
    let home = Home::new("");
    fs::create_dir_all(home.path("good")).unwrap();
    home.configure(&format!("{}{config}", good(&home)));
    home
}

fn good(home: &Home) -> String {
    let good = Testbed::new("good").manner("edited");
    good.data_dir(&home.path("good")).table()
}

fn publish(home: &Home, tools: &[Value], prompts: &[Value]) {
    let edited = json!({ "tools": tools, "prompts": prompts }).to_string();
    fs::write(home.path("good/edited.json"), edited).unwrap();
}

fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } } },
        "annotations": { "readOnlyHint": true },
    })
}

fn prompt(description: &str) -> Value {
    json!({ "name": "greet_person", "description": description })
}

async fn lacks(client: &Client, tool: &str) {
    until(&format!("{tool} is gone"), async || {
        let names = client.tool_names().await;
        (!names.iter().any(|it| it == tool)).then_some(())
    })
    .await;
}

async fn client(gateway: &Gateway, path: &str) -> Client {
    gateway.client_at(path, Era::Modern).connect().await
}
