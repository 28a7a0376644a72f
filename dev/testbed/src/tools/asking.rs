//! Tools that ask the client for one thing: a completion, or a form.

use std::sync::atomic::Ordering;

use kitbag_wire::ErrorObject;
use serde_json::{Value, json};

use super::{TestTool, no_arguments};
use crate::call::{CallEnd, CallOutcome, Dialogue, Reply, TestCall};
use crate::input::{InputRequest, InputRequests, missing_capability};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new(
        "test_sampling",
        "Asks the model of the client",
        prompt_schema,
        |call| Box::pin(ask_model(call)),
    ),
    TestTool::new(
        "test_elicitation",
        "Asks the user for a name and an address",
        message_schema,
        |call| Box::pin(elicitation(call)),
    ),
    TestTool::new(
        "test_elicitation_sep1034_defaults",
        "Asks with default values",
        no_arguments,
        |call| Box::pin(defaults(call)),
    ),
    TestTool::new(
        "test_elicitation_sep1330_enums",
        "Asks with every kind of choice",
        no_arguments,
        |call| Box::pin(choices(call)),
    ),
    TestTool::new(
        "test_streaming_elicitation",
        "Asks for a value",
        no_arguments,
        |call| Box::pin(value(call)),
    ),
    TestTool::new(
        "url_elicitation",
        "Wants a page visited before it works, once",
        no_arguments,
        |call| Box::pin(visit(call)),
    ),
    TestTool::new(
        "test_missing_capability",
        "Works only for clients that can sample",
        no_arguments,
        |call| Box::pin(needs_sampling(call)),
    ),
];

async fn ask_model(call: TestCall) -> CallOutcome {
    let prompt = call
        .argument("prompt")
        .unwrap_or_else(|| "Hello".to_owned());
    let answers = call
        .ask(InputRequests::one(
            "sampling",
            InputRequest::sample(&prompt),
        ))
        .await?;
    Reply::text(format!(
        "LLM response: {}",
        answers.text("sampling", "/content/text")
    ))
}

async fn elicitation(call: TestCall) -> CallOutcome {
    let message = call
        .argument("message")
        .unwrap_or_else(|| "Please provide your information".to_owned());
    let schema = json!({
        "type": "object",
        "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" },
        },
        "required": ["username", "email"],
    });
    elicit(
        call,
        "User response",
        InputRequest::elicit(&message, &schema),
    )
    .await
}

async fn defaults(call: TestCall) -> CallOutcome {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "User name", "default": "John Doe" },
            "age": { "type": "integer", "description": "User age", "default": 30 },
            "score": { "type": "number", "description": "User score", "default": 95.5 },
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": { "type": "boolean", "description": "Verification status", "default": true },
        },
        "required": [],
    });
    let input = InputRequest::elicit(
        "Please review and update the form fields with defaults",
        &schema,
    );
    elicit(call, "Elicitation completed", input).await
}

async fn choices(call: TestCall) -> CallOutcome {
    let options = ["option1", "option2", "option3"];
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": options },
            "titledSingle": { "type": "string", "oneOf": titled_options("Option") },
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled_options("Choice") } },
        },
        "required": [],
    });
    elicit(
        call,
        "Elicitation completed",
        InputRequest::elicit("Please select options from the enum fields", &schema),
    )
    .await
}

fn titled_options(noun: &str) -> Value {
    json!([
        { "const": "value1", "title": format!("First {noun}") },
        { "const": "value2", "title": format!("Second {noun}") },
        { "const": "value3", "title": format!("Third {noun}") },
    ])
}

async fn value(call: TestCall) -> CallOutcome {
    elicit(
        call,
        "Value",
        InputRequest::field("Provide a value", "value", "string"),
    )
    .await
}

async fn elicit(call: TestCall, what: &str, input: InputRequest) -> CallOutcome {
    let answers = call.ask(InputRequests::one("elicitation", input)).await?;
    let content = answers
        .get("elicitation")
        .get("content")
        .cloned()
        .unwrap_or_default();
    Reply::text(format!(
        "{what}: action={}, content={content}",
        answers.text("elicitation", "/action")
    ))
}

/// The eras differ most here: an older server rejects the call with a list of pages, and succeeds
/// when it is called again; a newer one asks.
async fn visit(call: TestCall) -> CallOutcome {
    let input = InputRequest::visit("Please sign in", "https://example.com/sign-in");
    if !matches!(call.dialogue, Dialogue::Legacy) {
        return elicit(call, "Visited", input).await;
    }
    if call.server.visited.fetch_not(Ordering::SeqCst) {
        return Reply::text("Visited: the second call");
    }
    let mut page = input.params;
    page["elicitationId"] = json!("visit-1");
    let error = ErrorObject::new(URL_ELICITATION_REQUIRED, "a page must be visited first");
    Err(CallEnd::Error(
        error.with_data(&json!({ "elicitations": [page] })),
    ))
}

const URL_ELICITATION_REQUIRED: i64 = -32_042;

/// A legacy session declares once what its client supports, and a gateway declares more than any
/// single client supports. Only asking the client shows it.
async fn needs_sampling(call: TestCall) -> CallOutcome {
    if !call.capabilities().contains("sampling") {
        return Err(missing_capability(&json!({ "sampling": {} })).into());
    }
    if matches!(call.dialogue, Dialogue::Legacy) {
        call.ask(InputRequests::one(
            "sampling",
            InputRequest::sample("Are you there?"),
        ))
        .await?;
    }
    Reply::text("The client can sample")
}

fn prompt_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "prompt": { "type": "string", "description": "What to ask" } },
        "required": ["prompt"],
    })
}

fn message_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "message": { "type": "string", "description": "What to show" } },
        "required": ["message"],
    })
}
