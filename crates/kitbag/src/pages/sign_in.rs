//! Signing in with a key, and out.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Query, Request, State};
use axum::middleware;
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Form, http::HeaderMap};
use http::StatusCode;
use http::header::SET_COOKIE;
use kitbag_gateway::front::page_access;
use maud::{Markup, html};
use serde::Deserialize;

use super::Pages;
use super::layout::{bare_page, error_page};
use super::visitor::{
    Visitor, admit_visitor, explain_rejection, page_role, session_cookie, set_cookie,
    with_security_headers,
};

pub(super) const SIGN_IN: &str = "/ui/sign-in";
pub(super) const SIGN_OUT: &str = "/ui/sign-out";

/// A stranger may send this form; a key and a path are short.
const MAX_FORM_BYTES: usize = 16 << 10;

pub(super) fn routes(pages: &Pages) -> Router<Pages> {
    let sign_out = Router::new()
        .route(SIGN_OUT, post(sign_out))
        .layer(middleware::from_fn_with_state(pages.clone(), admit_visitor));
    Router::new()
        .route(SIGN_IN, get(show_form).post(sign_in))
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(middleware::from_fn_with_state(
            pages.clone(),
            reject_foreign,
        ))
        .layer(middleware::map_response(async |answer: Response| {
            with_security_headers(explain_rejection(answer).await)
        }))
        .merge(sign_out)
}

#[derive(Deserialize)]
struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct SignIn {
    key: String,
    #[serde(default)]
    next: String,
}

async fn show_form(Query(Next { next }): Query<Next>) -> Html<String> {
    bare_page("Sign in", &form(&next, None))
}

/// Other web pages may link to the form, and not read, frame or send it.
async fn reject_foreign(
    State(pages): State<Pages>,
    request: Request,
    next: middleware::Next,
) -> Response {
    let (gateway, method) = (pages.gateway(), request.method());
    match page_access::rejection_reason(&gateway, method, request.headers()) {
        Some(reason) => error_page(StatusCode::FORBIDDEN, &reason),
        None => next.run(request).await,
    }
}

/// The form needs no token of a session: it is accepted only from our own origin, and a stranger
/// who could send it would need a valid key.
async fn sign_in(
    State(pages): State<Pages>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Form(SignIn { key, next }): Form<SignIn>,
) -> Response {
    let gateway = pages.gateway();
    let key = key.trim();
    let problem = match page_access::authenticate_key(&gateway, peer, &headers, key).await {
        Ok(caller) if page_role(&caller).is_some() => {
            if let Some(former) = session_cookie(&headers) {
                pages.sessions.end_session(&former);
            }
            let (id, _) = pages.sessions.start_session(Some(key));
            let cookie = [(SET_COOKIE, set_cookie(&headers, &id))];
            return (cookie, Redirect::to(local_path(&next))).into_response();
        }
        Ok(_) => {
            "This key belongs to a client. Sign in with a key of the role `operator` or `admin`."
                .to_owned()
        }
        Err(rejection) => format!("Not signed in: {rejection}."),
    };
    let page = bare_page("Sign in", &form(&next, Some(&problem)));
    (StatusCode::UNAUTHORIZED, page).into_response()
}

async fn sign_out(visitor: Visitor) -> Redirect {
    visitor.end_session();
    Redirect::to(SIGN_IN)
}

/// Returns a path below `/ui`, so that a link cannot lead elsewhere after signing in.
fn local_path(next: &str) -> &str {
    let is_local = next == "/ui" || next.starts_with("/ui/") || next.starts_with("/ui?");
    let is_path = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    match is_local && is_path && !next.starts_with("/ui/sign-") {
        true => next,
        false => "/ui",
    }
}

fn form(next: &str, problem: Option<&str>) -> Markup {
    html! {
        form.stack method="post" action=(SIGN_IN) {
            @if let Some(problem) = problem { p.notice.bad role="alert" { (problem) } }
            label { "Key" input type="password" name="key" autocomplete="current-password" required autofocus; }
            input type="hidden" name="next" value=(next);
            button.primary { "Sign in" }
        }
        p.muted { "To create a key, run " code { "kitbag key create --role admin" }
            " (or " code { "--role operator" } ", which may only read)." }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_signing_in_a_person_stays_here() {
        assert_eq!(local_path("/ui/calls?tool=x"), "/ui/calls?tool=x");
        let elsewhere = [
            "https://evil.example",
            "//evil.example",
            "/ui/sign-in",
            "/ui/sign-out",
            "/uix",
        ];
        let odd = [
            "/ui/\\evil",
            "/ui/\u{1}",
            "/ui/\r\nX: y",
            "/ui/é",
            "/ui /x",
            "",
        ];
        for elsewhere in elsewhere.into_iter().chain(odd) {
            assert_eq!(local_path(elsewhere), "/ui", "{elsewhere}");
        }
    }
}
