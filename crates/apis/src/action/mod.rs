//! The declared form of a call: runs one action of a tool as its file describes it.
//!
//! # Layout
//! - this file: an API with its clients and limits, and one call
//! - `run`: one run of an action; `attempts`: sending its request, and repeating it if that is safe
//! - `address`: the addresses it may reach; `build`: the request; `body`, `multipart`: its body
//! - `request_proof`: the request's proof of identity
//! - `pages`: the further pages of an answer; `answer`: the returned part of it; `storage`: its
//!   images
//! - `error`: the failures of a call; `advice`: the advice on answers that reject it

mod address;
mod advice;
mod answer;
mod attempts;
mod body;
mod build;
mod deadline;
mod error;
mod multipart;
mod pages;
mod request_proof;
mod run;
mod storage;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use kitbag_tool_spec::{ActionSpec, ApiSpec, WireName};
use serde_json::{Map, Value};
use url::Url;

pub use answer::{ActionAnswer, AnswerPart, AnswerUsage, PagesRead};
pub use error::{ActionError, ActionFault, Culprit};

use crate::auth::{Credential, TokenCache};
use crate::client::GuardedClient;
use crate::clock::Clock;
use crate::pace::Paces;
use crate::request_permits::RequestPermits;
use run::ActionRun;

/// The API of a tool file, ready for calls.
pub struct DeclaredApi {
    tool: WireName,
    declaration: Arc<ApiSpec>,
    overrides: ApiOverrides,
    client: GuardedClient,
    permits: RequestPermits,
    paces: Paces,
    clock: Clock,
}

/// The operator's addresses, which replace declared ones. They may be plain HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiOverrides {
    pub url: Option<Url>,
    pub token_url: Option<Url>,
    pub storage_url: Option<Url>,
}

impl DeclaredApi {
    /// APIs that may reach the same addresses share a client. Keep the value of an unchanged API,
    /// because it holds the limits of its tenants.
    pub fn new(
        tool: WireName,
        declaration: Arc<ApiSpec>,
        overrides: ApiOverrides,
        client: GuardedClient,
        clock: Clock,
    ) -> Self {
        Self {
            tool,
            overrides,
            client,
            permits: RequestPermits::new(),
            paces: Paces::new(declaration.requests_per_minute),
            declaration,
            clock,
        }
    }

    pub fn tool(&self) -> &WireName {
        &self.tool
    }

    /// Carries out an action with arguments that match its schema. An answer with any status counts
    /// as an answer. `trace` holds the trace headers for the API.
    pub async fn call(
        &self,
        action: &ActionSpec,
        arguments: &Map<String, Value>,
        credential: &Credential,
        tokens: &TokenCache,
        trace: &HeaderMap,
    ) -> Result<ActionAnswer, ActionError> {
        self.check(action, credential)?;
        let run = ActionRun::new(self, action, credential, tokens).with_trace(trace);
        let answer = Box::pin(run.run(arguments)).await;
        answer.map_err(|fault| self.to_error(fault))
    }

    /// Fetches the token that a call of the action would need, and sends nothing else.
    pub async fn fetch_token(
        &self,
        action: &ActionSpec,
        credential: &Credential,
        tokens: &TokenCache,
    ) -> Result<(), ActionError> {
        self.check(action, credential)?;
        let run = ActionRun::new(self, action, credential, tokens);
        let fetched = run.fetch_token().await;
        fetched.map_err(|fault| self.to_error(fault))
    }

    /// Checks that the credential has every field that the action needs.
    pub fn check(&self, action: &ActionSpec, credential: &Credential) -> Result<(), ActionError> {
        let Some(name) = &self.declaration.credential else {
            return Ok(());
        };
        let fields = credential.missing_fields(&self.declaration.needed_fields(action));
        if fields.is_empty() {
            return Ok(());
        }
        Err(self.to_error(ActionFault::ConfigMissing {
            credential: name.clone(),
            by_login: self.declaration.auth.needs_login(),
            fields,
        }))
    }

    /// Checks that the next call with the credential would not be delayed for longer than this.
    pub fn check_pace(
        &self,
        credential: &Credential,
        longest: Duration,
    ) -> Result<(), ActionError> {
        let wait = self
            .paces
            .current_wait(credential.owner(), self.clock.now());
        if wait <= longest {
            return Ok(());
        }
        Err(self.to_error(ActionFault::RateLimited { wait }))
    }

    fn to_error(&self, fault: ActionFault) -> ActionError {
        ActionError {
            tool: self.tool.clone(),
            fault,
        }
    }
}

impl fmt::Debug for DeclaredApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeclaredApi")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}
