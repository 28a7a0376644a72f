//! HTTP to URLs named by a server.
//!
//! A server names the issuer of its tokens, so a malicious one could send requests anywhere. Only
//! https is allowed, or http on this machine, and only public addresses are connected to, unless
//! the server itself is in a private network.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use kitbag_fetch::AddressGuard;
use kitbag_fetch::guard::{self, GuardedResolver, ResolveError, literal_address};
use reqwest::Client;
use serde::de::{DeserializeOwned, IgnoredAny};
use url::{Url, form_urlencoded};

use super::error::WebError;
use crate::body::read_body_within;

/// Address guards: one for public servers, one for servers in a private network.
#[derive(Clone)]
pub struct AddressGuards {
    pub public: AddressGuard,
    pub private: AddressGuard,
}

pub(crate) struct OauthWeb {
    client: Client,
    guard: AddressGuard,
}

/// A complete answer.
pub(crate) struct WebAnswer {
    pub(crate) status: StatusCode,
    pub(crate) body: Vec<u8>,
}

impl OauthWeb {
    /// Returns the client for requests on behalf of the server at this URL.
    pub(crate) async fn for_server(server: &Url, guards: &AddressGuards) -> Self {
        let guard = match is_private(server, &guards.public).await {
            true => guards.private.clone(),
            false => guards.public.clone(),
        };
        let client = kitbag_fetch::client_without_redirects()
            .dns_resolver(Arc::new(GuardedResolver(guard.clone())))
            .referer(false)
            .timeout(TIMEOUT)
            .build()
            .expect("the client is built from constants");
        Self { client, guard }
    }

    /// Returns a document, or `None` if there is none at this URL.
    pub(crate) async fn fetch_document<T: DeserializeOwned>(
        &self,
        url: &Url,
    ) -> Result<Option<T>, WebError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = reqwest::Request::new(Method::GET, url.clone());
            request.headers_mut().insert(ACCEPT, JSON);
            let response = self.send(request).await?;
            let status = response.status();
            if status.is_redirection() {
                url = redirect_target(&url, &response).ok_or_else(|| status_error(&url, status))?;
                continue;
            }
            if status.is_client_error() {
                return Ok(None);
            }
            return read_answer(&url, response).await?.document(&url);
        }
        Err(WebError::Unreachable {
            url: redacted_url(&url),
            reason: format!("it redirects more than {MAX_REDIRECTS} times"),
        })
    }

    pub(crate) async fn post_json(&self, url: &Url, body: Vec<u8>) -> Result<WebAnswer, WebError> {
        self.post(url, HeaderMap::new(), JSON, body).await
    }

    pub(crate) async fn post_form(
        &self,
        url: &Url,
        headers: HeaderMap,
        fields: &[(&str, &str)],
    ) -> Result<WebAnswer, WebError> {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        self.post(url, headers, FORM, body.into_bytes()).await
    }

    /// Checks that the URL may be used at all; names are checked when they are resolved.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), WebError> {
        let secure = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url));
        let judged = match (secure, literal_address(url)) {
            (false, _) => Err("it is not https".to_owned()),
            (true, Some(address)) => (self.guard)(address),
            (true, None) => Ok(()),
        };
        judged.map_err(|reason| WebError::Forbidden {
            url: redacted_url(url),
            reason,
        })
    }

    /// Checks the name here, too: if a proxy is set, the proxy resolves it, and the connection's
    /// guard would see only the proxy. A name that only the proxy knows is left to it.
    async fn check_name(&self, url: &Url) -> Result<(), WebError> {
        let (host, port) = (url.host_str(), url.port_or_known_default());
        let (Some(host), Some(port), None) = (host, port, literal_address(url)) else {
            return Ok(());
        };
        match guard::resolve(host, port, &self.guard).await {
            Err(ResolveError::Refused(refused)) => Err(WebError::Forbidden {
                url: redacted_url(url),
                reason: refused.reason,
            }),
            Ok(_) | Err(ResolveError::Unknown(_)) => Ok(()),
        }
    }

    async fn post(
        &self,
        url: &Url,
        headers: HeaderMap,
        content_type: HeaderValue,
        body: Vec<u8>,
    ) -> Result<WebAnswer, WebError> {
        let mut request = reqwest::Request::new(Method::POST, url.clone());
        *request.headers_mut() = headers;
        request.headers_mut().insert(ACCEPT, JSON);
        request.headers_mut().insert(CONTENT_TYPE, content_type);
        *request.body_mut() = Some(body.into());
        let response = self.send(request).await?;
        read_answer(url, response).await
    }

    async fn send(&self, request: reqwest::Request) -> Result<reqwest::Response, WebError> {
        let url = request.url().clone();
        self.check_url(&url)?;
        self.check_name(&url).await?;
        let answered = self.client.execute(request).await;
        answered.map_err(|error| WebError::Unreachable {
            url: redacted_url(&url),
            reason: kitbag_fetch::describe_error(error),
        })
    }
}

impl WebAnswer {
    /// Parses a document; `None` if the site answers every URL with its page.
    fn document<T: DeserializeOwned>(&self, url: &Url) -> Result<Option<T>, WebError> {
        let is_json = serde_json::from_slice::<IgnoredAny>(&self.body).is_ok();
        match self.status.is_success() && !is_json {
            true => Ok(None),
            false => self.parse_json(url).map(Some),
        }
    }

    pub(crate) fn parse_json<T: DeserializeOwned>(&self, url: &Url) -> Result<T, WebError> {
        if !self.status.is_success() {
            return Err(status_error(url, self.status));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            // The parser's message may quote its input, and that may be a token.
            let reason = format!("line {}, column {}", error.line(), error.column());
            WebError::Unreadable {
                url: redacted_url(url),
                reason,
            }
        })
    }
}

async fn read_answer(url: &Url, response: reqwest::Response) -> Result<WebAnswer, WebError> {
    let status = response.status();
    let body = read_body_within(response, MAX_BYTES).await;
    let body = body.map_err(|reason| WebError::Unreadable {
        url: redacted_url(url),
        reason,
    })?;
    Ok(WebAnswer { status, body })
}

fn status_error(url: &Url, status: StatusCode) -> WebError {
    WebError::Status {
        url: redacted_url(url),
        status: status.as_u16(),
    }
}

/// Returns the URL without the parts that could be secret.
pub(super) fn redacted_url(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Neither fails on a URL that has a host.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.into()
}

fn redirect_target(url: &Url, response: &reqwest::Response) -> Option<Url> {
    let location = response.headers().get(LOCATION)?;
    url.join(location.to_str().ok()?).ok()
}

/// True if all addresses of the server are private.
async fn is_private(server: &Url, public: &AddressGuard) -> bool {
    let addresses = resolve_addresses(server).await;
    let mut refused = addresses.iter().map(|address| public(*address).is_err());
    !addresses.is_empty() && refused.all(|is_refused| is_refused)
}

async fn resolve_addresses(url: &Url) -> Vec<IpAddr> {
    if let Some(address) = literal_address(url) {
        return vec![address];
    }
    let Some(host) = url.host_str() else {
        return Vec::new();
    };
    let found = tokio::net::lookup_host((host, 0)).await;
    found
        .map(|found| found.map(|address| address.ip()).collect())
        .unwrap_or_default()
}

fn is_loopback(url: &Url) -> bool {
    literal_address(url).map_or(url.host_str() == Some("localhost"), |address| {
        address.is_loopback()
    })
}

/// An authorization server answers within seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// A document that has moved is usually one redirect away.
const MAX_REDIRECTS: usize = 3;
/// The documents and answers of the protocol have a few kilobytes.
const MAX_BYTES: usize = 1024 * 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

impl fmt::Debug for AddressGuards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressGuards")
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::response::Redirect;
    use axum::routing::get;
    use serde_json::{Value, json};

    use super::*;

    /// Loopback counts as public here, so that a test can stand in for the internet.
    fn guards(private_prefix: &'static str) -> AddressGuards {
        let public = move |address: IpAddr| match address.to_string().starts_with(private_prefix) {
            true => Err("it is private".to_owned()),
            false => Ok(()),
        };
        AddressGuards {
            public: Arc::new(public),
            private: Arc::new(|_| Ok(())),
        }
    }

    #[tokio::test]
    async fn a_public_server_leads_to_no_private_address_and_no_server_to_plain_http() {
        for (server, url, expected) in [
            ("https://9.9.9.9/mcp", "https://auth.example/token", true),
            ("https://9.9.9.9/mcp", "http://auth.example/token", false),
            ("https://9.9.9.9/mcp", "https://1.0.0.1/token", false),
            ("https://9.9.9.9/mcp", "http://127.0.0.1/token", false),
            ("https://1.0.0.2/mcp", "https://1.0.0.1/token", true),
            ("https://1.0.0.2/mcp", "http://1.0.0.1/token", false),
            ("http://127.0.0.1/mcp", "http://127.0.0.1:99/token", true),
            ("http://127.0.0.1/mcp", "http://localhost:99/token", true),
            ("http://127.0.0.1/mcp", "file:///etc/passwd", false),
        ] {
            let web = OauthWeb::for_server(&server.parse().unwrap(), &guards("1")).await;
            assert_eq!(
                web.check_url(&url.parse().unwrap()).is_ok(),
                expected,
                "{server} {url}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_rejected_before_a_proxy_could_resolve_it() {
        let private = |address: IpAddr| match address.is_loopback() {
            true => Err("it is private".to_owned()),
            false => Ok(()),
        };
        let guards = AddressGuards {
            public: Arc::new(private),
            private: Arc::new(|_| Ok(())),
        };
        let server = "https://9.9.9.9/mcp".parse().unwrap();
        let web = OauthWeb::for_server(&server, &guards).await;
        for url in ["https://localhost:1/x", "http://localhost:1/x"] {
            let found = web.fetch_document::<Value>(&url.parse().unwrap()).await;
            let expected = format!("`{url}` may not be used: it is private");
            assert_eq!(found.unwrap_err().to_string(), expected);
        }
    }

    #[tokio::test]
    async fn redirects_of_a_document_are_followed_but_not_into_private_networks() {
        let router = Router::new()
            .route(
                "/document",
                get(async || json!({ "found": true }).to_string()),
            )
            .route("/moved", get(async || Redirect::permanent("/document")))
            .route("/round", get(async || Redirect::permanent("/round")))
            .route(
                "/inside",
                get(async || Redirect::permanent("https://10.0.0.1/document")),
            )
            .route(
                "/plain",
                get(async || Redirect::permanent("http://auth.example/document")),
            )
            .route("/page", get(async || "<!doctype html>"));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base: Url = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let web = OauthWeb::for_server(&base, &guards("10.")).await;
        for (path, expected) in [
            ("/document", "found"),
            ("/moved", "found"),
            ("/page", "none"),
            ("/missing", "none"),
            (
                "/round",
                "could not be reached: it redirects more than 3 times",
            ),
            (
                "/inside",
                "`https://10.0.0.1/document` may not be used: it is private",
            ),
            (
                "/plain",
                "`http://auth.example/document` may not be used: it is not https",
            ),
        ] {
            let found = match web.fetch_document::<Value>(&base.join(path).unwrap()).await {
                Ok(document) => document.map_or("none", |_| "found").to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(found.ends_with(expected), "{path}: {found}");
        }
    }
}
