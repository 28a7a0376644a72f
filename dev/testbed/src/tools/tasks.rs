//! Tools whose work continues after their answer, for clients that support tasks.

use std::time::Duration;

use kitbag_wire::ErrorObject;
use kitbag_wire::meta::code;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{TestTool, no_arguments};
use crate::call::{CallEnd, CallOutcome, Reply, TestCall};
use crate::input::{InputRequest, InputRequests};
use crate::tasks::{Need, require, run_as_task};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new(
        "greet",
        "Greets at once, never as a task",
        name_schema,
        |call| Box::pin(greet(call)),
    ),
    TestTool::new(
        "slow_compute",
        "Takes some seconds",
        seconds_schema,
        |call| Box::pin(slow_compute(call)),
    ),
    TestTool::new(
        "failing_job",
        "A task whose tool fails",
        no_arguments,
        |call| Box::pin(failing_job(call)),
    ),
    TestTool::new(
        "protocol_error_job",
        "A task that ends in an error",
        no_arguments,
        |call| Box::pin(protocol_error_job(call)),
    ),
    TestTool::new(
        "confirm_delete",
        "A task that asks before it goes on",
        file_schema,
        |call| Box::pin(confirm_delete(call)),
    ),
    TestTool::new(
        "multi_input",
        "A task that asks for two things at once",
        no_arguments,
        |call| Box::pin(multi_input(call)),
    ),
    TestTool::new(
        "test_tool_with_task",
        "Asks first and becomes a task then",
        no_arguments,
        |call| Box::pin(ask_then_task(call)),
    ),
];

async fn greet(call: TestCall) -> CallOutcome {
    Reply::text(format!(
        "Hello, {}!",
        call.argument("name").unwrap_or_else(|| "friend".to_owned())
    ))
}

async fn slow_compute(call: TestCall) -> CallOutcome {
    run_as_task(call, Need::Optional, |call| async move {
        let seconds: f64 = call.argument("seconds").unwrap_or(1.0);
        let label = call
            .argument("label")
            .unwrap_or_else(|| "result".to_owned());
        call.wait(sleep(
            Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        ))
        .await?;
        Reply::text(format!("{label}: computed for {seconds} s"))
    })
    .await
}

async fn failing_job(call: TestCall) -> CallOutcome {
    run_as_task(call, Need::Required, |call| async move {
        call.wait(sleep(Duration::from_secs(1))).await?;
        Reply::tool_error("The job failed, as it always does")
    })
    .await
}

async fn protocol_error_job(call: TestCall) -> CallOutcome {
    run_as_task(call, Need::Optional, |_| async move {
        Err(CallEnd::Error(ErrorObject::new(
            code::INTERNAL_ERROR,
            "the job broke, as it always does",
        )))
    })
    .await
}

async fn confirm_delete(call: TestCall) -> CallOutcome {
    run_as_task(call, Need::Required, |call| async move {
        let file = call
            .argument("filename")
            .unwrap_or_else(|| "file.txt".to_owned());
        let wanted = InputRequest::field(&format!("Delete {file}?"), "confirm", "boolean");
        let answers = call.ask(InputRequests::one("confirm", wanted)).await?;
        Reply::text(format!(
            "Delete {file}: {}",
            answers.text("confirm", "/content/confirm")
        ))
    })
    .await
}

async fn multi_input(call: TestCall) -> CallOutcome {
    run_as_task(call, Need::Required, |call| async move {
        let wanted = InputRequests::one(
            "first",
            InputRequest::field("The first value?", "name", "string"),
        )
        .and(
            "second",
            InputRequest::field("The second value?", "name", "string"),
        );
        let answers = call.ask(wanted).await?;
        let (first, second) = (
            answers.text("first", "/content/name"),
            answers.text("second", "/content/name"),
        );
        Reply::text(format!("{first} and {second}"))
    })
    .await
}

async fn ask_then_task(call: TestCall) -> CallOutcome {
    require(&call)?;
    let wanted = InputRequest::field("What is your name?", "name", "string");
    let name = call
        .ask(InputRequests::one("user_name", wanted))
        .await?
        .text("user_name", "/content/name");
    run_as_task(call, Need::Required, |_| async move {
        Reply::text(format!("Hello, {name}, from a task!"))
    })
    .await
}

fn name_schema() -> Value {
    json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] })
}

fn seconds_schema() -> Value {
    json!({ "type": "object", "properties": { "seconds": { "type": "number" }, "label": { "type": "string" } } })
}

fn file_schema() -> Value {
    json!({ "type": "object", "properties": { "filename": { "type": "string" } } })
}
