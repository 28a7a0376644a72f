//! One model that is asked, and what its answer shows about the model.
//!
//! An answer, and a failure that is the provider's own, leave a row in the audit, from which the priors learn how the model
//! does. Of a refused credential or a spent quota they learn nothing: those are the tenant's, and other tenants are
//! led to the same model.

use std::time::{Duration, Instant};

use http::HeaderMap;
use kitbag_apis::{ActionAnswer, ActionError, ActionFault, AnswerPart, Credential, RequestFault};
use kitbag_domain::{CallCost, Observation, Outcome};
use kitbag_llm::route::{InferenceError, ModelCandidate, ModelPrompt, PromptAnswer};
use kitbag_tool_files::dated::{DataOfDay, ProviderRow};
use kitbag_tool_spec::ActionDeclaration;
use serde_json::Value;

use super::refusal::CallRefusal;
use crate::catalog::tool_files::{ModelProvider, ModelProviders, model_subject};
use crate::state::clock::now;
use crate::turn::Turn;

/// A provider that would hold a prompt back for longer is passed over if another one can be asked.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Everything that is the same for all models that may be asked.
pub(super) struct ModelAttempt<'a> {
    pub(super) turn: &'a Turn,
    pub(super) providers: &'a ModelProviders,
    pub(super) day: DataOfDay<'a>,
    pub(super) prompt: &'a ModelPrompt,
    pub(super) prompt_tokens: u64,
    pub(super) trace: &'a HeaderMap,
}

pub(super) enum FailedAttempt {
    /// The provider has certainly not worked on the prompt, and another one may be asked.
    Untouched(CallRefusal),
    Ended(CallRefusal),
}

/// A provider, the request that asks a model of it, and the places in its answer.
struct FoundProvider<'a> {
    provider: &'a ModelProvider,
    request: &'a ActionDeclaration,
    places: &'a ProviderRow,
}

impl ModelAttempt<'_> {
    pub(super) async fn ask(
        &self,
        candidate: &ModelCandidate,
        is_last: bool,
    ) -> Result<PromptAnswer, FailedAttempt> {
        let found = self.found(candidate).ok_or_else(|| unknown(candidate))?;
        let credential = self.credential(found.provider).await?;
        if !is_last {
            found.provider.api.check_pace(&credential, LONGEST_WAIT)?;
        }
        let began = Instant::now();
        let answer = self.send(candidate, &found, &credential).await;
        if let Some(outcome) = failure_of_provider(&answer) {
            self.note(candidate, outcome, None, began);
        }
        let answer = answer?;
        if answer.is_error {
            return Err(FailedAttempt::of_answer(&candidate.provider, &answer));
        }
        let answer = self.read(candidate, &found, &answer);
        if answer.text.is_some() {
            self.note(candidate, Outcome::Ok, Some(answer.usage.output), began);
        }
        Ok(answer)
    }

    fn found(&self, candidate: &ModelCandidate) -> Option<FoundProvider<'_>> {
        let provider = self.providers.get(&candidate.provider)?;
        Some(FoundProvider {
            request: provider.request(&candidate.action)?,
            places: self.day.provider(&candidate.provider)?,
            provider,
        })
    }

    async fn credential(&self, provider: &ModelProvider) -> Result<Credential, CallRefusal> {
        let credentials = &self.turn.gateway.services.credentials;
        let tenant = &self.turn.caller().tenant;
        let credential = credentials.of(tenant, provider.credential()).await;
        credential.map_err(|error| CallRefusal::of_store(&error))
    }

    async fn send(
        &self,
        candidate: &ModelCandidate,
        found: &FoundProvider<'_>,
        credential: &Credential,
    ) -> Result<ActionAnswer, ActionError> {
        let arguments = candidate.arguments(self.prompt);
        let tokens = &self.turn.gateway.services.credentials.tokens;
        let api = &found.provider.api;
        api.call(found.request, &arguments, credential, tokens, self.trace)
            .await
    }

    fn read(
        &self,
        candidate: &ModelCandidate,
        found: &FoundProvider<'_>,
        answer: &ActionAnswer,
    ) -> PromptAnswer {
        let (answer, count) = (json_of(answer), kitbag_budget::estimate);
        PromptAnswer::read(candidate, found.places, &answer, self.prompt_tokens, count)
    }

    /// Leaves a row about a model. Only those that the data knows have one: callers choose any other name.
    fn note(
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
        turn.gateway.services.audit.observe(Observation {
            at: now(),
            caller: turn.caller().clone(),
            client: turn.client.name.clone(),
            origin: turn.origin.clone(),
            purpose: turn.purpose,
            capability: model_subject(&candidate.provider, &candidate.model).shortened(),
            outcome,
            latency: began.elapsed(),
            // The price stands in the row of the call.
            cost: CallCost {
                tokens,
                price: None,
            },
            arguments: None,
        });
    }
}

impl FailedAttempt {
    /// A credential that the provider refuses is told rather than passed over: the operator must hear of it.
    fn of_answer(provider: &str, answer: &ActionAnswer) -> Self {
        /// Some providers say so when they are overloaded.
        const OVERLOADED: u16 = 529;
        let refusal = CallRefusal::of_provider(provider, answer);
        match answer.status {
            429 | 503 | OVERLOADED => Self::Untouched(refusal),
            _ => Self::Ended(refusal),
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

impl From<CallRefusal> for FailedAttempt {
    fn from(refusal: CallRefusal) -> Self {
        Self::Ended(refusal)
    }
}

fn unknown(candidate: &ModelCandidate) -> CallRefusal {
    let provider = candidate.provider.clone();
    InferenceError::UnknownProvider { provider }.into()
}

/// Returns the outcome of a request that failed for a reason of the provider's own.
fn failure_of_provider(answer: &Result<ActionAnswer, ActionError>) -> Option<Outcome> {
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

/// An answer that is no JSON has nothing where the data says that the text stands.
fn json_of(answer: &ActionAnswer) -> Value {
    let json = answer.content.iter().find_map(|part| match part {
        AnswerPart::Json(json) => serde_json::from_str(json.get()).ok(),
        AnswerPart::Text(_) | AnswerPart::Image { .. } => None,
    });
    json.unwrap_or_default()
}
