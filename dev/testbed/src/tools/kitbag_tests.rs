//! The tools that Kitbag's own tests call.

use std::io::Write;
use std::time::Duration;

use kitbag_wire::{RawObject, raw};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{TestTool, no_arguments};
use crate::call::{CallOutcome, Reply, TestCall};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new(
        "echo",
        "Returns its arguments as they are",
        any_schema,
        |call| Box::pin(echo(call)),
    ),
    TestTool::new(
        "echo_params",
        "Returns everything that came with the call",
        any_schema,
        |call| Box::pin(echo_params(call)),
    ),
    TestTool::new(
        "slow",
        "Takes `ms` milliseconds and reports `steps` steps",
        slow_schema,
        |call| Box::pin(slow(call)),
    ),
    TestTool::new(
        "crash",
        "Ends the process in the midst of the call",
        crash_schema,
        |call| Box::pin(crash(call)),
    ),
    TestTool::new(
        "environment",
        "Names the environment variables it sees",
        no_arguments,
        |_| Box::pin(environment()),
    ),
    TestTool::new(
        "big",
        "Returns a text of about `bytes` bytes",
        big_schema,
        |call| Box::pin(big(call)),
    ),
];

/// Foreign tools, of which only the definitions are known, do the same.
pub(crate) async fn echo(call: TestCall) -> CallOutcome {
    let arguments = match call.params.get("arguments") {
        Some(arguments) => arguments.to_owned(),
        None => raw(&json!({})),
    };
    let content = json!([{ "type": "text", "text": arguments.get() }]);
    Ok(Reply::Object(
        RawObject::new()
            .with("content", &content)
            .with("structuredContent", &arguments),
    ))
}

async fn echo_params(call: TestCall) -> CallOutcome {
    Reply::text(call.params.to_raw().get())
}

async fn slow(call: TestCall) -> CallOutcome {
    call.server.note("started slow");
    let ms: u32 = call.argument("ms").unwrap_or(1000);
    let steps: u32 = call.argument("steps").unwrap_or(0);
    let pieces = steps.max(1);
    for piece in 1..=pieces {
        if let Err(stop) = call
            .wait(sleep(Duration::from_millis(ms.into()) / pieces))
            .await
        {
            call.server.note("cancelled slow");
            return Err(stop);
        }
        if steps > 0 {
            call.progress(piece.into(), steps.into(), "still at it");
        }
    }
    call.server.note("finished slow");
    Reply::text(format!("slept {ms} ms in {steps} steps"))
}

async fn crash(call: TestCall) -> CallOutcome {
    let words: Option<String> = call.argument("words");
    let words = words
        .as_deref()
        .unwrap_or("fatal: the crash tool was called");
    let _ = writeln!(std::io::stderr(), "{words}");
    std::process::exit(3);
}

async fn environment() -> CallOutcome {
    let mut names: Vec<String> = std::env::vars_os()
        .map(|(name, _)| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    let content = json!([{ "type": "text", "text": names.join("\n") }]);
    let structured = json!({ "names": names });
    Ok(Reply::Object(
        RawObject::new()
            .with("content", &content)
            .with("structuredContent", &structured),
    ))
}

async fn big(call: TestCall) -> CallOutcome {
    let bytes: usize = call.argument("bytes").unwrap_or(1024);
    let shape: Option<String> = call.argument("shape");
    Reply::text(match shape.as_deref() {
        Some("array") => {
            // An item with a number of six digits is as long as the longest.
            let count = bytes / item(100_000).to_string().len();
            json!((0..count).map(item).collect::<Vec<_>>()).to_string()
        }
        Some("paragraphs") => (0..bytes / 100)
            .map(paragraph)
            .collect::<Vec<_>>()
            .join("\n\n"),
        _ => "x".repeat(bytes),
    })
}

fn item(id: usize) -> Value {
    json!({ "id": id, "note": "one of very many" })
}

/// Returns about a hundred bytes.
fn paragraph(number: usize) -> String {
    format!(
        "Paragraph {number} says, in somewhat more words than it would need, that it is there and of use."
    )
}

fn any_schema() -> Value {
    json!({ "type": "object", "additionalProperties": true })
}

fn slow_schema() -> Value {
    json!({ "type": "object", "properties": { "ms": { "type": "integer" }, "steps": { "type": "integer" } } })
}

fn crash_schema() -> Value {
    json!({ "type": "object", "properties": { "words": { "type": "string" } } })
}

fn big_schema() -> Value {
    let shape = json!({ "enum": ["one line", "paragraphs", "array"] });
    json!({ "type": "object", "properties": { "bytes": { "type": "integer" }, "shape": shape } })
}
