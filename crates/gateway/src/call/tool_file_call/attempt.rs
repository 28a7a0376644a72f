//! One attempt to ask a model, and its effect on the model's priors.
//!
//! Answers and the provider's own failures leave an audit row, from which the model's priors are
//! computed. A rejected credential or an exhausted quota leaves none: it concerns one tenant, and
//! other tenants use the same model.

use std::time::{Duration, Instant};

use http::HeaderMap;
use kitbag_apis::{ActionAnswer, ActionError, ActionFault, AnswerPart, Credential, RequestFault};
use kitbag_domain::{CallCost, Observation, Outcome};
use kitbag_llm::route::{ModelCandidate, ModelPrompt, PromptAnswer, PromptError};
use kitbag_tool_files::dated::{DataOfDay, ProviderRow};
use kitbag_tool_spec::ActionSpec;
use serde_json::Value;

use super::failure::ToolFileFailure;
use crate::catalog::tool_files::{ModelProvider, ModelProviders, model_subject};
use crate::state::clock::now;
use crate::turn::Turn;

/// A provider with a longer rate-limit wait is skipped if another one is available.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Everything that all attempts have in common.
pub(super) struct ModelAttempt<'a> {
    pub(super) turn: &'a Turn,
    pub(super) providers: &'a ModelProviders,
    pub(super) day: DataOfDay<'a>,
    pub(super) prompt: &'a ModelPrompt,
    pub(super) prompt_tokens: u64,
    pub(super) trace: &'a HeaderMap,
}

pub(super) enum FailedAttempt {
    /// The provider has certainly not processed the prompt; another one may be tried.
    Untouched(ToolFileFailure),
    Ended(ToolFileFailure),
}

/// A provider, the request for one of its models, and the paths of the fields in its answer.
struct ModelEndpoint<'a> {
    provider: &'a ModelProvider,
    request: &'a ActionSpec,
    row: &'a ProviderRow,
}

impl ModelAttempt<'_> {
    pub(super) async fn ask_model(
        &self,
        candidate: &ModelCandidate,
        is_last: bool,
    ) -> Result<PromptAnswer, FailedAttempt> {
        let found = self
            .find_provider(candidate)
            .ok_or_else(|| unknown_provider(candidate))?;
        let credential = self.find_credential(found.provider).await?;
        if !is_last {
            found.provider.api.check_pace(&credential, LONGEST_WAIT)?;
        }
        let began = Instant::now();
        let answer = self.send_request(candidate, &found, &credential).await;
        if let Some(outcome) = provider_outcome(&answer) {
            self.record_attempt(candidate, outcome, None, began);
        }
        let answer = answer?;
        if answer.is_error {
            return Err(FailedAttempt::from_answer(&candidate.provider, &answer));
        }
        let answer = self.parse_answer(candidate, &found, &answer);
        if answer.text.is_some() {
            self.record_attempt(candidate, Outcome::Ok, Some(answer.usage.output), began);
        }
        Ok(answer)
    }

    fn find_provider(&self, candidate: &ModelCandidate) -> Option<ModelEndpoint<'_>> {
        let provider = self.providers.get(&candidate.provider)?;
        Some(ModelEndpoint {
            request: provider.request(&candidate.action)?,
            row: self.day.provider(&candidate.provider)?,
            provider,
        })
    }

    async fn find_credential(
        &self,
        provider: &ModelProvider,
    ) -> Result<Credential, ToolFileFailure> {
        let credentials = &self.turn.gateway.services.credentials;
        let tenant = &self.turn.caller().tenant;
        let credential = credentials
            .find_credential(tenant, provider.credential())
            .await;
        credential.map_err(|error| ToolFileFailure::from_store_error(&error))
    }

    async fn send_request(
        &self,
        candidate: &ModelCandidate,
        found: &ModelEndpoint<'_>,
        credential: &Credential,
    ) -> Result<ActionAnswer, ActionError> {
        let arguments = candidate.arguments(self.prompt);
        let tokens = &self.turn.gateway.services.credentials.tokens;
        let api = &found.provider.api;
        api.call(found.request, &arguments, credential, tokens, self.trace)
            .await
    }

    fn parse_answer(
        &self,
        candidate: &ModelCandidate,
        found: &ModelEndpoint<'_>,
        answer: &ActionAnswer,
    ) -> PromptAnswer {
        let (answer, count) = (answer_json(answer), kitbag_budget::estimate_tokens);
        PromptAnswer::from_response(candidate, found.row, &answer, self.prompt_tokens, count)
    }

    /// Writes an audit row for the model, if the catalog data lists it: callers choose any other
    /// name.
    fn record_attempt(
        &self,
        candidate: &ModelCandidate,
        outcome: Outcome,
        tokens: Option<u64>,
        began: Instant,
    ) {
        if !candidate.is_known() {
            return;
        }
        let turn = self.turn;
        turn.gateway.services.audit.record_call(Observation {
            at: now(),
            caller: turn.caller().clone(),
            client: turn.client.name.clone(),
            origin: turn.origin.clone(),
            purpose: turn.purpose,
            capability: model_subject(&candidate.provider, &candidate.model).into_shortened(),
            outcome,
            latency: began.elapsed(),
            // The price is in the call's own row.
            cost: CallCost {
                tokens,
                price: None,
            },
            arguments: None,
        });
    }
}

impl FailedAttempt {
    /// A rejected credential is reported rather than skipped: the operator must learn of it.
    fn from_answer(provider: &str, answer: &ActionAnswer) -> Self {
        /// Some providers use it when overloaded.
        const OVERLOADED: u16 = 529;
        let failure = ToolFileFailure::from_provider_answer(provider, answer);
        match answer.status {
            429 | 503 | OVERLOADED => Self::Untouched(failure),
            _ => Self::Ended(failure),
        }
    }
}

impl From<ActionError> for FailedAttempt {
    fn from(error: ActionError) -> Self {
        let is_untouched = matches!(
            error.fault,
            ActionFault::ConfigMissing { .. }
                | ActionFault::RateLimited { .. }
                | ActionFault::Request(RequestFault::Unreachable {
                    was_connected: false,
                    ..
                })
        );
        match is_untouched {
            true => Self::Untouched(error.into()),
            false => Self::Ended(error.into()),
        }
    }
}

impl From<ToolFileFailure> for FailedAttempt {
    fn from(failure: ToolFileFailure) -> Self {
        Self::Ended(failure)
    }
}

fn unknown_provider(candidate: &ModelCandidate) -> ToolFileFailure {
    let provider = candidate.provider.clone();
    PromptError::UnknownProvider { provider }.into()
}

/// Returns the outcome of a request that failed for a reason of the provider's own.
fn provider_outcome(answer: &Result<ActionAnswer, ActionError>) -> Option<Outcome> {
    let fault = match answer {
        Ok(answer) => return (answer.status >= 500).then_some(Outcome::ToolError),
        Err(error) => &error.fault,
    };
    match fault {
        ActionFault::Request(RequestFault::TimedOut { .. }) => Some(Outcome::TimedOut),
        ActionFault::Request(RequestFault::Unreachable { .. } | RequestFault::Lost { .. }) => {
            Some(Outcome::Unavailable)
        }
        _ => None,
    }
}

/// A non-JSON answer has no value at any path.
fn answer_json(answer: &ActionAnswer) -> Value {
    let json = answer.content.iter().find_map(|part| match part {
        AnswerPart::Json(json) => serde_json::from_str(json.get()).ok(),
        AnswerPart::Text(_) | AnswerPart::Image { .. } => None,
    });
    json.unwrap_or_default()
}
