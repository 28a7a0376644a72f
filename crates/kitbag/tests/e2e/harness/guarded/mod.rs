//! A testbed that requires a token, and the authorization server that issues tokens. Both share one
//! address, as in small deployments.

mod authority;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode, Uri, header};

use super::Remote;
use authority::Authority;

/// Deviations from the protocol.
#[derive(Debug, Clone)]
pub(crate) struct Deviations {
    /// The resource in its metadata.
    pub(crate) issuer: Option<&'static str>,
    /// The issuer in responses; empty for none.
    pub(crate) answers_as: Option<&'static str>,
    /// Promises to name its issuer in responses.
    pub(crate) names_itself: bool,
    /// The server's claim about its resource.
    pub(crate) resource: Option<&'static str>,
    /// The audience of tokens.
    pub(crate) audience: Option<&'static str>,
    pub(crate) pkce: bool,
    pub(crate) registers: bool,
    pub(crate) reads_documents: bool,
    pub(crate) has_devices: bool,
    /// A preregistered client with a secret.
    pub(crate) knows: Option<(&'static str, &'static str)>,
    /// In seconds.
    pub(crate) lifetime: i64,
}

impl Default for Deviations {
    fn default() -> Self {
        Self {
            issuer: None,
            answers_as: None,
            names_itself: true,
            resource: None,
            audience: None,
            pkce: true,
            registers: true,
            reads_documents: false,
            has_devices: false,
            knows: None,
            lifetime: 3600,
        }
    }
}

/// Ends with the test.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// Without a path.
    pub(crate) base: String,
    transport: &'static str,
    path: &'static str,
    house: Arc<House>,
    serving: tokio::task::JoinHandle<()>,
    _testbed: Remote,
}

#[derive(Debug)]
struct House {
    base: String,
    testbed: String,
    ways: Deviations,
    http: reqwest::Client,
    authority: Mutex<Authority>,
    seen: Mutex<Vec<String>>,
    /// The scope that a tool call requires in addition.
    demanded: Mutex<Option<&'static str>>,
}

impl Guarded {
    pub(crate) async fn start(ways: Deviations) -> Self {
        Self::before(Remote::http(&[]).await, "http", "/mcp", ways).await
    }

    pub(crate) async fn sse(ways: Deviations) -> Self {
        Self::before(Remote::sse(&[]).await, "sse", "/sse", ways).await
    }

    async fn before(
        testbed: Remote,
        transport: &'static str,
        path: &'static str,
        ways: Deviations,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let house = Arc::new(House {
            base: base.clone(),
            testbed: format!("http://127.0.0.1:{}", testbed.port()),
            ways,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            authority: Mutex::default(),
            seen: Mutex::default(),
            demanded: Mutex::default(),
        });
        let router = Router::new().fallback(answer).with_state(house.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            base,
            transport,
            path,
            house,
            serving,
            _testbed: testbed,
        }
    }

    /// Its `[servers.NAME]` table, with extra lines from `settings`.
    pub(crate) fn table(&self, name: &str, settings: &str) -> String {
        let Self {
            base,
            path,
            transport,
            ..
        } = self;
        format!(
            "[servers.{name}]\nurl = \"{base}{path}\"\ntransport = \"{transport}\"\n{settings}\n"
        )
    }

    /// A line for each request so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.house.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.log()
            .iter()
            .filter(|line| line.starts_with(what))
            .count()
    }

    /// Expires all access tokens, but not the refresh tokens.
    pub(crate) fn expire(&self) {
        self.house.authority().tokens.clear();
    }

    /// Revokes all access and refresh tokens.
    pub(crate) fn revoke(&self) {
        *self.house.authority() = Authority::default();
    }

    /// Requires this scope for tool calls from now on.
    pub(crate) fn demand(&self, scope: &'static str) {
        *self.house.demanded.lock().unwrap() = Some(scope);
    }

    /// All secrets, for a test to search for where they must not be.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let authority = self.house.authority();
        let refresh = authority.refresh.keys().cloned();
        authority.tokens.keys().cloned().chain(refresh).collect()
    }
}

impl House {
    fn authority(&self) -> MutexGuard<'_, Authority> {
        self.authority.lock().unwrap()
    }

    fn saw(&self, line: impl Into<String>) {
        self.seen.lock().unwrap().push(line.into());
    }

    /// The server's resource identifier: its address up to the path.
    fn resource(&self) -> String {
        self.ways
            .resource
            .map_or_else(|| self.base.clone(), str::to_owned)
    }
}

async fn answer(
    State(house): State<Arc<House>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(answered) = authority::answer(&house, uri.path(), uri.query(), &headers, &body) {
        return answered;
    }
    if let Some(away) = reject_request(&house, &headers, &body) {
        return away;
    }
    forward(&house, method, &uri, &headers, body).await
}

fn reject_request(house: &House, headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    let metadata = format!("{}/.well-known/oauth-protected-resource", house.base);
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
    let scopes = house
        .authority()
        .scopes_for(token.unwrap_or_default(), &house.base);
    let Some(scopes) = scopes else {
        house.saw(if token.is_some() {
            "turned away with a token"
        } else {
            "turned away"
        });
        let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"read\"");
        return Some(
            (
                StatusCode::UNAUTHORIZED,
                [(header::WWW_AUTHENTICATE, challenge)],
            )
                .into_response(),
        );
    };
    let scope = (*house.demanded.lock().unwrap())?;
    let is_call = String::from_utf8_lossy(body).contains("\"tools/call\"");
    if !is_call || scopes.split(' ').any(|it| it == scope) {
        return None;
    }
    house.saw(format!("wants {scope}"));
    let challenge = format!(
        "Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{metadata}\""
    );
    Some(
        (
            StatusCode::FORBIDDEN,
            [(header::WWW_AUTHENTICATE, challenge)],
        )
            .into_response(),
    )
}

async fn forward(
    house: &House,
    method: Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Bytes,
) -> Response {
    let mut request = house
        .http
        .request(method, format!("{}{uri}", house.testbed))
        .body(body);
    for (name, value) in headers {
        if ![header::HOST, header::AUTHORIZATION, header::CONTENT_LENGTH].contains(name) {
            request = request.header(name, value);
        }
    }
    let answered = request.send().await.unwrap();
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answered.status();
    let kept = ["content-type", "mcp-session-id"];
    let kept = kept
        .into_iter()
        .filter_map(|name| Some((name, answered.headers().get(name)?.clone())));
    response.headers_mut().extend(
        kept.map(|(name, value)| (name.parse().unwrap(), value))
            .collect::<HeaderMap>(),
    );
    *response.body_mut() = Body::from_stream(answered.bytes_stream());
    response
}

/// The fields of a query string or form.
fn fields(text: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
