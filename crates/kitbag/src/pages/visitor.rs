//! Admits people to the pages: the host and origin of the request, their session, and their role.
//!
//! A change needs the role of an admin, a form of our own origin, and the token of the session in
//! that form. No handler checks this itself.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HOST, HeaderValue,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use kitbag_domain::{Action, Caller, Event, Role, ShortText, Tenant};
use kitbag_gateway::front::page_access;
use kitbag_gateway::telemetry::rejections::Rejection;
use maud::html;
use url::form_urlencoded;

use super::Pages;
use super::layout::{bare_page, error_page};
use super::notice::Notice;
use super::session::{Session, SessionId};
use crate::trail;

/// Forms of pages are small; the largest holds the configuration of another client.
const MAX_FORM_BYTES: usize = 1 << 20;

/// The field of each form with the token of the session.
pub(super) const CSRF_FIELD: &str = "csrf";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageRole {
    Reader,
    Admin,
}

/// The person who looks at a page.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) role: PageRole,
    /// The caller of tools that this person tries.
    pub(super) caller: Caller,
    pub(super) csrf: Arc<str>,
    pub(super) notice: Option<Notice>,
    session: SessionId,
    pages: Pages,
}

impl Visitor {
    pub(super) fn is_admin(&self) -> bool {
        self.role == PageRole::Admin
    }

    /// True if there is a session to end.
    pub(super) fn has_key(&self) -> bool {
        self.caller.key.is_some()
    }

    /// Redirects to a page that shows the outcome of a change.
    pub(super) fn redirect(&self, to: &str, outcome: anyhow::Result<String>) -> Response {
        let notice = match outcome {
            Ok(done) => Notice::done(done),
            Err(error) => Notice::failed(&error),
        };
        self.redirect_with_notice(to, notice)
    }

    /// Redirects to a page that shows the outcome itself.
    pub(super) fn redirect_silently(&self, to: &str) -> Response {
        Redirect::to(to).into_response()
    }

    pub(super) fn redirect_with_notice(&self, to: &str, notice: Notice) -> Response {
        self.pages.sessions.set_notice(&self.session, notice);
        Redirect::to(to).into_response()
    }

    pub(super) fn end_session(&self) {
        self.pages.sessions.end_session(&self.session);
    }

    /// False after signing out, and once the key is revoked or expired.
    pub(super) async fn is_still_admitted(&self) -> bool {
        match self.pages.sessions.key_of(&self.session) {
            None => false,
            Some(None) => true,
            Some(Some(key)) => page_access::is_accepted(&self.pages.gateway(), &key).await,
        }
    }

    /// Records a change by this person in the audit.
    pub(super) async fn record_change(
        &self,
        action: Action,
        subject: &str,
        tenant: Option<Tenant>,
    ) -> anyhow::Result<()> {
        let gateway = self.pages.gateway();
        let event = self.change_event(action, subject, tenant);
        trail::record_event(&gateway.services.store, event).await
    }

    /// Records the edits of the configuration file that this process has made.
    pub(super) async fn record_edits(&self) -> anyhow::Result<()> {
        let gateway = self.pages.gateway();
        for edit in kitbag_config::take_edits() {
            let path = edit.path.display().to_string();
            let detail = ShortText::truncate(&edit.changes.join(", "));
            let event = Event {
                detail: (!edit.changes.is_empty()).then_some(detail),
                ..self.change_event(Action::ConfigurationEdited, &path, None)
            };
            trail::record_event(&gateway.services.store, event).await?;
        }
        Ok(())
    }

    /// An audit event of a change by this person.
    pub(super) fn change_event(
        &self,
        action: Action,
        subject: &str,
        tenant: Option<Tenant>,
    ) -> Event {
        let event = trail::change_event("kitbag ui", action, subject);
        match &self.caller.key {
            None => Event { tenant, ..event },
            Some(key) => Event {
                tenant,
                actor: Some(ShortText::truncate(&format!("key {key}"))),
                ..event
            },
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Visitor {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let visitor = parts.extensions.get::<Self>().cloned();
        visitor.ok_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// Lets a request through to its page, with a [`Visitor`], or answers it with the reason.
pub(super) async fn admit_visitor(
    State(pages): State<Pages>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let answer = match admit(&pages, peer, request).await {
        Ok((request, cookie)) => {
            let mut answer = explain_rejection(next.run(request).await).await;
            if let Some(cookie) = cookie {
                answer.headers_mut().append(SET_COOKIE, cookie);
            }
            answer
        }
        Err(answer) => *answer,
    };
    with_security_headers(answer)
}

/// Returns the request of an admitted person and the cookie of a new session.
async fn admit(
    pages: &Pages,
    peer: SocketAddr,
    request: Request,
) -> Result<(Request, Option<HeaderValue>), Box<Response>> {
    let gateway = pages.gateway();
    let (method, headers) = (request.method().clone(), request.headers().clone());
    if let Some(reason) = page_access::rejection_reason(&gateway, &method, &headers) {
        return Err(reject(StatusCode::FORBIDDEN, &reason));
    }
    let known = session_cookie(&headers).and_then(|id| {
        let session = pages.sessions.find_session(&id)?;
        Some((id, session))
    });
    let (id, session, cookie) = match known {
        Some((id, session)) => (id, session, None),
        None if page_access::is_link_from_elsewhere(&headers) => {
            return Err(Box::new(reload_page()));
        }
        None if page_access::is_keyless(&gateway, peer, &headers) => {
            let (id, session) = pages.sessions.start_session(None);
            let cookie = set_cookie(&headers, &id);
            (id, session, Some(cookie))
        }
        None => return Err(Box::new(to_sign_in(&request))),
    };
    let (role, caller) = match identify(pages, peer, &headers, &session).await {
        Ok(identified) => identified,
        Err(rejection @ (Rejection::Store(_) | Rejection::TooManyRequests)) => {
            return Err(reject(
                StatusCode::SERVICE_UNAVAILABLE,
                &rejection.to_string(),
            ));
        }
        Err(_) => {
            pages.sessions.end_session(&id);
            return Err(Box::new(to_sign_in(&request)));
        }
    };
    let request = if page_access::is_read(&method) {
        request
    } else {
        admit_change(request, role, &session).await?
    };
    let notice = (method == Method::GET && !is_refresh(&headers))
        .then(|| pages.sessions.take_notice(&id))
        .flatten();
    let mut request = request;
    request.extensions_mut().insert(Visitor {
        role,
        caller,
        csrf: session.csrf,
        notice,
        session: id,
        pages: pages.clone(),
    });
    Ok((request, cookie))
}

/// Checks the key of the session again, since it may have been revoked.
async fn identify(
    pages: &Pages,
    peer: SocketAddr,
    headers: &HeaderMap,
    session: &Session,
) -> Result<(PageRole, Caller), Rejection> {
    let gateway = pages.gateway();
    let Some(key) = &session.key else {
        return if page_access::is_keyless(&gateway, peer, headers) {
            Ok((PageRole::Admin, Caller::local()))
        } else {
            Err(Rejection::KeyMissing)
        };
    };
    let caller = page_access::authenticate_key(&gateway, peer, headers, key).await?;
    page_access::reserve_request(&gateway, &caller)?;
    let role = page_role(&caller).ok_or(Rejection::KeyMissing)?;
    Ok((role, caller))
}

/// Returns the role of a signed-in key; a key of a client has none.
pub(super) fn page_role(caller: &Caller) -> Option<PageRole> {
    match caller.role {
        Role::User => None,
        Role::Operator => Some(PageRole::Reader),
        Role::Admin => Some(PageRole::Admin),
    }
}

/// Checks the role and the token of a form, and returns the request with its body.
async fn admit_change(
    request: Request,
    role: PageRole,
    session: &Session,
) -> Result<Request, Box<Response>> {
    let (parts, body) = request.into_parts();
    let Ok(form) = to_bytes(body, MAX_FORM_BYTES).await else {
        return Err(reject(
            StatusCode::PAYLOAD_TOO_LARGE,
            "this form is too large",
        ));
    };
    let token = form_urlencoded::parse(&form).find(|(name, _)| name == CSRF_FIELD);
    if token.is_none_or(|(_, token)| !constant_time_eq(&token, &session.csrf)) {
        let reason = "this form has expired; reload the page and send it again";
        return Err(reject(StatusCode::FORBIDDEN, reason));
    }
    if role != PageRole::Admin && parts.uri.path() != super::sign_in::SIGN_OUT {
        let reason =
            "your key may only read; to make changes, sign in with a key of the role `admin`";
        return Err(reject(StatusCode::FORBIDDEN, reason));
    }
    Ok(Request::from_parts(parts, Body::from(form)))
}

fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes()
            .zip(b.bytes())
            .fold(0, |all, (a, b)| all | (a ^ b))
            == 0
}

/// True if the script of an open page asks for its newest state.
fn is_refresh(headers: &HeaderMap) -> bool {
    headers.contains_key("x-kitbag-refresh")
}

fn reject(status: StatusCode, reason: &str) -> Box<Response> {
    Box::new(error_page(status, reason))
}

/// Without the cookie of a session, a person who follows a link of another site looks like one who
/// has none. When our own page asks again, the browser sends the cookie.
fn reload_page() -> Response {
    let body = html! { p { a href="" { "Continue to Kitbag" } } };
    ([("refresh", "0")], bare_page("Opening Kitbag", &body)).into_response()
}

fn to_sign_in(request: &Request) -> Response {
    // Neither follows a redirect to a form.
    if is_refresh(request.headers()) || request.uri().path() == super::events::EVENTS {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let is_page = page_access::is_read(request.method());
    let page = request.uri().path_and_query().filter(|_| is_page);
    let next = page.map_or("/ui", |page| page.as_str());
    let query: String = form_urlencoded::Serializer::new(String::new())
        .append_pair("next", next)
        .finish();
    Redirect::to(&format!("{}?{query}", super::sign_in::SIGN_IN)).into_response()
}

/// Cookies do not tell ports apart, so the port is part of the name.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
    port.map_or_else(|| "kitbag".to_owned(), |port| format!("kitbag_{port}"))
}

pub(super) fn session_cookie(headers: &HeaderMap) -> Option<SessionId> {
    let name = cookie_name(headers);
    let cookies = headers.get_all(COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split("; "))
        .filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, id)| SessionId::from_cookie(id))
}

/// Returns the header that stores the session in the browser until it is closed.
pub(super) fn set_cookie(headers: &HeaderMap, id: &SessionId) -> HeaderValue {
    let is_https = headers
        .get("x-forwarded-proto")
        .is_some_and(|it| it == "https");
    let secure = if is_https { "; Secure" } else { "" };
    let (name, id) = (cookie_name(headers), id.as_str());
    let cookie = format!("{name}={id}; Path=/ui; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::from_str(&cookie).expect("a port and base64 are valid in a header")
}

/// Turns the plain text with which the framework rejects a path, a query or a form into a page. It
/// repeats what a link or a form says.
pub(super) async fn explain_rejection(answer: Response) -> Response {
    let status = answer.status();
    let kind = answer.headers().get(CONTENT_TYPE);
    let is_page = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if is_page || !(status.is_client_error() || status.is_server_error()) {
        return answer;
    }
    let reason = to_bytes(answer.into_body(), MAX_FORM_BYTES).await;
    let reason = String::from_utf8_lossy(&reason.unwrap_or_default()).into_owned();
    error_page(status, &reason)
}

/// Forbids scripts and styles from elsewhere and inline, framing, and caching.
pub(super) fn with_security_headers(mut answer: Response) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                          connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // With `no-referrer`, browsers would not state the origin of forms.
        (REFERRER_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}
