//! The tools our own tests call.

use std::io::Write;
use std::time::Duration;

use kitbag_wire::{RawObject, raw};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Tool, no_arguments};
use crate::call::{Call, Outcome, Reply};

pub(super) const TOOLS: &[Tool] = &[
    Tool::new("echo", "Returns its arguments as they are", any_schema, |call| Box::pin(echo(call))),
    Tool::new("echo_params", "Returns everything that came with the call", any_schema, |call| {
        Box::pin(echo_params(call))
    }),
    Tool::new("slow", "Takes `ms` milliseconds and reports `steps` steps", slow_schema, |call| {
        Box::pin(slow(call))
    }),
    Tool::new("crash", "Ends the process in the midst of the call", no_arguments, |_| Box::pin(crash())),
    Tool::new("environment", "Names the environment variables it sees", no_arguments, |_| {
        Box::pin(environment())
    }),
    Tool::new("big", "Returns a text of `bytes` bytes", big_schema, |call| Box::pin(big(call))),
];

async fn echo(call: Call) -> Outcome {
    let arguments = match call.params.get("arguments") {
        Some(arguments) => arguments.to_owned(),
        None => raw(&json!({})),
    };
    let content = json!([{ "type": "text", "text": arguments.get() }]);
    Ok(Reply::Object(RawObject::new().with("content", &content).with("structuredContent", &arguments)))
}

async fn echo_params(call: Call) -> Outcome {
    Reply::text(call.params.to_raw().get())
}

async fn slow(call: Call) -> Outcome {
    call.server.note("started slow");
    let ms: u32 = call.argument("ms").unwrap_or(1000);
    let steps: u32 = call.argument("steps").unwrap_or(0);
    let pieces = steps.max(1);
    for piece in 1..=pieces {
        if let Err(stop) = call.wait(sleep(Duration::from_millis(ms.into()) / pieces)).await {
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

async fn crash() -> Outcome {
    let _ = writeln!(std::io::stderr(), "fatal: the crash tool was called");
    std::process::exit(3);
}

async fn environment() -> Outcome {
    let mut names: Vec<String> =
        std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
    names.sort();
    let content = json!([{ "type": "text", "text": names.join("\n") }]);
    let structured = json!({ "names": names });
    Ok(Reply::Object(RawObject::new().with("content", &content).with("structuredContent", &structured)))
}

async fn big(call: Call) -> Outcome {
    Reply::text("x".repeat(call.argument("bytes").unwrap_or(1024)))
}

fn any_schema() -> Value {
    json!({ "type": "object", "additionalProperties": true })
}

fn slow_schema() -> Value {
    json!({ "type": "object", "properties": { "ms": { "type": "integer" }, "steps": { "type": "integer" } } })
}

fn big_schema() -> Value {
    json!({ "type": "object", "properties": { "bytes": { "type": "integer" } } })
}
