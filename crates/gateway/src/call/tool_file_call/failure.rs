//! The reason why a tool-file call failed: a code for programs, a message, and advice.

use kitbag_apis::{ActionAnswer, ActionError, AnswerPart};
use kitbag_domain::Remedy;
use kitbag_llm::route::PromptError;
use kitbag_platform::PlatformError;
use kitbag_wire::{Raw, raw};
use serde_json::json;

use super::run_action::text_content;

pub(super) struct ToolFileFailure {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) advice: Option<String>,
}

impl ToolFileFailure {
    fn new(code: &'static str, error: &(impl Remedy + ToString)) -> Self {
        Self {
            code,
            message: error.to_string(),
            advice: error.remedy(),
        }
    }

    /// The reason goes to the operator's log; a caller could do nothing about it.
    pub(super) fn from_store_error(error: &kitbag_store::Error) -> Self {
        tracing::error!(%error, "failed to read a credential");
        Self {
            code: "CREDENTIAL_UNREADABLE",
            message: "the credential for this tool could not be read".to_owned(),
            advice: Some("the gateway's log contains the reason".to_owned()),
        }
    }

    /// Converts a provider's error response.
    pub(super) fn from_provider_answer(provider: &str, answer: &ActionAnswer) -> Self {
        let text = answer.content.iter().find_map(|part| match part {
            AnswerPart::Text(text) => Some(text.as_str()),
            AnswerPart::Json(_) | AnswerPart::Image { .. } => None,
        });
        Self {
            code: match answer.status {
                401 | 403 => "CREDENTIAL_REFUSED",
                429 => "RATE_LIMITED",
                _ => "PROVIDER_ERROR",
            },
            message: format!("`{provider}` answered {}", text.unwrap_or_default()),
            advice: answer.advice.clone(),
        }
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("{}: {}", self.code, self.message);
        if let Some(advice) = &self.advice {
            text.push_str(&format!("\n{advice}"));
        }
        text
    }

    pub(super) fn to_tool_result(&self) -> Raw {
        raw(&json!({ "content": [text_content(&self.to_text())], "isError": true }))
    }
}

impl From<ActionError> for ToolFileFailure {
    fn from(error: ActionError) -> Self {
        Self::new(error.code(), &error)
    }
}

impl From<PlatformError> for ToolFileFailure {
    fn from(error: PlatformError) -> Self {
        Self::new(error.code(), &error)
    }
}

impl From<PromptError> for ToolFileFailure {
    fn from(error: PromptError) -> Self {
        Self::new(error.code(), &error)
    }
}
