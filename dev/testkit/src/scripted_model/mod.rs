//! Scripts in place of a model, behind OpenAI's Chat Completions API. They know how the tasks of a
//! suite are done, and choose the next call from each request only: from the listed tools and the
//! results so far.
//!
//! # Layout
//! - this file: the endpoint; `request`: a parsed request
//! - `task`: the tasks of a suite; `characters`: good, lazy and confused

mod characters;
mod request;
mod task;

use std::path::Path;

use axum::body::Body;
use axum::response::Response;
use serde_json::{Value, json};

use crate::vendor::{Received, ScriptedVendor};
use request::ModelRequest;
use task::ScriptedTasks;

/// How a script works on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Character {
    /// Searches with each step's own query, and calls correctly.
    Good,
    /// Never searches: it calls a listed tool, or answers at once.
    Lazy,
    /// Calls wrong names first, then with wrong arguments, and repeats its mistakes.
    Confused,
}

/// Ends with the test.
#[derive(Debug)]
pub struct ScriptedModel {
    character: Character,
    vendor: ScriptedVendor,
}

/// The next move of a script.
enum Move {
    Call { tool: String, arguments: Value },
    Say(String),
}

impl Character {
    pub const ALL: [Self; 3] = [Self::Good, Self::Lazy, Self::Confused];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Lazy => "lazy",
            Self::Confused => "confused",
        }
    }
}

impl ScriptedModel {
    /// Starts a script that knows the tasks of this suite.
    pub async fn start(character: Character, suite: &Path) -> Self {
        let tasks = ScriptedTasks::read(suite);
        let vendor = ScriptedVendor::start(move |received| answer(character, &tasks, received));
        Self {
            character,
            vendor: vendor.await,
        }
    }

    /// Returns the model in the form of `--model`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{}/v1#{}", self.vendor.url, self.character.name())
    }

    /// Returns the number of requests so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.vendor.requests()
    }
}

fn answer(character: Character, tasks: &ScriptedTasks, received: &Received) -> Response {
    let request = ModelRequest::read(&received.body);
    let task = tasks.find(&request.prompt);
    let message = match character.next(&task, &request) {
        Move::Say(words) => json!({ "role": "assistant", "content": words }),
        Move::Call { tool, arguments } => {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let id = format!("call_{}", request.calls.len());
            let call = json!({ "id": id, "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
    };
    let body = json!({ "choices": [{ "index": 0, "message": message }] });
    Response::new(Body::from(body.to_string()))
}
