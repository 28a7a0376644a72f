//! What real servers have been seen to do, and what a client of the gateway sees of it: little.
//!
//! # Layout
//! - [`misbehaviour`]: servers that misbehave and are served all the same
//! - [`crashes`]: servers that fail, how that is told, and when they are tried again
//! - [`deaf`]: servers that answer nothing any more, and those that are only slow
//! - [`held_off`]: servers that ask to be left alone for a while
//! - [`lifecycle`]: when servers are started and stopped, and that nothing is left behind
//! - [`strays`]: processes that servers leave behind without a trace, and those of other gateways
//! - [`floods`]: servers that send without end, or do not read
//! - [`limits`]: how many calls at once, and for how long
//! - [`remote`]: servers reached over HTTP
//! - [`changes`]: servers that offer something else than before
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

/// Whichever era a server speaks, the claim must hold.
const ERAS: [&str; 2] = ["legacy", "modern"];

/// The params of a call that wants to hear of progress.
fn call_with_progress(tool: &str, arguments: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p-1" } })
}
