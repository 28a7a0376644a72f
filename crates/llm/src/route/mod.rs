//! Chooses the model that answers a prompt, and parses its answer.
//!
//! `llm_invoke` names a tier, a provider or a model; `ai_invoke` follows the current routing table.
//! The caller passes the models, prices and routes, which are dated data, and the day, the record
//! of each model and the function that counts tokens.
//!
//! # Layout
//! - [`request`]: the arguments of both tools
//! - [`candidate`]: a model that may answer, and the arguments for its provider
//! - `named_model`: the model named by a caller of `llm_invoke`; `routing_table`: the models of a
//!   route
//! - [`ranking`]: the order of a route's models
//! - [`answer`]: the text, the usage and the cost of an answer
//! - [`error`]: the reasons why no model is asked

pub mod answer;
pub mod candidate;
pub mod error;
mod named_model;
pub mod ranking;
pub mod request;
mod routing_table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use kitbag_tool_files::ToolFile;
use kitbag_tool_files::dated::DataOfDay;
use kitbag_tool_spec::ToolId;

pub use answer::{PromptAnswer, SkippedModel, TokenUsage};
pub use candidate::{ChosenBy, ModelCandidate};
pub use error::PromptError;
pub use ranking::ModelRecord;
pub use request::{LlmTier, ModelPrompt, PromptRequest};

use request::ModelSelection;

/// The tools that send a prompt to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelTool {
    LlmInvoke,
    AiInvoke,
}

impl ModelTool {
    const ALL: [Self; 2] = [Self::LlmInvoke, Self::AiInvoke];

    pub fn from_id(id: &ToolId) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|tool| tool.tool_id() == id.as_str())
    }

    fn tool_id(self) -> &'static str {
        match self {
            Self::LlmInvoke => "llm-invoke",
            Self::AiInvoke => "ai-invoke",
        }
    }
}

/// The facts for choosing a model.
#[derive(Clone, Copy)]
pub struct ModelKnowledge<'a> {
    pub day: DataOfDay<'a>,
    /// The estimated tokens of the prompt.
    pub prompt_tokens: u64,
    /// Returns the record of a provider's model.
    pub record: &'a (dyn Fn(&str, &str) -> ModelRecord + Send + Sync),
}

impl fmt::Debug for ModelKnowledge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelKnowledge")
            .field("prompt_tokens", &self.prompt_tokens)
            .finish_non_exhaustive()
    }
}

/// Returns the models that may answer a request, in the order to ask them; never empty.
pub fn choose_candidates(
    request: &PromptRequest,
    known: &ModelKnowledge<'_>,
) -> Result<Vec<ModelCandidate>, PromptError> {
    let found = match &request.wish {
        ModelSelection::Named(wish) => vec![named_model::choose_named(wish, known)?],
        ModelSelection::Routed(wish) => routing_table::choose_routed(wish, &request.prompt, known)?,
    };
    let (fitting, too_short): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|candidate| candidate.fits_context(known.prompt_tokens));
    match too_short.first() {
        Some(first) if fitting.is_empty() => Err(PromptError::too_long(first, known)),
        _ => Ok(fitting),
    }
}

/// Returns the tool files of the providers that a tool may ask: the ones in its argument
/// `provider`, or all.
pub fn tool_providers(tool: &ToolFile) -> Vec<&'static Arc<ToolFile>> {
    let named = tool.actions.iter().find_map(|action| {
        let properties = action.input.get("properties")?;
        properties.get("provider")?.get("enum")?.as_array()
    });
    let all = kitbag_tool_files::model_providers().iter();
    all.filter(|file| named.is_none_or(|names| names.iter().any(|it| it == file.name.as_str())))
        .collect()
}
