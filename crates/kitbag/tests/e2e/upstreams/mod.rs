//! Behaviour seen in real servers, and its small effect on clients of the gateway.
//!
//! # Layout
//! - [`misbehaviour`]: servers that misbehave and are served all the same
//! - [`crashes`]: servers that fail: error reports and retries
//! - [`deaf`]: servers that stop responding, and servers that are only slow
//! - [`held_off`]: servers that ask clients to wait
//! - [`lifecycle`]: starting and stopping servers without leaving processes behind
//! - [`strays`]: untraceable processes of servers, and processes of other gateways
//! - [`floods`]: servers that send endlessly, or do not read
//! - [`limits`]: concurrent calls and time limits
//! - [`remote`]: servers reached over HTTP
//! - [`changes`]: servers whose lists change
//! - [`crowd`]: many servers at once, some of them broken

mod changes;
mod crashes;
mod crowd;
mod deaf;
mod floods;
mod held_off;
mod lifecycle;
mod limits;
mod misbehaviour;
mod remote;
mod strays;

use serde_json::{Value, json};

/// A claim must hold for servers of both eras.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// The params of a call that requests progress.
fn call_with_progress(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p-1" } })
}
