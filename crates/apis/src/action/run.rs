//! One run of an action.

use http::HeaderMap;
use kitbag_fetch::Secrets;
use kitbag_tool_spec::{ActionSpec, AnswerType};
use serde_json::{Map, Value};
use url::{Origin, Url};

use super::answer::{self, ActionAnswer, PageAnswer};
use super::attempts::ResponseWithPermit;
use super::deadline::Deadline;
use super::request_proof::RequestProof;
use super::{ActionFault, DeclaredApi, pages};
use crate::auth::{Credential, Proof, TokenCache};
use crate::received_response::ReceivedResponse;

pub(super) struct ActionRun<'a> {
    pub(super) api: &'a DeclaredApi,
    pub(super) action: &'a ActionSpec,
    pub(super) credential: &'a Credential,
    pub(super) tokens: &'a TokenCache,
    pub(super) deadline: Deadline,
    pub(super) trace: HeaderMap,
}

/// The request for one page.
#[derive(Clone)]
pub(super) struct PageRequest {
    pub(super) arguments: Map<String, Value>,
    /// The address from the previous page, which replaces the action's.
    pub(super) link: Option<Url>,
    pub(super) max_bytes: usize,
}

impl<'a> ActionRun<'a> {
    pub(super) fn new(
        api: &'a DeclaredApi,
        action: &'a ActionSpec,
        credential: &'a Credential,
        tokens: &'a TokenCache,
    ) -> Self {
        Self {
            deadline: Deadline::after(api.declaration.timeout),
            api,
            action,
            credential,
            tokens,
            trace: HeaderMap::new(),
        }
    }

    pub(super) fn with_trace(mut self, trace: &HeaderMap) -> Self {
        self.trace.clone_from(trace);
        self
    }

    pub(super) async fn run(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<ActionAnswer, ActionFault> {
        let mut of_request = arguments.clone();
        if let Some(storage) = &self.api.declaration.storage {
            of_request.shift_remove(&storage.unless);
        }
        let first = PageRequest {
            arguments: of_request,
            link: None,
            max_bytes: self.api.declaration.max_response_bytes,
        };
        let page = self.fetch_page(&first).await?;
        match &self.action.pages {
            Some(rule) => Ok(pages::collect_pages(self, rule, first, page).await),
            None => Ok(self.store_images(self.shape_page(page), arguments).await),
        }
    }

    /// Returns the origin that the credential goes to.
    pub(super) fn api_origin(&self) -> Option<Origin> {
        let nothing = Map::new();
        let field = |name: &str| self.credential.field(name).map(str::to_owned);
        let base = self
            .api
            .base_url(&self.action.fill_values(&nothing, &field));
        base.ok().map(|base| base.origin())
    }

    pub(super) fn shape_page(&self, page: PageAnswer) -> ActionAnswer {
        let mut answer = answer::shape_answer(&self.action.answer, page);
        answer.advice = self.api.advice_on(answer.status);
        answer
    }

    /// Sends the request for one page, and reads its answer.
    pub(super) async fn fetch_page(&self, page: &PageRequest) -> Result<PageAnswer, ActionFault> {
        let (
            ResponseWithPermit {
                response,
                permit: _permit,
            },
            proof,
        ) = self
            .deadline
            .within(self.send_and_refresh_token(page))
            .await?;
        let sent = self.credential.secrets().chain(proof.secret());
        let secrets = Secrets::from_values(sent);
        let url = response.url().clone();
        if self.action.answer.kind == AnswerType::Events && answer::has_events(&response) {
            let events = answer::read_events(response, page.max_bytes, self.deadline).await;
            return Ok(PageAnswer::Events(events, secrets));
        }
        let received = self
            .deadline
            .within(ReceivedResponse::read_within(response, page.max_bytes));
        let received = received.await?.mask_secrets(&secrets);
        Ok(PageAnswer::Whole { url, received })
    }

    /// Sends the request; a rejected token is fetched again once. A request that must not be
    /// repeated leaves the new token to the next call.
    async fn send_and_refresh_token(
        &self,
        page: &PageRequest,
    ) -> Result<(ResponseWithPermit<'a>, Proof), ActionFault> {
        let first = self.send_request(page, None).await?;
        let (answer, RequestProof { token, .. }) = &first;
        let Some(token) = token.as_ref().filter(|_| answer.response.status() == 401) else {
            return Ok((first.0, first.1.proof));
        };
        if !self.action.repeatable {
            self.tokens
                .forget_token(&token.request, &token.access)
                .await;
            return Ok((first.0, first.1.proof));
        }
        let (response, proven) = self.send_request(page, Some(&token.access)).await?;
        Ok((response, proven.proof))
    }

    async fn send_request(
        &self,
        page: &PageRequest,
        refused: Option<&str>,
    ) -> Result<(ResponseWithPermit<'a>, RequestProof), ActionFault> {
        let field = |name: &str| self.credential.field(name).map(str::to_owned);
        let values = self.action.fill_values(&page.arguments, &field);
        let proven = self.prove_request(&values, refused).await?;
        let request = self.build_request(page, &values, proven.proof.clone())?;
        Ok((self.send_with_retries(request).await?, proven))
    }
}
