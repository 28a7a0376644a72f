//! Somebody's HTTP API, called by path below its base address, with the secrets it wants.
//!
//! The caller chooses the path, so nothing about it is trusted: it stays below the base, every
//! address on the way is put before the guard, and secrets go to the API's own origin only.
//!
//! # Layout
//! - this file: what is known of an API, and one call with its redirects
//! - [`target`]: from the path somebody wrote to a URL below the base
//! - [`guard`]: names are resolved and their addresses judged in one step
//! - [`answer`]: what comes back, no further than we are willing to hold
//! - [`error`]: what can go wrong, and what to do about it

mod answer;
mod error;
pub(crate) mod guard;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use kitbag_domain::ServerName;
use kitbag_wire::Raw;
use reqwest::{Client, Request, Response};
use tokio::sync::Semaphore;
use url::Url;

pub use answer::ProviderAnswer;
pub use error::{Fault, ProviderError};
pub use guard::AddressGuard;

use crate::body::describe;
use crate::link::header_map;
use crate::secrets::{Secrets, speaks_of_a_secret};
use crate::spec::{Lookup, Template};
use error::origin;
use guard::GuardedResolver;

const MAX_REDIRECTS: usize = 5;
/// Calls one API may have at once; others wait until their time is up.
const MAX_CONCURRENT: usize = 64;

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

/// Says of a request, written as [`ProviderCall::subject`] does, whether its caller may make it.
pub type RequestJudge<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// Shows itself as one line for whoever looks for something to call.
pub struct Provider {
    spec: ProviderSpec,
    lookup: Lookup,
    guard: AddressGuard,
    client: Client,
    places: Semaphore,
}

impl ProviderSpec {
    pub const DEFAULT_METHODS: [Method; 2] = [Method::GET, Method::HEAD];
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
    pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;
}

impl ProviderCall {
    /// What rules are written about: `GET /items/3`, whichever way the path was spelt.
    pub fn subject(&self) -> String {
        subject(&self.method, &self.path)
    }
}

fn subject(method: &Method, path: &str) -> String {
    format!("{method} {}", target::plain(path))
}

impl Provider {
    /// Secrets are asked of `lookup` and addresses of `guard` whenever a call is made.
    pub fn new(spec: ProviderSpec, lookup: Lookup, guard: AddressGuard) -> Self {
        let client = client(GuardedResolver(guard.clone()));
        Self {
            spec,
            lookup,
            guard,
            client,
            places: Semaphore::new(MAX_CONCURRENT),
        }
    }

    pub fn spec(&self) -> &ProviderSpec {
        &self.spec
    }

    /// Whatever status the API answers with is an answer. That the caller may make this call is known;
    /// `judge` is asked about what redirects make of it.
    pub async fn call(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, ProviderError> {
        let after = self.spec.timeout;
        let done = tokio::time::timeout(after, Box::pin(self.follow(call, judge))).await;
        done.unwrap_or(Err(Fault::TimedOut { after }))
            .map_err(|fault| ProviderError {
                provider: self.spec.name.clone(),
                fault,
            })
    }

    /// Sends the request, and what redirects make of it.
    async fn follow(
        &self,
        call: ProviderCall,
        judge: RequestJudge<'_>,
    ) -> Result<ProviderAnswer, Fault> {
        self.permit(&call.method)?;
        let url = target::below(&self.spec.url, &call.path, &call.query)?;
        let mut hop = Hop {
            method: call.method,
            url,
            body: call.body,
            at_home: true,
        };
        let secrets = self.secrets()?;
        let _place = self
            .places
            .acquire()
            .await
            .expect("the places are never closed");
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&hop, &secrets).await?;
            match location(&response) {
                Some(location) => {
                    hop = self.redirected(hop, response.status(), &location?)?;
                    self.judge(&hop, judge)?;
                }
                None => {
                    let answer = answer::read(response, self.spec.max_response_bytes).await?;
                    return Ok(answer.without(&self.shown_by_none(&secrets)));
                }
            }
        }
        Err(Fault::TooManyRedirects { max: MAX_REDIRECTS })
    }

    async fn send(&self, hop: &Hop, secrets: &HeaderMap) -> Result<Response, Fault> {
        guard::check_literal(&hop.url, &self.guard)?;
        let mut request = Request::new(hop.method.clone(), hop.url.clone());
        let headers = request.headers_mut();
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, */*;q=0.5"),
        );
        if let Some(body) = &hop.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(body.get().to_owned().into());
        }
        if hop.at_home {
            for (name, value) in secrets {
                request.headers_mut().insert(name, value.clone());
            }
        }
        self.client.execute(request).await.map_err(|error| {
            guard::refusal(&error).unwrap_or_else(|| Fault::Unreachable {
                origin: origin(&hop.url),
                reason: describe(&error.without_url()),
            })
        })
    }

    fn redirected(&self, hop: Hop, status: StatusCode, location: &str) -> Result<Hop, Fault> {
        let refused = |reason| Fault::Redirect { reason };
        let url = hop
            .url
            .join(location)
            .map_err(|error| refused(format!("not to a URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused(format!("to a `{}:` address", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused(format!("to {} with a user in it", origin(&url))));
        }
        let stays = url.origin() == hop.url.origin();
        // As browsers do it: everything but 307 and 308 turns a request with a body into a GET.
        let keeps = matches!(
            status,
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let (method, body) = match hop.method {
            Method::GET | Method::HEAD => (hop.method, hop.body),
            method if keeps => (method, hop.body),
            _ => (Method::GET, None),
        };
        if !stays && (body.is_some() || !matches!(method, Method::GET | Method::HEAD)) {
            let to = origin(&url);
            return Err(refused(format!(
                "to {to}, and what is sent there would leave this API"
            )));
        }
        self.permit(&method)?;
        // Whoever was asked in between chose the way back, so it leads home without secrets.
        Ok(Hop {
            method,
            url,
            body,
            at_home: hop.at_home && stays,
        })
    }

    /// What a redirect leads to at the API itself is a call like any other: below the base, and one
    /// that the caller may make. The reason names no rule, since the API chose the path.
    fn judge(&self, hop: &Hop, judge: RequestJudge<'_>) -> Result<(), Fault> {
        let base = &self.spec.url;
        if !target::is_same_place(base, &hop.url) {
            return Ok(());
        }
        let refused = |reason: &str| Fault::Redirect {
            reason: reason.to_owned(),
        };
        let path = target::relative(base, &hop.url).ok_or_else(|| {
            refused("to a place outside its base address, where calls may not go")
        })?;
        match judge(&subject(&hop.method, path)) {
            true => Ok(()),
            false => Err(refused("to a path that the rules do not permit")),
        }
    }

    fn permit(&self, method: &Method) -> Result<(), Fault> {
        let allowed = &self.spec.methods;
        if allowed.contains(method) {
            return Ok(());
        }
        Err(Fault::Method {
            method: method.clone(),
            allowed: allowed.clone(),
        })
    }

    /// Of the headers those that an API must not show: a header or variable of such a name is a secret,
    /// and what comes from the store is one whatever it is called.
    fn shown_by_none(&self, sent: &HeaderMap) -> Secrets {
        let is_secret = |name: &str, value: &Template| {
            speaks_of_a_secret(name)
                || (value.source().contains("${") && speaks_of_a_secret(value.source()))
        };
        let secret = self
            .spec
            .headers
            .iter()
            .filter(|(name, value)| is_secret(name, value));
        Secrets::of(secret.filter_map(|(name, _)| sent.get(name)?.to_str().ok()))
    }

    fn secrets(&self) -> Result<HeaderMap, Fault> {
        let resolved = self.spec.headers.iter().map(|(name, value)| {
            let value = value.resolve(|variable| (self.lookup)(variable))?;
            Ok((name.clone(), value))
        });
        let resolved = resolved
            .collect::<Result<Vec<_>, _>>()
            .map_err(Fault::Variable)?;
        header_map(resolved).map_err(|reason| Fault::Header { reason })
    }
}

/// A request on its way, which redirects may lead elsewhere.
struct Hop {
    method: Method,
    url: Url,
    body: Option<Raw>,
    /// It has been at the API's own origin ever since.
    at_home: bool,
}

fn location(response: &Response) -> Option<Result<String, Fault>> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(LOCATION).filter(|_| redirects)?;
    let unreadable = |_| Fault::Redirect {
        reason: "to an address that is not text".to_owned(),
    };
    Some(location.to_str().map(str::to_owned).map_err(unreadable))
}

/// No redirects of its own, because each must be judged; no proxy, because a proxy would look
/// names up where the guard does not see it.
fn client(resolver: GuardedResolver) -> Client {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .dns_resolver(resolver)
        .referer(false)
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(60))
        .tcp_nodelay(true)
        .user_agent(concat!("kitbag/", env!("CARGO_PKG_VERSION")))
        .build()
        .expect("the client is built from constants")
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProviderSpec {
            name,
            url,
            methods,
            description,
            ..
        } = &self.spec;
        write!(f, "{name} · {} {url}", error::listed(methods))?;
        description
            .as_ref()
            .map_or(Ok(()), |description| write!(f, " · {description}"))
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("spec", &self.spec)
            .finish_non_exhaustive()
    }
}
