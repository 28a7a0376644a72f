//! The arguments of both tools, as types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::route::{ModelTool, PromptError};

/// A prompt, and the requested model.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptRequest {
    pub prompt: ModelPrompt,
    pub(crate) wish: ModelSelection,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelPrompt {
    pub prompt: String,
    pub system: Option<String>,
    pub max_tokens: Option<u64>,
    pub temperature: Option<Number>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelSelection {
    Named(NamedModel),
    Routed(RouteCriteria),
}

/// The model named by a caller of `llm_invoke`, as far as it is named.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NamedModel {
    pub(crate) tier: Option<LlmTier>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

/// What a caller of `ai_invoke` says about the prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RouteCriteria {
    pub(crate) intent: Option<String>,
    pub(crate) quality: Option<String>,
    pub(crate) needs_web: bool,
    pub(crate) context_tokens: Option<u64>,
}

/// The tiers of `llm_invoke`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LlmTier {
    #[default]
    Bulk,
    Standard,
    /// The caller names provider and model.
    Frontier,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LlmInvokeArguments {
    prompt: String,
    system: Option<String>,
    tier: Option<LlmTier>,
    provider: Option<String>,
    model: Option<String>,
    max_tokens: Option<u64>,
    temperature: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AiInvokeArguments {
    prompt: String,
    system: Option<String>,
    intent: Option<String>,
    quality: Option<String>,
    #[serde(default)]
    needs_web: bool,
    context_tokens: Option<u64>,
    max_tokens: Option<u64>,
}

impl PromptRequest {
    /// Parses arguments that match the schema of the tool.
    pub fn from_arguments(
        tool: ModelTool,
        arguments: Map<String, Value>,
    ) -> Result<Self, PromptError> {
        match tool {
            ModelTool::LlmInvoke => {
                parse_arguments::<LlmInvokeArguments>(arguments).map(Self::from)
            }
            ModelTool::AiInvoke => parse_arguments::<AiInvokeArguments>(arguments).map(Self::from),
        }
    }
}

fn parse_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, PromptError> {
    let read = serde_json::from_value(Value::Object(arguments));
    read.map_err(|error| PromptError::Arguments {
        reason: error.to_string(),
    })
}

impl ModelPrompt {
    /// Counts the tokens of everything that is sent.
    pub fn tokens(&self, count: fn(&str) -> usize) -> u64 {
        let system = self.system.as_deref().map_or(0, count);
        (count(&self.prompt) + system) as u64
    }
}

impl From<LlmInvokeArguments> for PromptRequest {
    fn from(given: LlmInvokeArguments) -> Self {
        Self {
            prompt: ModelPrompt {
                prompt: given.prompt,
                system: given.system,
                max_tokens: given.max_tokens,
                temperature: given.temperature,
            },
            wish: ModelSelection::Named(NamedModel {
                tier: given.tier,
                provider: given.provider,
                model: given.model,
            }),
        }
    }
}

impl From<AiInvokeArguments> for PromptRequest {
    fn from(given: AiInvokeArguments) -> Self {
        Self {
            prompt: ModelPrompt {
                prompt: given.prompt,
                system: given.system,
                max_tokens: given.max_tokens,
                temperature: None,
            },
            wish: ModelSelection::Routed(RouteCriteria {
                intent: given.intent,
                quality: given.quality,
                needs_web: given.needs_web,
                context_tokens: given.context_tokens,
            }),
        }
    }
}

impl LlmTier {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Standard => "standard",
            Self::Frontier => "frontier",
        }
    }
}
