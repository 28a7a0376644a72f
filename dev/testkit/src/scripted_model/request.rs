//! A parsed request for a chat completion.

use serde_json::Value;

pub(super) struct ModelRequest {
    pub(super) prompt: String,
    /// The names of the listed tools.
    pub(super) tools: Vec<String>,
    /// The calls so far, in order.
    pub(super) calls: Vec<PastCall>,
}

pub(super) struct PastCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) result: String,
}

impl ModelRequest {
    pub(super) fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).expect("a request is JSON");
        let messages = body["messages"].as_array().expect("a request has messages");
        let tools = body["tools"].as_array().into_iter().flatten();
        Self {
            prompt: text(&messages[0]["content"]),
            tools: tools.map(|it| text(&it["function"]["name"])).collect(),
            calls: calls(messages),
        }
    }

    pub(super) fn lists(&self, tool: &str) -> bool {
        self.tools.iter().any(|it| it == tool)
    }

    /// True if a result so far names the tool, in the form of clients or of programs.
    pub(super) fn has_found(&self, tool: &str) -> bool {
        let in_programs = tool.replacen("__", ".", 1);
        self.calls
            .iter()
            .any(|it| it.result.contains(tool) || it.result.contains(&in_programs))
    }

    pub(super) fn has_called(&self, tool: &str, arguments: &Value) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|it| it.tool == tool && it.arguments == *arguments)
    }
}

impl PastCall {
    /// True if this was a call of the tool with exactly these arguments, directly or by `call_api`.
    pub(super) fn is_of(&self, tool: &str, arguments: &Value) -> bool {
        let directly = self.tool == tool && self.arguments == *arguments;
        let through = self.tool == "call_api"
            && self.arguments["tool"] == tool
            && self.arguments["arguments"] == *arguments;
        directly || through
    }
}

/// Each answer of the model makes one call, and its result follows.
fn calls(messages: &[Value]) -> Vec<PastCall> {
    let pairs = messages.windows(2);
    let pairs = pairs.filter(|pair| pair[0]["tool_calls"].is_array());
    pairs
        .map(|pair| {
            let function = &pair[0]["tool_calls"][0]["function"];
            PastCall {
                tool: text(&function["name"]),
                arguments: serde_json::from_str(&text(&function["arguments"])).unwrap_or_default(),
                result: text(&pair[1]["content"]),
            }
        })
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
