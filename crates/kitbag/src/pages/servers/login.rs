//! A login at a server that begins on its page, for a browser on this machine.

use std::time::Duration;

use anyhow::{Context as _, bail};
use async_trait::async_trait;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use kitbag_domain::{Action, ServerName};
use kitbag_upstream::Server;
use kitbag_upstream::oauth::{DeviceCode, Flow, LoginError, Person, RedirectTarget, Scopes};
use maud::{Markup, html};
use tokio::sync::oneshot;
use url::Url;

use super::server_path;
use crate::cli::servers::login_dialog::RedirectListener;
use crate::pages::Pages;
use crate::pages::elements::{code_text, text};
use crate::pages::layout::{Section, page};
use crate::pages::visitor::Visitor;

/// The server and its authorization server answer several requests in this time.
const URL_TIMEOUT: Duration = Duration::from_secs(30);

/// What the person has to do in the browser.
enum LoginStep {
    Open(Url),
    EnterCode { url: String, code: String },
}

/// The person at a page: the first step is shown there, and the browser comes back to a listener.
struct PageVisitor {
    step: Option<oneshot::Sender<LoginStep>>,
    listener: Option<RedirectListener>,
}

/// True if a login can begin on the page: the browser is on this machine, and the server has
/// logins of people.
pub(super) fn can_log_in(server: &Server, visitor: &Visitor) -> bool {
    visitor.is_admin()
        && !visitor.has_key()
        && server.credentials().is_some()
        && server.spec().oauth.flow != Flow::ClientCredentials
}

pub(super) async fn begin(
    State(pages): State<Pages>,
    Path(name): Path<ServerName>,
    visitor: Visitor,
) -> Response {
    match begin_login(&pages, &name, &visitor).await {
        Ok(step) => {
            let body = render_step(&step, &name);
            page(&visitor, Section::Servers, "Log in", &body).into_response()
        }
        Err(error) => visitor.redirect(&server_path(&name), Err(error)),
    }
}

/// Starts the login and returns the first step. The rest happens in the background.
async fn begin_login(
    pages: &Pages,
    name: &ServerName,
    visitor: &Visitor,
) -> anyhow::Result<LoginStep> {
    let gateway = pages.gateway();
    let server = gateway
        .upstreams
        .get(name)
        .filter(|it| can_log_in(it, visitor));
    let credentials = server.and_then(|it| it.credentials().cloned());
    let Some(credentials) = credentials else {
        bail!("a login at `{name}` cannot begin here; run `kitbag servers login {name}`");
    };
    let (sender, step) = oneshot::channel();
    let (name, visitor) = (name.clone(), visitor.clone());
    let login = tokio::spawn(async move {
        let mut person = PageVisitor {
            step: Some(sender),
            listener: None,
        };
        let granted = credentials.login(&mut person, &Scopes::default()).await;
        granted.with_context(|| format!("login to `{name}` failed"))?;
        visitor
            .record_change(Action::LoggedIn, name.as_str(), None)
            .await
    });
    match tokio::time::timeout(URL_TIMEOUT, step).await {
        Ok(Ok(step)) => Ok(step),
        // It ended before the first step.
        Ok(Err(_)) => match login.await? {
            Ok(()) => bail!("you are logged in already"),
            Err(error) => Err(error),
        },
        Err(_) => bail!("the server did not say in time where to log in"),
    }
}

fn render_step(step: &LoginStep, name: &ServerName) -> Markup {
    html! {
        @match step {
            LoginStep::Open(url) => {
                @let host = url.host_str().unwrap_or_default();
                @if matches!(url.scheme(), "http" | "https") {
                    p { a.button href=(url) target="_blank" rel="noreferrer noopener" { "Log in at " (text(host)) } }
                    p { "After the login, the browser says that you can close the page." }
                } @else {
                    p { "The login has no web address: " (code_text(url.as_str())) }
                }
            }
            LoginStep::EnterCode { url, code } => {
                p { "Go to this address and enter the code:" }
                p { code.secret { (text(url)) } }
                p { code.secret { (text(code)) } }
            }
        }
        p { a href=(server_path(name)) { "Back to the server" } }
    }
}

impl PageVisitor {
    fn send(&mut self, step: LoginStep) {
        if let Some(sender) = self.step.take() {
            let _nobody_waits = sender.send(step);
        }
    }
}

#[async_trait]
impl Person for PageVisitor {
    async fn redirect(&mut self, target: &RedirectTarget) -> Result<Url, LoginError> {
        let listener = RedirectListener::bind(target).await?;
        let url = listener.url().clone();
        self.listener = Some(listener);
        Ok(url)
    }

    async fn browse(&mut self, url: &Url) -> Result<String, LoginError> {
        let listener = self.listener.take().ok_or(LoginError::NoCode)?;
        self.send(LoginStep::Open(url.clone()));
        listener.await_redirect(url).await
    }

    fn is_elsewhere(&self) -> bool {
        false
    }

    fn show(&mut self, code: &DeviceCode) {
        self.send(LoginStep::EnterCode {
            url: code.verification_uri.to_string(),
            code: code.user_code.clone(),
        });
    }
}
