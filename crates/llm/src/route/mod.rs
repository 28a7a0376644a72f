//! Chooses the model that answers a prompt, and reads its answer.
//!
//! `llm_invoke` names a tier, a provider or a model; `ai_invoke` follows the routing table of the day. The models,
//! prices and routes are dated data, which is handed in; so are the day, the record of each model and the function that
//! counts tokens.
//!
//! # Layout
//! - [`request`]: the arguments of both tools
//! - [`candidate`]: a model that may answer, and the arguments for its provider
//! - `named`: the model that a caller of `llm_invoke` means; `routed`: the models that a route leads to
//! - [`ranking`]: the order in which the models of a route are asked
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

/// The tools that a model carries out.
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

/// The facts by which a model is chosen.
#[derive(Clone, Copy)]
pub struct ModelKnowledge<'a> {
    pub day: DataOfDay<'a>,
    /// About how many tokens the prompt has.
    pub prompt_tokens: u64,
    /// Returns how a model of a provider has done.
    pub record: &'a (dyn Fn(&str, &str) -> ModelRecord + Send + Sync),
}

impl fmt::Debug for ModelKnowledge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelKnowledge")
            .field("prompt_tokens", &self.prompt_tokens)
            .finish_non_exhaustive()
    }
}

/// Returns the models that may answer a request, in the order in which they are to be asked; never none.
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

/// Returns the files of the providers that a tool may ask: those that its argument `provider` names, or all.
pub fn tool_providers(tool: &ToolFile) -> Vec<&'static Arc<ToolFile>> {
    let named = tool.actions.iter().find_map(|action| {
        let properties = action.input.get("properties")?;
        properties.get("provider")?.get("enum")?.as_array()
    });
    let all = kitbag_tool_files::model_providers().iter();
    all.filter(|file| named.is_none_or(|names| names.iter().any(|it| it == file.name.as_str())))
        .collect()
}
