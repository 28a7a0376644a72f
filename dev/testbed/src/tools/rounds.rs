//! Tools that need the client's help in one or more rounds before they can finish.

use super::{TestTool, no_arguments};
use crate::call::{CallEnd, CallOutcome, Dialogue, Reply, TestCall};
use crate::input::{InputRequest, InputRequests};

pub(super) const TOOLS: &[TestTool] = &[
    TestTool::new(
        "test_input_required_result_elicitation",
        "Needs a form filled in",
        no_arguments,
        |call| Box::pin(name(call)),
    ),
    TestTool::new(
        "test_input_required_result_sampling",
        "Needs a completion",
        no_arguments,
        |call| Box::pin(capital(call)),
    ),
    TestTool::new(
        "test_input_required_result_list_roots",
        "Needs the roots",
        no_arguments,
        |call| Box::pin(roots(call)),
    ),
    TestTool::new(
        "test_input_required_result_request_state",
        "Needs its state back",
        no_arguments,
        |call| Box::pin(ask_confirmation(call)),
    ),
    TestTool::new(
        "test_input_required_result_tampered_state",
        "Needs its state back untouched",
        no_arguments,
        |call| Box::pin(ask_confirmation(call)),
    ),
    TestTool::new(
        "test_input_required_result_multiple_inputs",
        "Needs three things at once",
        no_arguments,
        |call| Box::pin(three_things(call)),
    ),
    TestTool::new(
        "test_input_required_result_multi_round",
        "Needs one thing after the other",
        no_arguments,
        |call| Box::pin(two_steps(call)),
    ),
    TestTool::new(
        "test_input_required_result_capabilities",
        "Needs what the client can give",
        no_arguments,
        |call| Box::pin(as_declared(call)),
    ),
];

async fn name(call: TestCall) -> CallOutcome {
    let answers = call
        .ask(InputRequests::one("user_name", ask_name()))
        .await?;
    Reply::text(format!(
        "Hello, {}!",
        answers.text("user_name", "/content/name")
    ))
}

async fn capital(call: TestCall) -> CallOutcome {
    let wanted = InputRequest::sample("What is the capital of France?");
    let answers = call
        .ask(InputRequests::one("capital_question", wanted))
        .await?;
    Reply::text(answers.text("capital_question", "/content/text"))
}

async fn roots(call: TestCall) -> CallOutcome {
    let answers = call
        .ask(InputRequests::one("client_roots", InputRequest::roots()))
        .await?;
    Reply::text(format!("Roots: {}", answers.text("client_roots", "/roots")))
}

async fn ask_confirmation(call: TestCall) -> CallOutcome {
    let wanted = InputRequest::field("Please confirm", "ok", "boolean");
    let answers = call
        .ask(InputRequests::one("confirm", wanted).with_sealed_state())
        .await?;
    Reply::text(format!(
        "state-ok, confirmed: {}",
        answers.text("confirm", "/content/ok")
    ))
}

async fn three_things(call: TestCall) -> CallOutcome {
    let wanted = InputRequests::one("user_name", ask_name())
        .and("greeting", InputRequest::sample("Generate a greeting"))
        .and("client_roots", InputRequest::roots());
    let answers = call.ask(wanted.with_sealed_state()).await?;
    let (greeting, name) = (
        answers.text("greeting", "/content/text"),
        answers.text("user_name", "/content/name"),
    );
    Reply::text(format!(
        "{greeting} {name}, your roots: {}",
        answers.text("client_roots", "/roots")
    ))
}

async fn two_steps(call: TestCall) -> CallOutcome {
    let name = InputRequest::field("Step 1: What is your name?", "name", "string");
    let first = call
        .ask(InputRequests::one("step1", name).with_sealed_state())
        .await?;
    let color = InputRequest::field("Step 2: What is your favorite color?", "color", "string");
    let second = call
        .ask(InputRequests::one("step2", color).with_sealed_state())
        .await?;
    Reply::text(format!(
        "{} likes {}",
        first.text("step1", "/content/name"),
        second.text("step2", "/content/color")
    ))
}

async fn as_declared(call: TestCall) -> CallOutcome {
    let declared = call.capabilities();
    let mut wanted = InputRequests::one("user_name", ask_name())
        .and("greeting", InputRequest::sample("Generate a greeting"))
        .and("client_roots", InputRequest::roots());
    wanted
        .wanted
        .retain(|(_, input)| declared.contains(input.capability()));
    if wanted.wanted.is_empty() {
        return Reply::text("The client can give nothing");
    }
    if matches!(call.dialogue, Dialogue::Legacy) {
        return one_by_one(&call, wanted).await;
    }
    let answers = call.ask(wanted).await?;
    Reply::text(format!("The client gave {}", answers.0.len()))
}

/// A gateway declares more for its session than this one client may support, so the tool asks one
/// by one and skips rejected questions.
async fn one_by_one(call: &TestCall, wanted: InputRequests) -> CallOutcome {
    let mut given = 0;
    for (key, input) in wanted.wanted {
        match call.ask(InputRequests::one(key, input)).await {
            Ok(_) => given += 1,
            Err(CallEnd::Cancelled) => return Err(CallEnd::Cancelled),
            Err(CallEnd::Error(_) | CallEnd::InputRequired(_)) => {}
        }
    }
    Reply::text(format!("The client gave {given}"))
}

fn ask_name() -> InputRequest {
    InputRequest::field("What is your name?", "name", "string")
}
