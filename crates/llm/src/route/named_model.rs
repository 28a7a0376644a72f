//! The model named by a caller of `llm_invoke`: by a tier, a provider, a model, or two of them.

use kitbag_tool_files::dated::ModelRow;

use crate::route::request::NamedModel;
use crate::route::{ChosenBy, LlmTier, ModelCandidate, ModelKnowledge, PromptError};

/// A provider and a model that the caller names take precedence over the tier.
pub(crate) fn choose_named(
    wish: &NamedModel,
    known: &ModelKnowledge<'_>,
) -> Result<ModelCandidate, PromptError> {
    let (provider, model) = (wish.provider.as_deref(), wish.model.as_deref());
    match (wish.tier, provider, model) {
        (Some(LlmTier::Frontier), Some(provider), Some(model)) => {
            frontier_model(provider, model, known)
        }
        (Some(LlmTier::Frontier), _, _) => Err(PromptError::FrontierIncomplete),
        (tier, None, None) => tier_model(tier.unwrap_or_default(), known),
        (_, Some(provider), Some(model)) => exact_model(provider, model, known),
        (tier, Some(provider), None) => provider_model(tier, provider, known),
        (_, None, Some(model)) => unique_model(model, known),
    }
}

/// A model newer than the data is passed through; a retired one is not.
fn frontier_model(
    provider: &str,
    model: &str,
    known: &ModelKnowledge<'_>,
) -> Result<ModelCandidate, PromptError> {
    if known.day.model_ended(provider, model).is_some() {
        return Err(PromptError::no_such_model(Some(provider), model, known));
    }
    let chosen_by = ChosenBy::Tier(LlmTier::Frontier);
    let found = ModelCandidate::new(known.day, provider, model, chosen_by);
    let why = match found.is_known() {
        true => "the caller named provider and model",
        false => "the caller named provider and model; its price and limits are not known",
    };
    Ok(found.with_reason(why))
}

fn tier_model(tier: LlmTier, known: &ModelKnowledge<'_>) -> Result<ModelCandidate, PromptError> {
    let row = known.day.tier(tier.as_str());
    let row = row.ok_or(PromptError::NoTier { tier })?;
    let chosen_by = ChosenBy::Tier(tier);
    let found = ModelCandidate::new(known.day, &row.provider, &row.model, chosen_by);
    Ok(found.with_reason(format!("the model of the tier `{}` today", tier.as_str())))
}

fn exact_model(
    provider: &str,
    model: &str,
    known: &ModelKnowledge<'_>,
) -> Result<ModelCandidate, PromptError> {
    let found = ModelCandidate::new(known.day, provider, model, ChosenBy::Caller);
    // If no models of a provider are known, any name is accepted.
    let may_exist = found.is_known() || known.day.models_of(provider).is_empty();
    match may_exist {
        true => Ok(found.with_reason("the caller named provider and model")),
        false => Err(PromptError::no_such_model(Some(provider), model, known)),
    }
}

/// Returns the provider's model in the requested tier, or in any tier, or else its cheapest one.
fn provider_model(
    tier: Option<LlmTier>,
    provider: &str,
    known: &ModelKnowledge<'_>,
) -> Result<ModelCandidate, PromptError> {
    let tiers = tier.into_iter().chain([LlmTier::Bulk, LlmTier::Standard]);
    let mut in_tiers = tiers.filter_map(|tier| tier_model(tier, known).ok());
    if let Some(found) = in_tiers.find(|it| it.provider == provider) {
        return Ok(found);
    }
    let models = known.day.models_of(provider).into_iter();
    let priced = models.filter_map(|row| Some((token_price(row)?, row)));
    let Some((_, cheapest)) = priced.min_by_key(|(price, _)| *price) else {
        return Err(PromptError::ModelMissing {
            provider: provider.to_owned(),
        });
    };
    let found = ModelCandidate::new(known.day, provider, &cheapest.id, ChosenBy::Caller);
    Ok(found.with_reason(format!("the least expensive model of {provider} today")))
}

fn token_price(row: &ModelRow) -> Option<i64> {
    let (input, output) = (
        row.per_million_input_tokens?,
        row.per_million_output_tokens?,
    );
    Some(input.0.saturating_add(output.0))
}

fn unique_model(model: &str, known: &ModelKnowledge<'_>) -> Result<ModelCandidate, PromptError> {
    match known.day.providers_of(model).as_slice() {
        [] => Err(PromptError::no_such_model(None, model, known)),
        [provider] => exact_model(provider, model, known),
        several => Err(PromptError::AmbiguousProvider {
            model: model.to_owned(),
            providers: several.iter().map(|it| (*it).to_owned()).collect(),
        }),
    }
}
