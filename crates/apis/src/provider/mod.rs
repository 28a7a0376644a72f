//! The small form of a call: the caller chooses the path below the base address of an API.
//!
//! Nothing about the path is trusted: it stays below the base in every reading, and a redirect
//! reaches nothing that a call could not.
//!
//! # Layout
//! - this file: the facts about an API, and one call
//! - `target`: from the caller's path to a URL below the base
//! - `answer`: the answer, with the helpful headers
//! - `error`: the failures of a call, and their advice

mod answer;
mod error;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use http::Method;
use http::header::HeaderMap;
use kitbag_domain::{Lookup, ServerName, Template};
use kitbag_fetch::secrets::is_secret_name;
use kitbag_fetch::{AddressGuard, Secrets, header_map};
use kitbag_wire::Raw;
use url::Url;

pub use answer::ProviderAnswer;
pub use error::{ProviderError, ProviderFault};

use crate::auth::{CredentialOwner, Proof};
use crate::client::GuardedClient;
use crate::fault::RequestFault;
use crate::pace::{Paces, TooEarly};
use crate::received_response::ReceivedResponse;
use crate::request::{ACCEPT_JSON, PendingBody, PendingRequest, with_trace};
use crate::request_permits::RequestPermits;
use error::method_list;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    pub name: ServerName,
    pub description: Option<String>,
    /// Without query, fragment and user.
    pub url: Url,
    pub headers: BTreeMap<String, Template>,
    pub methods: Vec<Method>,
    /// For the whole call, including redirects and body.
    pub timeout: Duration,
    pub max_response_bytes: usize,
}

/// One call, as written by the caller.
#[derive(Debug, Clone)]
pub struct ProviderCall {
    pub method: Method,
    /// Relative to the base address; may end in a query.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// JSON, sent unchanged.
    pub body: Option<Raw>,
    /// The trace headers for the API.
    pub trace: HeaderMap,
}

/// Returns true if the caller may make the request, given in the form of [`ProviderCall::subject`].
pub type RequestJudge<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// An HTTP API that can be called. It displays as one line for a model that searches for something
/// to call.
pub struct Provider {
    spec: ProviderSpec,
    lookup: Lookup,
    client: GuardedClient,
    permits: RequestPermits,
    paces: Paces,
    /// All calls use the configured credential.
    owner: CredentialOwner,
}

impl ProviderSpec {
    pub const DEFAULT_METHODS: [Method; 2] = [Method::GET, Method::HEAD];
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
    pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

    fn check_method(&self, method: &Method) -> Result<(), ProviderFault> {
        if self.methods.contains(method) {
            return Ok(());
        }
        Err(ProviderFault::Method {
            method: method.clone(),
            allowed: self.methods.clone(),
        })
    }
}

impl ProviderCall {
    /// Returns the text that rules match: `GET /items/3`, however the path was spelt.
    pub fn subject(&self) -> String {
        rule_subject(&self.method, &self.path)
    }
}

fn rule_subject(method: &Method, path: &str) -> String {
    format!("{method} {}", target::normalize_path(path))
}

impl Provider {
    /// Each call gets the secrets from `lookup` and checks the addresses with `guard`.
    pub fn new(spec: ProviderSpec, lookup: Lookup, guard: AddressGuard) -> Self {
        Self {
            spec,
            lookup,
            client: GuardedClient::new(guard),
            permits: RequestPermits::new(),
            paces: Paces::new(None),
            owner: CredentialOwner::new("configuration"),
        }
    }

    pub fn spec(&self) -> &ProviderSpec {
        &self.spec
    }

    /// Makes a call that the caller is already allowed to make; an answer with any status counts as
    /// an answer. `judge` approves redirected requests.
    pub async fn call(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, ProviderError> {
        let after = self.spec.timeout;
        let done = tokio::time::timeout(after, Box::pin(self.send_call(call, judge))).await;
        done.unwrap_or(Err(RequestFault::TimedOut { after }.into()))
            .map_err(|fault| ProviderError {
                provider: self.spec.name.clone(),
                fault,
            })
    }

    async fn send_call(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, ProviderFault> {
        self.spec.check_method(&call.method)?;
        let request = self.build_request(call)?;
        let secrets = self.secrets_in(&request.own_headers);
        let _permit = self.permits.acquire().await;
        let booked = self
            .paces
            .reserve(&self.owner, SystemTime::now(), Duration::ZERO);
        booked.map_err(|TooEarly { wait }| ProviderFault::RateLimited { wait })?;
        let judge = |request: &PendingRequest| self.check_redirect(request, judge);
        let response = self
            .client
            .send_following_redirects(request, &judge)
            .await?;
        let (status, headers) = (response.status(), response.headers());
        self.paces
            .record_limits(&self.owner, SystemTime::now(), status, headers);
        let received =
            ReceivedResponse::read_within(response, self.spec.max_response_bytes).await?;
        Ok(ProviderAnswer::new(received, &secrets))
    }

    fn build_request(&self, call: ProviderCall) -> Result<PendingRequest, ProviderFault> {
        Ok(PendingRequest {
            url: target::join_below(&self.spec.url, &call.path, &call.query)?,
            method: call.method,
            accept: ACCEPT_JSON,
            body: call
                .body
                .map(|body| PendingBody::json(body.get().to_owned())),
            own_headers: with_trace(self.resolve_headers()?, &call.trace),
            proof: Proof::Nothing,
            stayed_at_origin: true,
        })
    }

    /// Checks a redirected request to the API itself like a call: it stays below the base, and the
    /// caller may make it. The reason names no rule, since the API chose the path.
    fn check_redirect(
        &self,
        request: &PendingRequest,
        judge: RequestJudge<'_>,
    ) -> Result<(), ProviderFault> {
        self.spec.check_method(&request.method)?;
        if !target::is_same_api(&self.spec.url, &request.url) {
            return Ok(());
        }
        let Some(path) = target::relative_path(&self.spec.url, &request.url) else {
            let outside = "to an address outside its base address, which is not allowed";
            return Err(RequestFault::redirect(outside).into());
        };
        match judge(&rule_subject(&request.method, path)) {
            true => Ok(()),
            false => Err(RequestFault::redirect("to a path that the rules do not permit").into()),
        }
    }

    /// Returns the configured headers, with their variables filled in.
    fn resolve_headers(&self) -> Result<HeaderMap, ProviderFault> {
        let mut headers = Vec::new();
        for (name, template) in &self.spec.headers {
            let value = template
                .resolve(|variable| (self.lookup)(variable))
                .map_err(ProviderFault::Variable)?;
            headers.push((name.clone(), value));
        }
        Ok(header_map(headers).map_err(|reason| RequestFault::Header { reason })?)
    }

    /// Returns the headers that must not appear in an answer.
    fn secrets_in(&self, sent: &HeaderMap) -> Secrets {
        let secret = self
            .spec
            .headers
            .iter()
            .filter(|(name, value)| is_secret(name, value));
        Secrets::from_values(secret.filter_map(|(name, _)| sent.get(name)?.to_str().ok()))
    }
}

/// True for a header or a variable with a secret's name, and for a value from the store, whose
/// variable is called `secret:NAME`.
fn is_secret(name: &str, value: &Template) -> bool {
    let source = value.source();
    is_secret_name(name) || (source.contains("${") && is_secret_name(source))
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let methods = method_list(&spec.methods);
        write!(f, "{} · {methods} {}", spec.name, spec.url)?;
        match &spec.description {
            Some(description) => write!(f, " · {description}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
