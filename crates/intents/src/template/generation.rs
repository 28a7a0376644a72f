//! A template that a language model writes from the definition of a tool: the prompt, and the checks
//! of its answer.
//!
//! The model chooses words, parameters and a program. The tools that the program may use and its
//! effect are not the model's to choose.

use serde_json::{Map, Value, json};

use kitbag_domain::{Remedy, WriteClass};

use super::draft::{DraftedTool, draft};
use super::text::TemplateText;
use super::{IntentTemplate, TemplateProblem};
use crate::arguments::{DescribedTool, names_subject};
use crate::set::{TemplateMatch, TemplateSet};

/// A template with a request that it carries out, for a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedTemplate {
    pub template: IntentTemplate,
    pub request: String,
    /// The parameters of that request: from its words, given ones, and defaults.
    pub params: Map<String, Value>,
}

/// An answer that cannot be used, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAnswer {
    pub text: String,
    pub fault: String,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GenerationFault {
    #[error("the answer contains no JSON object: {reason}")]
    NoObject { reason: String },
    #[error("`{key}` is missing or of the wrong type")]
    Key { key: &'static str },
    #[error("{problem}{}", problem.remedy().map(|it| format!("; {it}")).unwrap_or_default())]
    Template { problem: TemplateProblem },
    #[error("the intent `{intent}` has no word about the tool, so other requests would match it")]
    TooGeneral { intent: String },
    #[error("the request of the example, `{request}`, matches no intent")]
    NoMatch { request: String },
    #[error("the example lacks values for {}", names.join(", "))]
    Incomplete { names: Vec<String> },
}

/// Writes the prompt for a model, with its last answer if that was rejected.
pub fn generation_prompt(tool: &DraftedTool<'_>, rejected: Option<&RejectedAnswer>) -> String {
    let mut definition = json!({ "name": tool.name });
    for key in ["description", "inputSchema", "outputSchema"] {
        if let Some(value) = tool.definition.get(key).filter(|it| !it.is_null()) {
            definition[key] = value.clone();
        }
    }
    let call = tool.call;
    let mut parts = vec![format!(
        "Write a template: a small JavaScript program that carries out what people ask of one tool.\n\n\
         The tool, as its server `{}` declares it:\n{definition}\n\n{FORMAT}\n\n\
         The program calls the tool with `await {call}(arguments)`, which returns its structured \
         content, or its text, parsed if it is JSON, and throws if the call fails.",
        tool.server
    )];
    if let Ok(plain) = draft(tool).map(TemplateText::from) {
        let plain = json!({
            "name": plain.name, "description": plain.description, "intents": plain.intents,
            "parameters": plain.parameters, "code": plain.code,
        });
        parts.push(format!(
            "A plain template that works, without an example; write a better one:\n{plain}"
        ));
    }
    if let Some(RejectedAnswer { text, fault }) = rejected {
        parts.push(format!(
            "Your last answer was rejected.\nThe answer:\n{text}\nThe reason: {fault}"
        ));
    }
    parts.join("\n\n")
}

const FORMAT: &str = r#"Answer with one JSON object, and nothing else, with these members:
- "name": lower-case letters, digits and _
- "description": one sentence
- "intents": two to eight requests in people's words, each about the subject of the tool. {name} stands for a parameter of one word or quoted text, {name...} for several words: "show the last {count} orders of {customer...}"
- "parameters": an object with a JSON Schema for each parameter: "type", "description", and a "default" or "optional": true unless it is required
- "code": the body of an async function. It reads values from `params`, such as params.customer, and never from text with placeholders. It has no network, files, modules or timers, and calls no other tool. It returns what answers the request and leaves out what nobody asked for
- "example": {"request": one of the intents with realistic values, "params": the values of required parameters that the request lacks}"#;

/// Reads a template from the answer of a model. `given` are values for the example that replace the
/// model's own.
pub fn read_generated(
    tool: &DraftedTool<'_>,
    answer: &str,
    given: &Map<String, Value>,
) -> Result<GeneratedTemplate, GenerationFault> {
    let mut answer = read_object(answer)?;
    let example = take(&mut answer, "example")?;
    let request: String = take_member(&example, "request")?;
    let mut params: Map<String, Value> = match example.get("params") {
        None | Some(Value::Null) => Map::new(),
        Some(_) => take_member(&example, "params")?,
    };
    params.extend(given.clone());
    let template = read_template(tool, &answer)?;
    check_intents(tool, &template)?;
    let set = TemplateSet::default().with_learned([template.clone()]);
    match set.find(&request, &params, |_| true) {
        Some(TemplateMatch::Ready { params, .. }) => Ok(GeneratedTemplate {
            template,
            request,
            params,
        }),
        Some(TemplateMatch::Incomplete { missing, .. }) => Err(GenerationFault::Incomplete {
            names: missing.into_iter().map(|it| it.name).collect(),
        }),
        None => Err(GenerationFault::NoMatch { request }),
    }
}

/// Models put text or a fence around the object.
fn read_object(answer: &str) -> Result<Map<String, Value>, GenerationFault> {
    let start = answer.find('{').unwrap_or(answer.len());
    let end = answer.rfind('}').map_or(start, |end| end + 1);
    let object = answer.get(start..end).unwrap_or_default();
    serde_json::from_str(object).map_err(|error| GenerationFault::NoObject {
        reason: error.to_string(),
    })
}

fn read_template(
    tool: &DraftedTool<'_>,
    answer: &Map<String, Value>,
) -> Result<IntentTemplate, GenerationFault> {
    let answer = Value::Object(answer.clone());
    let parameters = match answer.get("parameters") {
        None | Some(Value::Null) => Default::default(),
        Some(_) => take_member(&answer, "parameters")?,
    };
    let text = TemplateText {
        name: take_member(&answer, "name")?,
        description: take_member(&answer, "description")?,
        intents: take_member(&answer, "intents")?,
        uses: vec![format!("{}.{}", tool.server, tool.name)],
        read_only: tool.reads,
        cache_seconds: None,
        code: take_member(&answer, "code")?,
        parameters,
    };
    let problem = |found: super::text::SpottedProblem| found.problem;
    text.check()
        .map_err(problem)
        .map_err(|problem| GenerationFault::Template { problem })
}

/// An intent without a word about the tool would answer requests that mean other tools.
fn check_intents(tool: &DraftedTool<'_>, template: &IntentTemplate) -> Result<(), GenerationFault> {
    let described = DescribedTool {
        server: tool.server.as_str(),
        name: tool.name,
        description: tool.definition["description"].as_str().unwrap_or_default(),
        class: if tool.reads {
            WriteClass::Read
        } else {
            WriteClass::Unknown
        },
        schema: &tool.definition["inputSchema"],
    };
    let mut intents = template.intents().iter().map(ToString::to_string);
    match intents.find(|intent| !names_subject(intent, &described)) {
        Some(intent) => Err(GenerationFault::TooGeneral { intent }),
        None => Ok(()),
    }
}

fn take(object: &mut Map<String, Value>, key: &'static str) -> Result<Value, GenerationFault> {
    object.shift_remove(key).ok_or(GenerationFault::Key { key })
}

fn take_member<T: serde::de::DeserializeOwned>(
    object: &Value,
    key: &'static str,
) -> Result<T, GenerationFault> {
    T::deserialize(&object[key]).map_err(|_| GenerationFault::Key { key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Value {
        json!({
            "name": "orders_of_customer",
            "description": "Lists the orders of a customer.",
            "intents": ["orders of {customer...}", "what has {customer...} ordered"],
            "parameters": {
                "customer": { "type": "string" },
                "limit": { "type": "integer", "default": 5 },
            },
            "code": "return (await tools.shop.find_orders(params)).orders",
            "example": { "request": "orders of Ada Lovelace" },
        })
    }

    fn read(answer: &str, given: &Value) -> Result<GeneratedTemplate, GenerationFault> {
        let server = "shop".parse().unwrap();
        let definition = json!({
            "name": "find_orders",
            "description": "Finds the orders of a customer.",
            "inputSchema": { "properties": { "customer": { "type": "string" } }, "required": ["customer"] },
        });
        let tool = DraftedTool {
            server: &server,
            name: "find_orders",
            call: "tools.shop.find_orders",
            definition: &definition,
            reads: true,
        };
        let prompt = generation_prompt(&tool, None);
        assert!(
            prompt.contains("await tools.shop.find_orders(arguments)"),
            "{prompt}"
        );
        assert!(
            prompt.contains("find orders with customer {customer}"),
            "{prompt}"
        );
        read_generated(&tool, answer, given.as_object().unwrap())
    }

    #[test]
    fn an_answer_becomes_a_template_with_an_example_that_it_carries_out() {
        let fenced = format!("Here it is:\n```json\n{}\n```", answer());
        let found = read(&fenced, &json!({ "limit": 2 })).unwrap();
        assert_eq!(found.template.uses()[0].to_string(), "shop.find_orders");
        assert!(found.template.read_only());
        let expected = json!({ "customer": "Ada Lovelace", "limit": 2 });
        assert_eq!(Value::Object(found.params), expected);
    }

    #[test]
    fn a_faulty_answer_is_rejected_with_a_reason_for_the_model() {
        let with = |key: &str, value: Value| {
            let mut answer = answer();
            answer[key] = value;
            answer.to_string()
        };
        for (answer, expected) in [
            ("I cannot do that.".to_owned(), "contains no JSON object"),
            (
                with("intents", json!("orders")),
                "`intents` is missing or of the wrong type",
            ),
            (
                with("name", json!("Orders!")),
                "is not a valid template name; write lower-case",
            ),
            (
                with("code", json!("return 'of {customer}'")),
                "read the value from `params`",
            ),
            (
                with(
                    "intents",
                    json!(["show {customer...}", "orders of {customer...}"]),
                ),
                "`show {customer...}` has no word about the tool",
            ),
            (
                with("example", json!({ "request": "orders" })),
                "`orders`, matches no intent",
            ),
            (with("example", Value::Null), "`request` is missing"),
            (
                with(
                    "parameters",
                    json!({ "customer": { "type": "string" }, "city": { "type": "string" } }),
                ),
                "lacks values for city",
            ),
        ] {
            let fault = read(&answer, &json!({})).unwrap_err().to_string();
            assert!(fault.contains(expected), "{fault}\nnot {expected}");
        }
    }
}
