//! Tools that need the client's help in one or more rounds before they can finish.

use super::{Tool, no_arguments};
use crate::call::{Call, Dialogue, Outcome, Reply, Stop};
use crate::input::{Input, Inputs};

pub(super) const TOOLS: &[Tool] = &[
    Tool::new(
        "test_input_required_result_elicitation",
        "Needs a form filled in",
        no_arguments,
        |call| Box::pin(name(call)),
    ),
    Tool::new(
        "test_input_required_result_sampling",
        "Needs a completion",
        no_arguments,
        |call| Box::pin(capital(call)),
    ),
    Tool::new(
        "test_input_required_result_list_roots",
        "Needs the roots",
        no_arguments,
        |call| Box::pin(roots(call)),
    ),
    Tool::new(
        "test_input_required_result_request_state",
        "Needs its state back",
        no_arguments,
        |call| Box::pin(confirmed(call)),
    ),
    Tool::new(
        "test_input_required_result_tampered_state",
        "Needs its state back untouched",
        no_arguments,
        |call| Box::pin(confirmed(call)),
    ),
    Tool::new(
        "test_input_required_result_multiple_inputs",
        "Needs three things at once",
        no_arguments,
        |call| Box::pin(three_things(call)),
    ),
    Tool::new(
        "test_input_required_result_multi_round",
        "Needs one thing after the other",
        no_arguments,
        |call| Box::pin(two_steps(call)),
    ),
    Tool::new(
        "test_input_required_result_capabilities",
        "Needs what the client can give",
        no_arguments,
        |call| Box::pin(what_it_can(call)),
    ),
];

async fn name(call: Call) -> Outcome {
    let answers = call.ask(Inputs::one("user_name", ask_name())).await?;
    Reply::text(format!(
        "Hello, {}!",
        answers.text("user_name", "/content/name")
    ))
}

async fn capital(call: Call) -> Outcome {
    let wanted = Input::sample("What is the capital of France?");
    let answers = call.ask(Inputs::one("capital_question", wanted)).await?;
    Reply::text(answers.text("capital_question", "/content/text"))
}

async fn roots(call: Call) -> Outcome {
    let answers = call
        .ask(Inputs::one("client_roots", Input::roots()))
        .await?;
    Reply::text(format!("Roots: {}", answers.text("client_roots", "/roots")))
}

async fn confirmed(call: Call) -> Outcome {
    let wanted = Input::field("Please confirm", "ok", "boolean");
    let answers = call.ask(Inputs::one("confirm", wanted).sealed()).await?;
    Reply::text(format!(
        "state-ok, confirmed: {}",
        answers.text("confirm", "/content/ok")
    ))
}

async fn three_things(call: Call) -> Outcome {
    let wanted = Inputs::one("user_name", ask_name())
        .and("greeting", Input::sample("Generate a greeting"))
        .and("client_roots", Input::roots());
    let answers = call.ask(wanted.sealed()).await?;
    let (greeting, name) = (
        answers.text("greeting", "/content/text"),
        answers.text("user_name", "/content/name"),
    );
    Reply::text(format!(
        "{greeting} {name}, your roots: {}",
        answers.text("client_roots", "/roots")
    ))
}

async fn two_steps(call: Call) -> Outcome {
    let name = Input::field("Step 1: What is your name?", "name", "string");
    let first = call.ask(Inputs::one("step1", name).sealed()).await?;
    let color = Input::field("Step 2: What is your favorite color?", "color", "string");
    let second = call.ask(Inputs::one("step2", color).sealed()).await?;
    Reply::text(format!(
        "{} likes {}",
        first.text("step1", "/content/name"),
        second.text("step2", "/content/color")
    ))
}

async fn what_it_can(call: Call) -> Outcome {
    let declared = call.capabilities();
    let mut wanted = Inputs::one("user_name", ask_name())
        .and("greeting", Input::sample("Generate a greeting"))
        .and("client_roots", Input::roots());
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

/// A gateway declares for its session more than this one client may have; what is refused is left out.
async fn one_by_one(call: &Call, wanted: Inputs) -> Outcome {
    let mut given = 0;
    for (key, input) in wanted.wanted {
        match call.ask(Inputs::one(key, input)).await {
            Ok(_) => given += 1,
            Err(Stop::Cancelled) => return Err(Stop::Cancelled),
            Err(Stop::Error(_) | Stop::Input(_)) => {}
        }
    }
    Reply::text(format!("The client gave {given}"))
}

fn ask_name() -> Input {
    Input::field("What is your name?", "name", "string")
}
