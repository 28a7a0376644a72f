//! The reasons why no model is asked, or none has answered: an error code, a message, and a remedy.

use jiff::civil::Date;
use kitbag_domain::{Remedy, near_names};

use crate::route::{LlmTier, ModelCandidate, ModelKnowledge};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("invalid arguments: {reason}")]
    Arguments { reason: String },
    #[error("the tier `frontier` needs `provider` and `model`")]
    FrontierIncomplete,
    #[error("`model` is missing, and no model of {provider} is known")]
    ModelMissing { provider: String },
    #[error("several providers have a model `{model}`")]
    AmbiguousProvider {
        model: String,
        providers: Vec<String>,
    },
    #[error("{}", describe_missing_model(provider.as_deref(), model, *ended))]
    NoSuchModel {
        /// `None` if the caller named none.
        provider: Option<String>,
        model: String,
        /// The day on which the model was retired, if known.
        ended: Option<Date>,
        near: Vec<String>,
        /// The known models of the provider, or of all.
        known: Vec<String>,
    },
    #[error("no model is set for the tier `{}` today", tier.as_str())]
    NoTier { tier: LlmTier },
    #[error("no current route matches this request")]
    NoRoute,
    #[error("the data names an unknown provider `{provider}`")]
    UnknownProvider { provider: String },
    #[error("the prompt has about {tokens} tokens, but `{model}` of {provider} accepts {most}")]
    TooLong {
        provider: String,
        model: String,
        tokens: u64,
        most: u64,
    },
}

impl PromptError {
    /// Returns the error code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Arguments { .. }
            | Self::FrontierIncomplete
            | Self::ModelMissing { .. }
            | Self::AmbiguousProvider { .. } => "ARGUMENTS_INVALID",
            Self::NoSuchModel { .. } => "NO_SUCH_MODEL",
            Self::NoTier { .. } | Self::NoRoute | Self::UnknownProvider { .. } => "CONFIG_INVALID",
            Self::TooLong { .. } => "PROMPT_TOO_LONG",
        }
    }

    pub(crate) fn no_such_model(
        provider: Option<&str>,
        model: &str,
        known: &ModelKnowledge<'_>,
    ) -> Self {
        let there = match provider {
            Some(provider) => known.day.models_of(provider),
            None => known.day.models().collect(),
        };
        let mut names: Vec<&str> = there.iter().map(|row| row.id.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        Self::NoSuchModel {
            provider: provider.map(str::to_owned),
            model: model.to_owned(),
            ended: provider.and_then(|provider| known.day.model_ended(provider, model)),
            near: near_names(model, names.iter().copied())
                .into_iter()
                .map(str::to_owned)
                .collect(),
            known: names.into_iter().map(str::to_owned).collect(),
        }
    }

    pub(crate) fn too_long(candidate: &ModelCandidate, known: &ModelKnowledge<'_>) -> Self {
        Self::TooLong {
            provider: candidate.provider.clone(),
            model: candidate.model.clone(),
            tokens: known.prompt_tokens,
            most: candidate.context_tokens().unwrap_or_default(),
        }
    }
}

impl Remedy for PromptError {
    fn remedy(&self) -> Option<String> {
        Some(match self {
            Self::Arguments { .. } => "read the schema of the tool, and call it again".to_owned(),
            Self::FrontierIncomplete => {
                "set both, or omit the tier to use an inexpensive model".to_owned()
            }
            Self::ModelMissing { provider } => {
                format!("name the model as {provider} spells it")
            }
            Self::AmbiguousProvider { providers, .. } => {
                format!("name one of these as `provider`: {}", providers.join(", "))
            }
            Self::NoSuchModel {
                ended, near, known, ..
            } => model_advice(ended.is_some(), near, known),
            Self::NoTier { .. } | Self::NoRoute | Self::UnknownProvider { .. } => {
                "ask the operator to correct the file named by `data` under [catalog]".to_owned()
            }
            Self::TooLong { .. } => {
                "shorten the prompt, or choose a model that accepts more".to_owned()
            }
        })
    }
}

fn describe_missing_model(provider: Option<&str>, model: &str, ended: Option<Date>) -> String {
    match (provider, ended) {
        (Some(provider), Some(ended)) => {
            format!("the model `{model}` of {provider} was retired on {ended}")
        }
        (Some(provider), None) => format!("{provider} has no known model `{model}`"),
        (None, _) => format!("no known provider has a model `{model}`"),
    }
}

fn model_advice(ended: bool, near: &[String], known: &[String]) -> String {
    let mut advice = Vec::new();
    if let Some(first) = near.first() {
        advice.push(format!("did you mean `{first}`?"));
    }
    if !known.is_empty() {
        advice.push(format!("known today: {}", known.join(", ")));
    }
    if !ended {
        advice.push(
            "for a newer one, use the tier `frontier` with `provider` and `model`".to_owned(),
        );
    }
    advice.join("; ")
}
