//! The text, the usage and the cost of an answer, extracted by the paths in the data.

use kitbag_domain::NanoUsd;
use kitbag_tool_files::dated::ProviderRow;
use serde_json::{Map, Value, json};

use crate::route::{ChosenBy, ModelCandidate};

/// The answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptAnswer {
    /// `None` if the model answered without text.
    pub text: Option<String>,
    /// The provider's own finish reason.
    pub finish_reason: Option<String>,
    pub usage: TokenUsage,
    /// `None` if the price of the model is not known.
    pub cost: Option<NanoUsd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    /// True if the provider did not count, or not everything.
    pub estimated: bool,
}

/// A model that came first but could not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedModel {
    pub provider: String,
    pub model: String,
    pub reason: String,
}

impl PromptAnswer {
    /// Parses an answer to a prompt with about this many tokens.
    pub fn from_response(
        candidate: &ModelCandidate,
        places: &ProviderRow,
        answer: &Value,
        prompt_tokens: u64,
        count: fn(&str) -> usize,
    ) -> Self {
        let text = places.text_of(answer);
        let text = text.filter(|text| !text.trim().is_empty());
        let (input, output) = places.usage_of(answer);
        let usage = TokenUsage {
            estimated: input.is_none() || output.is_none(),
            input: input.unwrap_or(prompt_tokens),
            output: output.unwrap_or_else(|| text.as_deref().map_or(0, count) as u64),
        };
        Self {
            finish_reason: places.finish_reason_of(answer),
            cost: candidate.answer_cost(usage),
            usage,
            text,
        }
    }

    /// Returns everything about the answer except its text.
    pub fn to_metadata(&self, candidate: &ModelCandidate, passed: &[SkippedModel]) -> Value {
        let mut about = Map::new();
        about.insert("provider".to_owned(), json!(candidate.provider));
        about.insert("model".to_owned(), json!(candidate.model));
        let chosen_by = match &candidate.chosen_by {
            ChosenBy::Tier(tier) => Some(("tier", json!(tier))),
            ChosenBy::Route(name) => Some(("route", json!(name))),
            ChosenBy::Caller => None,
        };
        about.extend(chosen_by.map(|(key, value)| (key.to_owned(), value)));
        about.insert("why".to_owned(), json!(candidate.why));
        if !passed.is_empty() {
            let passed: Vec<Value> = passed.iter().map(SkippedModel::to_json).collect();
            about.insert("instead_of".to_owned(), json!(passed));
        }
        about.insert("usage".to_owned(), self.usage.to_json());
        about.insert("cost_usd".to_owned(), json!(self.cost.map(NanoUsd::to_usd)));
        let finish_reason = self.finish_reason.as_ref();
        about.extend(finish_reason.map(|it| ("finish_reason".to_owned(), json!(it))));
        Value::Object(about)
    }
}

impl TokenUsage {
    fn to_json(self) -> Value {
        let mut usage = json!({ "input_tokens": self.input, "output_tokens": self.output });
        if self.estimated {
            usage["estimated"] = json!(true);
        }
        usage
    }
}

impl SkippedModel {
    pub fn new(candidate: &ModelCandidate, reason: String) -> Self {
        Self {
            provider: candidate.provider.clone(),
            model: candidate.model.clone(),
            reason,
        }
    }

    fn to_json(&self) -> Value {
        json!({ "provider": self.provider, "model": self.model, "reason": self.reason })
    }
}
