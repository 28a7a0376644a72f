//! Calls a tool with a form, through the same pipeline as a client's call.

use std::time::{Duration, Instant};

use axum::Form;
use axum::extract::{Path, State};
use axum::response::{Redirect, Response};
use kitbag_budget::estimate_result_tokens;
use kitbag_domain::Outcome;
use kitbag_gateway::admin::app::{CallOptions, ToolDetails};
use kitbag_wire::Raw;
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::fields::{Field, FilledForm, read_fields, to_arguments};
use super::result::render_result;
use super::tool::{missing_tool, reason_to_confirm, tool_page};
use super::tool_path;
use crate::cli::failure::CommandFailure;
use crate::pages::Pages;
use crate::pages::elements::{
    Tone, block_text, code_text, duration, link, number, outcome_pill, pill, text,
};
use crate::pages::layout::{Section, failure_page};
use crate::pages::notice::render_failure;
use crate::pages::visitor::{CSRF_FIELD, Visitor};

/// The fields of the form that are not arguments.
pub(super) const JSON_FIELD: &str = "json";
const CONFIRMED_FIELD: &str = "confirmed";

/// The program of such calls, as the audit names it.
const PROGRAM: &str = "kitbag ui";

/// A filled form and the outcome of its call.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    filled: FilledForm,
    /// All arguments as JSON, if they were given so.
    pub(super) json: Option<String>,
    outcome: Option<AttemptOutcome>,
}

#[derive(Debug)]
enum AttemptOutcome {
    /// The form has a mistake.
    Invalid(String),
    /// The person has to confirm the call.
    Unconfirmed {
        csrf: String,
        arguments: String,
        reason: &'static str,
    },
    Failed {
        failure: CommandFailure,
        took: Duration,
    },
    Done {
        result: Raw,
        took: Duration,
        tokens: usize,
    },
}

/// Somebody reloads the page of an answer after signing in again.
pub(super) async fn redirect(Path(name): Path<String>) -> Redirect {
    Redirect::to(&tool_path(&name))
}

pub(super) async fn call(
    State(pages): State<Pages>,
    visitor: Visitor,
    Path(name): Path<String>,
    Form(form): Form<Vec<(String, String)>>,
) -> Response {
    let tool = match pages.app.tool_details(&name).await {
        Ok(Some(tool)) => tool,
        Ok(None) => return missing_tool(&visitor, &name),
        Err(error) => return failure_page(&visitor, Section::Tools, "Tools", &error),
    };
    let filled: FilledForm = form.into_iter().collect();
    let mut attempt = Attempt {
        json: filled.get(JSON_FIELD).cloned(),
        filled,
        outcome: None,
    };
    let outcome = match attempt.arguments(&tool) {
        Err(problem) => AttemptOutcome::Invalid(problem),
        Ok(arguments) => match reason_to_confirm(tool.summary.write_class) {
            Some(reason) if !attempt.filled.contains_key(CONFIRMED_FIELD) => {
                AttemptOutcome::Unconfirmed {
                    csrf: visitor.csrf.to_string(),
                    arguments: Value::from(arguments).to_string(),
                    reason,
                }
            }
            _ => call_tool(&pages, &visitor, &name, arguments).await,
        },
    };
    attempt.outcome = Some(outcome);
    tool_page(&pages, &visitor, &tool, &attempt).await
}

async fn call_tool(
    pages: &Pages,
    visitor: &Visitor,
    name: &str,
    arguments: Map<String, Value>,
) -> AttemptOutcome {
    let (by, started) = ((visitor.caller.clone(), PROGRAM), Instant::now());
    let mut ignore_progress = |_| {};
    let options = CallOptions::with_progress(&mut ignore_progress);
    let called = pages.app.call_tool_of(by, name, arguments, options).await;
    let took = started.elapsed();
    match called {
        Ok(result) => AttemptOutcome::Done {
            tokens: estimate_result_tokens(result.get()),
            result,
            took,
        },
        Err(error) => AttemptOutcome::Failed {
            failure: CommandFailure::from_error(&error),
            took,
        },
    }
}

impl Attempt {
    /// A form that begins with these arguments.
    pub(super) fn with_json(json: &str) -> Self {
        Self {
            json: (!json.is_empty()).then(|| json.to_owned()),
            ..Self::default()
        }
    }

    /// True if the form shows arguments from elsewhere, and nothing was called yet.
    pub(super) fn begins_with_json(&self) -> bool {
        self.json.is_some() && self.outcome.is_none()
    }

    pub(super) fn arguments(&self, tool: &ToolDetails) -> Result<Map<String, Value>, String> {
        match self.json.as_deref().map(str::trim) {
            None => {
                let fields = read_fields(&tool.definition);
                to_arguments(&fields, &self.filled).map_err(|error| error.to_string())
            }
            Some("") => Ok(Map::new()),
            Some(json) => serde_json::from_str(json)
                .map_err(|error| format!("The arguments are not a JSON object: {error}")),
        }
    }

    /// Renders what became of the call.
    pub(super) fn outcome(&self, tool: &str) -> Markup {
        let Some(outcome) = &self.outcome else {
            return html! {};
        };
        html! {
            section #result aria-labelledby="outcome" {
                h2 #outcome { "Result" }
                (outcome.render(tool))
            }
        }
    }

    /// Returns the text with which a field begins.
    pub(super) fn text_of(&self, field: &Field) -> String {
        if let Some(text) = self.filled.get(&field.id) {
            return text.clone();
        }
        let json = self
            .json
            .as_deref()
            .and_then(|json| serde_json::from_str::<Value>(json).ok());
        let given = json.as_ref().and_then(|it| it.get(&field.name));
        let default = field
            .default
            .as_ref()
            .filter(|_| json.is_none() && self.outcome.is_none());
        given
            .or(default)
            .map(|value| field.format(value))
            .unwrap_or_default()
    }
}

impl AttemptOutcome {
    fn render(&self, tool: &str) -> Markup {
        match self {
            Self::Invalid(problem) => html! {
                div.notice.bad role="alert" { p { "Nothing was called. " (text(problem)) } }
            },
            Self::Unconfirmed {
                csrf,
                arguments,
                reason,
            } => html! {
                div.notice.warn role="alert" {
                    p { strong { "Call " (code_text(tool)) " with these arguments?" } " " (reason) }
                    (block_text(arguments))
                    form.row method="post" action={ (tool_path(tool)) "/call" } {
                        input type="hidden" name=(CSRF_FIELD) value=(csrf);
                        input type="hidden" name=(JSON_FIELD) value=(to_ascii(arguments));
                        input type="hidden" name=(CONFIRMED_FIELD) value="yes";
                        button.danger autofocus { "Call it" }
                        a href=(tool_path(tool)) { "Cancel" }
                    }
                }
            },
            Self::Failed { failure, took } => html! {
                p.row { (pill(Tone::Bad, "failed")) span.muted { (duration(*took)) } }
                div.notice.bad role="alert" { (render_failure(failure)) }
            },
            Self::Done {
                result,
                took,
                tokens,
            } => html! {
                @let value = serde_json::from_str(result.get()).unwrap_or(Value::Null);
                p.row {
                    @let is_error = value.get("isError") == Some(&Value::Bool(true));
                    (outcome_pill(if is_error { Outcome::ToolError } else { Outcome::Ok }))
                    span.muted { (duration(*took)) " · about " (number(*tokens as u64)) " tokens · "
                        (number(result.get().len() as u64)) " bytes" }
                    a href=(link("/ui/calls", &[("tool", tool)])) { "In the audit" }
                }
                (render_result(&value))
            },
        }
    }
}

/// Escapes the characters of a JSON text that a page would not keep.
pub(super) fn to_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            ascii.push_str(&format!("\\u{unit:04x}"));
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confirmed_arguments_are_those_that_were_given() {
        let given = "{\"a\":\"ü\u{202e}\u{1f600}\\n\"}";
        let sent = to_ascii(given);
        assert!(sent.is_ascii());
        let [given, sent] = [given, &sent].map(|it| serde_json::from_str::<Value>(it).unwrap());
        assert_eq!(given, sent);
    }
}
