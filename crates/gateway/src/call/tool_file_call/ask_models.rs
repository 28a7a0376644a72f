//! Asks a language model, with the credential of the caller's tenant.
//!
//! The request goes to the first available model. The next one is tried only if the previous one
//! has certainly not processed the prompt: it was not contacted, or rejected the prompt at once.

use std::sync::Arc;

use http::HeaderMap;
use kitbag_llm::route::{
    ModelCandidate, ModelKnowledge, ModelRecord, ModelTool, PromptAnswer, PromptError,
    PromptRequest, SkippedModel, choose_candidates,
};
use kitbag_wire::raw;
use serde_json::{Map, Value, json};

use super::attempt::{FailedAttempt, ModelAttempt};
use super::failure::ToolFileFailure;
use super::run_action::{ActionOutcome, text_content};
use crate::catalog::tool_files::{ModelProviders, model_subject};
use crate::index::priors::MeasuredPriors;
use crate::state::clock::today;
use crate::turn::Turn;

pub(super) async fn ask_models(
    turn: &Turn,
    tool: ModelTool,
    providers: &ModelProviders,
    arguments: Map<String, Value>,
    trace: &HeaderMap,
) -> Result<ActionOutcome, ToolFileFailure> {
    let request = PromptRequest::from_arguments(tool, arguments)?;
    let data = turn.gateway.platform.dated_data().await?;
    let measured = turn.gateway.services.index.measured_priors();
    let known = ModelKnowledge {
        day: data.at(today()),
        prompt_tokens: request.prompt.tokens(kitbag_budget::estimate_tokens),
        record: &|provider, model| model_record(&measured, provider, model),
    };
    let candidates = choose_candidates(&request, &known)?;
    let attempt = ModelAttempt {
        turn,
        providers,
        day: known.day,
        prompt: &request.prompt,
        prompt_tokens: known.prompt_tokens,
        trace,
    };
    ask_in_order(&attempt, &candidates).await
}

fn model_record(measured: &Arc<MeasuredPriors>, provider: &str, model: &str) -> ModelRecord {
    let (success_rate, tokens_per_answer) = measured.model_record(&model_subject(provider, model));
    ModelRecord {
        success_rate,
        tokens_per_answer,
    }
}

/// Tries one model after the other until one has processed the prompt.
async fn ask_in_order(
    attempt: &ModelAttempt<'_>,
    candidates: &[ModelCandidate],
) -> Result<ActionOutcome, ToolFileFailure> {
    let mut passed: Vec<SkippedModel> = Vec::new();
    let mut failures: Vec<ToolFileFailure> = Vec::new();
    for (position, candidate) in candidates.iter().enumerate() {
        let is_last = position + 1 == candidates.len();
        match attempt.ask_model(candidate, is_last).await {
            Ok(answer) => return Ok(to_outcome(candidate, &answer, &passed)),
            Err(FailedAttempt::Untouched(failure)) => {
                passed.push(SkippedModel::new(candidate, failure.message.clone()));
                failures.push(failure);
            }
            Err(FailedAttempt::Ended(failure)) => return Err(failure),
        }
    }
    Err(most_informative(failures))
}

/// A failure of a provider that the tenant uses is more informative than a missing credential.
fn most_informative(mut failures: Vec<ToolFileFailure>) -> ToolFileFailure {
    let informative = failures.iter().position(|it| it.code != "CONFIG_MISSING");
    match failures.is_empty() {
        true => PromptError::NoRoute.into(),
        false => failures.swap_remove(informative.unwrap_or_default()),
    }
}

/// Puts the model's text first, and the facts about the answer second.
fn to_outcome(
    candidate: &ModelCandidate,
    answer: &PromptAnswer,
    passed: &[SkippedModel],
) -> ActionOutcome {
    let about = text_content(&answer.to_metadata(candidate, passed).to_string());
    let (text, is_error) = match &answer.text {
        Some(text) => (text.clone(), false),
        None => (no_text_failure(candidate, answer).to_text(), true),
    };
    ActionOutcome {
        result: raw(&json!({ "content": [text_content(&text), about], "isError": is_error })),
        price: answer.cost,
    }
}

fn no_text_failure(candidate: &ModelCandidate, answer: &PromptAnswer) -> ToolFileFailure {
    let ModelCandidate {
        provider, model, ..
    } = candidate;
    let reason = answer.finish_reason.as_ref();
    let reason = reason.map_or_else(String::new, |it| format!("; its reason is `{it}`"));
    ToolFileFailure {
        code: "NO_TEXT",
        message: format!("`{model}` of {provider} returned no text{reason}"),
        advice: Some(
            "raise max_tokens if the limit was reached, or rephrase the prompt".to_owned(),
        ),
    }
}
