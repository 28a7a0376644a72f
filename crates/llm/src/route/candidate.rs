//! A model that may answer, and the arguments for its provider.

use kitbag_domain::NanoUsd;
use kitbag_tool_files::dated::{DataOfDay, ModelRow, RouteRow};
use serde_json::{Map, Value, json};

use crate::route::{LlmTier, ModelPrompt, TokenUsage};

#[derive(Debug, Clone, PartialEq)]
pub struct ModelCandidate {
    pub provider: String,
    /// The provider's current name for the model.
    pub model: String,
    /// The action of the provider's tool file that asks it.
    pub action: String,
    pub chosen_by: ChosenBy,
    /// The reason for choosing this model, in a few words.
    pub why: String,
    /// `None` for a model that the data does not contain.
    pub(crate) row: Option<ModelRow>,
}

/// The part of the data, or of the request, that led to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenBy {
    Tier(LlmTier),
    Route(String),
    Caller,
}

impl ModelCandidate {
    /// Creates a candidate for a model by its current name or an old one.
    pub(crate) fn new(day: DataOfDay<'_>, provider: &str, name: &str, chosen_by: ChosenBy) -> Self {
        let alias = day.alias(provider, name);
        let row = day.model(provider, name);
        let of_row = row.map(|row| row.id.as_str());
        let of_alias = alias.map(|alias| alias.model.as_str());
        Self {
            provider: provider.to_owned(),
            model: of_row.or(of_alias).unwrap_or(name).to_owned(),
            action: RouteRow::ACTION.to_owned(),
            chosen_by,
            why: String::new(),
            row: row.cloned(),
        }
    }

    pub(crate) fn with_reason(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// True if the data contains the model, so that its answers can be priced.
    pub fn is_known(&self) -> bool {
        self.row.is_some()
    }

    /// True if a prompt with this many tokens fits, as far as the model's limit is known.
    pub(crate) fn fits_context(&self, tokens: u64) -> bool {
        self.context_tokens().is_none_or(|most| tokens <= most)
    }

    pub(crate) fn context_tokens(&self) -> Option<u64> {
        self.row.as_ref()?.context_tokens
    }

    /// Returns the arguments of the provider's action. The token limit is capped at the model's
    /// maximum, because providers reject a larger one.
    pub fn arguments(&self, prompt: &ModelPrompt) -> Map<String, Value> {
        let most = self.row.as_ref().and_then(|row| row.max_output_tokens);
        let max_tokens = prompt.max_tokens;
        let max_tokens = max_tokens.map(|wanted| most.map_or(wanted, |most| wanted.min(most)));
        let given = [
            ("model", Some(json!(self.model))),
            ("prompt", Some(json!(prompt.prompt))),
            ("system", prompt.system.as_ref().map(|it| json!(it))),
            ("max_tokens", max_tokens.map(|it| json!(it))),
            (
                "temperature",
                prompt.temperature.as_ref().map(|it| json!(it)),
            ),
        ];
        let given = given.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    /// Returns the price of this usage, if the data has it.
    pub fn answer_cost(&self, usage: TokenUsage) -> Option<NanoUsd> {
        let row = self.row.as_ref()?;
        let input = token_cost(row.per_million_input_tokens?, usage.input);
        Some(NanoUsd(input.saturating_add(token_cost(
            row.per_million_output_tokens?,
            usage.output,
        ))))
    }
}

fn token_cost(per_million: NanoUsd, tokens: u64) -> i64 {
    let nano = i128::from(per_million.0) * i128::from(tokens) / 1_000_000;
    i64::try_from(nano).unwrap_or(i64::MAX)
}
