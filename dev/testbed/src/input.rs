//! The questions that a server may ask its client, in the form common to both eras.

use kitbag_wire::ErrorObject;
use kitbag_wire::meta::{code, method};
use serde_json::{Map, Value, json};

#[derive(Debug, Clone)]
pub(crate) struct InputRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// Several questions at once, each under the key of its answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputRequests {
    pub(crate) wanted: Vec<(&'static str, InputRequest)>,
    /// True if a modern retry must return sealed state.
    pub(crate) sealed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct InputAnswers(pub(crate) Map<String, Value>);

impl InputRequest {
    pub(crate) fn elicit(message: &str, schema: &Value) -> Self {
        Self {
            method: method::ELICIT,
            params: json!({ "message": message, "requestedSchema": schema }),
        }
    }

    /// Asks for a form with a single required field.
    pub(crate) fn field(message: &str, name: &str, kind: &str) -> Self {
        let schema = json!({ "type": "object", "properties": { name: { "type": kind } }, "required": [name] });
        Self::elicit(message, &schema)
    }

    /// Asks the user to visit a page.
    pub(crate) fn visit(message: &str, url: &str) -> Self {
        Self {
            method: method::ELICIT,
            params: json!({ "mode": "url", "message": message, "url": url }),
        }
    }

    pub(crate) fn sample(prompt: &str) -> Self {
        let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
        Self {
            method: method::CREATE_MESSAGE,
            params: json!({ "messages": [message], "maxTokens": 100 }),
        }
    }

    pub(crate) fn roots() -> Self {
        Self {
            method: method::LIST_ROOTS,
            params: json!({}),
        }
    }

    /// Returns the capability that a client must have declared for this question.
    pub(crate) fn capability(&self) -> &'static str {
        match self.method {
            method::ELICIT => "elicitation",
            method::CREATE_MESSAGE => "sampling",
            _ => "roots",
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({ "method": self.method, "params": self.params })
    }
}

impl InputRequests {
    pub(crate) fn one(key: &'static str, input: InputRequest) -> Self {
        Self {
            wanted: vec![(key, input)],
            sealed: false,
        }
    }

    pub(crate) fn and(mut self, key: &'static str, input: InputRequest) -> Self {
        self.wanted.push((key, input));
        self
    }

    pub(crate) fn with_sealed_state(mut self) -> Self {
        self.sealed = true;
        self
    }
}

impl InputAnswers {
    pub(crate) fn get(&self, key: &str) -> &Value {
        self.0.get(key).unwrap_or(&Value::Null)
    }

    /// Returns the text at a JSON pointer below an answer; a dash if the client omitted it.
    pub(crate) fn text(&self, key: &str, pointer: &str) -> String {
        match self.get(key).pointer(pointer) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "-".to_owned(),
        }
    }
}

pub(crate) fn missing_capability(required: &Value) -> ErrorObject {
    ErrorObject::new(
        code::MISSING_CLIENT_CAPABILITY,
        format!("the client did not declare a required capability: {required}"),
    )
    .with_data(&json!({ "requiredCapabilities": required }))
}
