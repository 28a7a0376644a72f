//! Calls HTTP APIs: builds the request, adds the credential, guards the address, reads the answer.
//!
//! The caller chooses the path, so nothing about it is trusted: it stays below the base address,
//! every address on the way is put before the guard, and secrets go to the API's own origin only.
//!
//! # Layout
//! - this file: the facts about an API, and one call
//! - `target`: from the path that the caller wrote to a URL below the base
//! - `request`: one request on its way, with the headers it is sent
//! - `redirect`: the request that a redirect makes of it, if it may be made
//! - `answer`: the answer, read up to a limit
//! - `error`: the failures of a call, and their advice

mod answer;
mod error;
mod redirect;
mod request;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use http::Method;
use http::header::HeaderMap;
use kitbag_domain::{Lookup, ServerName, Template};
use kitbag_fetch::secrets::speaks_of_a_secret;
use kitbag_fetch::{AddressGuard, Secrets, header_map};
use kitbag_wire::Raw;
use reqwest::Client;
use tokio::sync::Semaphore;
use url::Url;

pub use answer::ProviderAnswer;
pub use error::{ProviderError, ProviderFault};

use error::method_list;
use request::PendingRequest;

/// APIs with a login page or a load balancer in front redirect once or twice.
const MAX_REDIRECTS: usize = 5;
/// The calls that one API may have at once; others wait until their time is up.
const MAX_CONCURRENT: usize = 64;
/// A connection that was idle for longer is often closed by the other side already.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSpec {
    pub name: ServerName,
    pub description: Option<String>,
    /// Without query, fragment and user.
    pub url: Url,
    pub headers: BTreeMap<String, Template>,
    pub methods: Vec<Method>,
    /// For the whole call, redirects and body included.
    pub timeout: Duration,
    pub max_response_bytes: usize,
}

/// One call, as the caller wrote it.
#[derive(Debug, Clone)]
pub struct ProviderCall {
    pub method: Method,
    /// Relative to the base address; may end in a query.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// JSON, sent as it is.
    pub body: Option<Raw>,
}

/// Returns true if the caller may make the request, which is written as [`ProviderCall::subject`]
/// writes it.
pub type RequestJudge<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// An HTTP API that can be called. It displays itself as one line for a model that looks for
/// something to call.
pub struct Provider {
    spec: ProviderSpec,
    lookup: Lookup,
    guard: AddressGuard,
    client: Client,
    slots: Semaphore,
}

impl ProviderSpec {
    pub const DEFAULT_METHODS: [Method; 2] = [Method::GET, Method::HEAD];
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
    pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

    fn allow(&self, method: &Method) -> Result<(), ProviderFault> {
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
    /// Returns the text that rules are written about: `GET /items/3`, whichever way the path was spelt.
    pub fn subject(&self) -> String {
        subject(&self.method, &self.path)
    }
}

fn subject(method: &Method, path: &str) -> String {
    format!("{method} {}", target::plain(path))
}

impl Provider {
    /// Each call asks `lookup` for the secrets and `guard` about the addresses.
    pub fn new(spec: ProviderSpec, lookup: Lookup, guard: AddressGuard) -> Self {
        let client = client(guard.clone());
        Self {
            spec,
            lookup,
            guard,
            client,
            slots: Semaphore::new(MAX_CONCURRENT),
        }
    }

    pub fn spec(&self) -> &ProviderSpec {
        &self.spec
    }

    /// Makes a call that the caller is known to be allowed to make; an answer with any status is an
    /// answer. `judge` is asked about the requests that redirects make of it.
    pub async fn call(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, ProviderError> {
        let after = self.spec.timeout;
        let done = tokio::time::timeout(after, Box::pin(self.follow(call, judge))).await;
        done.unwrap_or(Err(ProviderFault::TimedOut { after }))
            .map_err(|fault| ProviderError {
                provider: self.spec.name.clone(),
                fault,
            })
    }

    /// Sends the request, and the requests that redirects make of it.
    async fn follow(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, ProviderFault> {
        self.spec.allow(&call.method)?;
        let mut request = PendingRequest::of(call, &self.spec.url)?;
        let headers = self.headers()?;
        let _slot = self
            .slots
            .acquire()
            .await
            .expect("the semaphore is never closed");
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&request, &headers).await?;
            let Some(location) = redirect::location(&response)? else {
                let answer = answer::read(response, self.spec.max_response_bytes).await?;
                return Ok(answer.without(&self.secrets_in(&headers)));
            };
            request = redirect::next(&self.spec, request, response.status(), &location)?;
            redirect::judge(&self.spec, &request, judge)?;
        }
        Err(ProviderFault::TooManyRedirects { max: MAX_REDIRECTS })
    }

    /// Returns the headers of the configuration, with their variables filled in.
    fn headers(&self) -> Result<HeaderMap, ProviderFault> {
        let mut headers = Vec::new();
        for (name, template) in &self.spec.headers {
            let value = template
                .resolve(|variable| (self.lookup)(variable))
                .map_err(ProviderFault::Variable)?;
            headers.push((name.clone(), value));
        }
        header_map(headers).map_err(|reason| ProviderFault::Header { reason })
    }

    /// Returns those of the headers that must not show in an answer.
    fn secrets_in(&self, sent: &HeaderMap) -> Secrets {
        let secret = self
            .spec
            .headers
            .iter()
            .filter(|(name, value)| is_secret(name, value));
        Secrets::of(secret.filter_map(|(name, _)| sent.get(name)?.to_str().ok()))
    }
}

/// True for a header or a variable whose name speaks of a secret, and for a value from the store,
/// whose variable is called `secret:NAME`.
fn is_secret(name: &str, value: &Template) -> bool {
    let source = value.source();
    speaks_of_a_secret(name) || (source.contains("${") && speaks_of_a_secret(source))
}

fn client(guard: AddressGuard) -> Client {
    kitbag_fetch::guarded_client(guard)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .build()
        .expect("the client is built from constants")
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
