//! Tools and prompts that a test writes into a file while the server runs: an author who publishes
//! another version.

use std::fs;

use kitbag_wire::{Raw, RawObject};
use serde_json::json;

use crate::call::{CallOutcome, Reply};
use crate::cli::Misbehaviour;
use crate::server::TestServer;

/// Returns the definitions under this member of `edited.json`, as the file is now.
pub(crate) fn definitions(server: &TestServer, member: &str) -> Vec<Raw> {
    if !server.has(Misbehaviour::Edited) {
        return Vec::new();
    }
    let text = server.in_data_dir("edited.json").map(fs::read_to_string);
    let text = text.and_then(Result::ok).unwrap_or_default();
    let file: RawObject = serde_json::from_str(&text).unwrap_or_default();
    file.read(member).unwrap_or_default()
}

/// Answers for every prompt, listed or not.
pub(crate) fn prompt(name: &str) -> CallOutcome {
    let content = json!({ "type": "text", "text": format!("{name} says this") });
    Reply::member("messages", &[json!({ "role": "user", "content": content })])
}
