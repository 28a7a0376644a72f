//! Prompts, and completion of their arguments.

use kitbag_wire::{Raw, RawObject, raw};
use serde_json::{Value, json};

use crate::call::{CallOutcome, Reply, TestCall, invalid};
use crate::input::{InputRequest, InputRequests};
use crate::tools::content::IMAGE;

pub(crate) fn list() -> Vec<Raw> {
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
    .collect()
}

pub(crate) async fn get(call: &TestCall) -> CallOutcome {
    let name: String = call
        .params
        .read("name")
        .ok_or_else(|| invalid("`name` is missing"))?;
    let contents = match name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            vec![text(&format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument(call, "arg1"),
                argument(call, "arg2")
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = call
                .argument("resourceUri")
                .unwrap_or_else(|| "test://example-resource".to_owned());
            let resource = json!({ "uri": uri, "mimeType": "text/plain", "text": "Embedded resource content for testing." });
            vec![
                json!({ "type": "resource", "resource": resource }),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => {
            let image = json!({ "type": "image", "data": IMAGE, "mimeType": "image/png" });
            vec![image, text("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => {
            let wanted =
                InputRequest::field("What context should the prompt use?", "context", "string");
            let answers = call.ask(InputRequests::one("user_context", wanted)).await?;
            vec![text(&format!(
                "Use this context: {}",
                answers.text("user_context", "/content/context")
            ))]
        }
        unknown => return Err(invalid(format!("unknown prompt `{unknown}`"))),
    };
    let messages: Vec<Value> = contents
        .into_iter()
        .map(|content| json!({ "role": "user", "content": content }))
        .collect();
    Ok(Reply::Object(RawObject::new().with("messages", &messages)))
}

pub(crate) fn complete(call: &TestCall) -> CallOutcome {
    let argument = call
        .params
        .object("argument")
        .ok_or_else(|| invalid("`argument` is missing"))?;
    let typed: String = argument.read("value").unwrap_or_default();
    if argument.read::<String>("name").as_deref() == Some(REFERENCE) {
        let reference = call
            .params
            .get("ref")
            .map_or("", |reference| reference.get());
        let completion = json!({ "values": [reference], "total": 1, "hasMore": false });
        return Ok(Reply::Object(
            RawObject::new().with("completion", &completion),
        ));
    }
    let values: Vec<&str> = WORDS
        .into_iter()
        .filter(|word| word.starts_with(&typed))
        .collect();
    let completion = json!({ "values": values, "total": values.len(), "hasMore": false });
    Ok(Reply::Object(
        RawObject::new().with("completion", &completion),
    ))
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
