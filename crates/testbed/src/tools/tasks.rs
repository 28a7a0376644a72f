//! Tools that go on after their answer, for clients that know tasks.

use std::time::Duration;

use kitbag_wire::ErrorObject;
use kitbag_wire::meta::code;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Tool, no_arguments};
use crate::call::{Call, Outcome, Reply, Stop};
use crate::input::{Input, Inputs};
use crate::tasks::{Need, require, run_as_task};

pub(super) const TOOLS: &[Tool] = &[
    Tool::new(
        "greet",
        "Greets at once, never as a task",
        name_schema,
        |call| Box::pin(greet(call)),
    ),
    Tool::new(
        "slow_compute",
        "Takes some seconds",
        seconds_schema,
        |call| Box::pin(slow_compute(call)),
    ),
    Tool::new(
        "failing_job",
        "A task whose tool fails",
        no_arguments,
        |call| Box::pin(failing_job(call)),
    ),
    Tool::new(
        "protocol_error_job",
        "A task that ends in an error",
        no_arguments,
        |call| Box::pin(protocol_error_job(call)),
    ),
    Tool::new(
        "confirm_delete",
        "A task that asks before it goes on",
        file_schema,
        |call| Box::pin(confirm_delete(call)),
    ),
    Tool::new(
        "multi_input",
        "A task that asks for two things at once",
        no_arguments,
        |call| Box::pin(multi_input(call)),
    ),
    Tool::new(
        "test_tool_with_task",
        "Asks first and becomes a task then",
        no_arguments,
        |call| Box::pin(ask_then_task(call)),
    ),
];

async fn greet(call: Call) -> Outcome {
    Reply::text(format!(
        "Hello, {}!",
        call.argument("name").unwrap_or_else(|| "friend".to_owned())
    ))
}

async fn slow_compute(call: Call) -> Outcome {
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

async fn failing_job(call: Call) -> Outcome {
    run_as_task(call, Need::Required, |call| async move {
        call.wait(sleep(Duration::from_secs(1))).await?;
        Reply::tool_error("The job failed, as it always does")
    })
    .await
}

async fn protocol_error_job(call: Call) -> Outcome {
    run_as_task(call, Need::Optional, |_| async move {
        Err(Stop::Error(ErrorObject::new(
            code::INTERNAL_ERROR,
            "the job broke, as it always does",
        )))
    })
    .await
}

async fn confirm_delete(call: Call) -> Outcome {
    run_as_task(call, Need::Required, |call| async move {
        let file = call
            .argument("filename")
            .unwrap_or_else(|| "file.txt".to_owned());
        let wanted = Input::field(&format!("Delete {file}?"), "confirm", "boolean");
        let answers = call.ask(Inputs::one("confirm", wanted)).await?;
        Reply::text(format!(
            "Delete {file}: {}",
            answers.text("confirm", "/content/confirm")
        ))
    })
    .await
}

async fn multi_input(call: Call) -> Outcome {
    run_as_task(call, Need::Required, |call| async move {
        let wanted = Inputs::one("first", Input::field("The first value?", "name", "string")).and(
            "second",
            Input::field("The second value?", "name", "string"),
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

async fn ask_then_task(call: Call) -> Outcome {
    require(&call)?;
    let wanted = Input::field("What is your name?", "name", "string");
    let name = call
        .ask(Inputs::one("user_name", wanted))
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
