//! Prompts, and completion of their arguments.

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::{CallEnd, CallOutcome, Reply, TestCall, invalid};
use crate::cli::Misbehaviour;
use crate::edited;
use crate::input::{InputRequest, InputRequests};
use crate::server::TestServer;
use crate::tools::content::IMAGE;

pub(crate) fn list(server: &TestServer) -> Vec<Raw> {
    let arguments = json!([
        { "name": "arg1", "description": "First argument", "required": true },
        { "name": "arg2", "description": "Second argument", "required": true },
    ]);
    [
        json!({ "name": "test_simple_prompt", "description": "Takes nothing, says one thing" }),
        json!({ "name": "test_prompt_with_arguments", "description": "Repeats its arguments", "arguments": arguments }),
        json!({
            "name": "test_prompt_with_embedded_resource",
            "description": "Embeds the resource it is given",
            "arguments": [{ "name": "resourceUri", "description": "What to embed", "required": true }],
        }),
        json!({ "name": "test_prompt_with_image", "description": "Shows a pixel" }),
        json!({ "name": "test_input_required_result_prompt", "description": "Asks the user before it answers" }),
    ]
    .iter()
    .map(raw)
    .chain(edited::definitions(server, "prompts"))
    .collect()
}

pub(crate) async fn get(call: &TestCall) -> CallOutcome {
    let name: String = call.required_member("name")?;
    let contents = match name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => vec![with_arguments(call)],
        "test_prompt_with_embedded_resource" => with_resource(call),
        "test_prompt_with_image" => with_image(),
        "test_input_required_result_prompt" => vec![with_context(call).await?],
        edited if call.server.has(Misbehaviour::Edited) => {
            return edited::prompt(&call.server, edited);
        }
        unknown => return Err(invalid(format!("unknown prompt `{unknown}`"))),
    };
    let messages: Vec<Value> = contents
        .into_iter()
        .map(|content| json!({ "role": "user", "content": content }))
        .collect();
    Reply::member("messages", &messages)
}

fn with_arguments(call: &TestCall) -> Value {
    text(&format!(
        "Prompt with arguments: arg1='{}', arg2='{}'",
        argument(call, "arg1"),
        argument(call, "arg2")
    ))
}

fn with_resource(call: &TestCall) -> Vec<Value> {
    let uri: Option<String> = call.argument("resourceUri");
    let resource = json!({
        "uri": uri.as_deref().unwrap_or("test://example-resource"),
        "mimeType": "text/plain",
        "text": "Embedded resource content for testing.",
    });
    vec![
        json!({ "type": "resource", "resource": resource }),
        text("Please process the embedded resource above."),
    ]
}

fn with_image() -> Vec<Value> {
    let image = json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" });
    vec![image, text("Please analyze the image above.")]
}

async fn with_context(call: &TestCall) -> Result<Value, CallEnd> {
    let wanted = InputRequest::field("What context should the prompt use?", "context", "string");
    let answers = call.ask(InputRequests::one("user_context", wanted)).await?;
    let context = answers.text("user_context", "/content/context");
    Ok(text(&format!("Use this context: {context}")))
}

pub(crate) fn complete(call: &TestCall) -> CallOutcome {
    let argument: RawObject = call.required_member("argument")?;
    if argument.read::<String>("name").as_deref() == Some(REFERENCE) {
        let reference = call.params.get("ref").map_or("", RawValue::get);
        return completion(&[reference]);
    }
    let typed: String = argument.read("value").unwrap_or_default();
    let mut words = WORDS.to_vec();
    words.retain(|word| word.starts_with(&typed));
    completion(&words)
}

fn completion(values: &[&str]) -> CallOutcome {
    let completion = json!({ "values": values, "total": values.len(), "hasMore": false });
    Reply::member("completion", &completion)
}

/// The name of an argument that is completed with the reference as it arrived.
const REFERENCE: &str = "reference";

const WORDS: [&str; 5] = ["paris", "park", "party", "test1", "test2"];

fn argument(call: &TestCall, name: &str) -> String {
    call.argument(name).unwrap_or_default()
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}
