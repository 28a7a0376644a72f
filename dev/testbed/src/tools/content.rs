//! Tools that return one kind of content each.

use serde_json::{Value, json};

use super::{TestTool, no_arguments};
use crate::call::{CallOutcome, Reply, TestCall, invalid};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new("test_simple_text", "Returns text", no_arguments, |_| {
        Box::pin(simple_text())
    }),
    TestTool::new(
        "test_image_content",
        "Returns an image",
        no_arguments,
        |_| Box::pin(image()),
    ),
    TestTool::new("test_audio_content", "Returns audio", no_arguments, |_| {
        Box::pin(audio())
    }),
    TestTool::new(
        "test_embedded_resource",
        "Returns a resource",
        no_arguments,
        |_| Box::pin(embedded_resource()),
    ),
    TestTool::new(
        "test_multiple_content_types",
        "Returns several kinds of content",
        no_arguments,
        |_| Box::pin(mixed_content()),
    ),
    TestTool::new("test_error_handling", "Always fails", no_arguments, |_| {
        Box::pin(failure())
    }),
    TestTool::new(
        "json_schema_2020_12_tool",
        "Has a schema of many keywords",
        rich_schema,
        |call| Box::pin(greet(call)),
    ),
    TestTool::new(
        "test_custom_header",
        "Wants an argument repeated in a header",
        header_schema,
        |call| Box::pin(header_value(call)),
    ),
];

/// A PNG of one pixel.
pub(crate) const IMAGE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNQSFgAAAHEASFiX4r9AAAAAElFTkSuQmCC";
/// A WAV file without samples.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

async fn simple_text() -> CallOutcome {
    Reply::text("This is a simple text response for testing.")
}

async fn image() -> CallOutcome {
    Reply::content(&json!([{ "type": "image", "data": IMAGE, "mimeType": "image/png" }]))
}

async fn audio() -> CallOutcome {
    Reply::content(&json!([{ "type": "audio", "data": AUDIO, "mimeType": "audio/wav" }]))
}

async fn embedded_resource() -> CallOutcome {
    let resource = json!({
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    });
    Reply::content(&json!([{ "type": "resource", "resource": resource }]))
}

async fn mixed_content() -> CallOutcome {
    let resource = json!({
        "uri": "test://mixed-content-resource",
        "mimeType": "application/json",
        "text": r#"{"test":"data","value":123}"#,
    });
    Reply::content(&json!([
        { "type": "text", "text": "Multiple content types test:" },
        { "type": "image", "data": IMAGE, "mimeType": "image/png" },
        { "type": "resource", "resource": resource },
    ]))
}

async fn failure() -> CallOutcome {
    Reply::tool_error("This tool intentionally returns an error for testing")
}

async fn greet(call: TestCall) -> CallOutcome {
    Reply::text(format!(
        "Hello, {}!",
        call.argument("name").unwrap_or_else(|| "world".to_owned())
    ))
}

async fn header_value(call: TestCall) -> CallOutcome {
    Reply::text(
        call.argument::<String>("value")
            .ok_or_else(|| invalid("`value` must be a string"))?,
    )
}

fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "address",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" } },
        "allOf": [{ "anyOf": [{ "required": ["name"] }, { "required": ["address"] }] }],
        "if": { "required": ["address"] },
        "then": { "properties": { "address": { "required": ["street"] } } },
        "else": { "required": ["name"] },
        "additionalProperties": false,
    })
}

fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "value": { "type": "string", "x-mcp-header": "Value" } },
        "required": ["value"],
    })
}
