//! A person logs in: from an address to tokens that the server accepts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method, StatusCode};
use url::Url;

use super::authority::Authority;
use super::challenge::Challenge;
use super::client::{Client, KnownBy};
use super::credentials::Credentials;
use super::device::{self, DeviceCode};
use super::error::{FailedLogin, LoginError, WebError};
use super::grant::{Grant, now};
use super::request::AuthorizationRequest;
use super::scopes::Scopes;
use super::token::{TokenEndpoint, Tokens};
use super::web::shown;

/// Whoever sits in front of a browser, as far as a login is concerned.
#[async_trait]
pub trait Person: Send {
    /// Where their browser can come back to.
    async fn redirect(&mut self, port: Port) -> Result<Url, LoginError>;

    /// Sends them to an address and comes back with the one they were sent to from there.
    async fn browse(&mut self, url: &Url) -> Result<String, LoginError>;

    /// Whether their browser is on another machine, and can only come back by hand.
    fn is_elsewhere(&self) -> bool;

    /// Shows a code to type in there.
    fn show(&mut self, code: &DeviceCode);
}

/// Where on this machine a browser should come back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    Any,
    /// Known to the authorization server; at another one we have to register anew.
    Rather(u16),
    /// No other will do.
    Only(u16),
}

impl Credentials {
    /// Asks a person, and keeps what they are given. `extra` is asked for beside what the server
    /// needs.
    pub async fn login(
        &self,
        person: &mut dyn Person,
        extra: &Scopes,
    ) -> Result<Arc<Grant>, FailedLogin> {
        let logged_in = self.log_in(person, extra).await;
        logged_in.map_err(|error| self.failed(error))
    }

    async fn log_in(
        &self,
        person: &mut dyn Person,
        extra: &Scopes,
    ) -> Result<Arc<Grant>, LoginError> {
        let web = self.web().await;
        let earlier = self.look().await?;
        let (asked, challenge) = match self.last_challenge() {
            Some(challenge) => (true, Some(challenge)),
            None => self
                .knock(None)
                .await?
                .map_or((false, None), |(_, challenge)| (true, challenge)),
        };
        let issuer = self.settings().issuer.as_deref();
        let authority = Authority::find(web, &self.url(), challenge.as_ref(), issuer).await?;
        if authority.guessed && !asked {
            return Err(LoginError::NotAsked);
        }
        let earlier = self.still_good(earlier.as_deref(), &authority)?;
        let scopes = self.all_scopes(&authority, challenge.as_ref(), earlier, extra);

        // A login may have ended because our registration did, so the next one registers anew.
        let known = earlier.filter(|it| it.ended.is_none()).map(|it| &it.client);
        let redirect = person.redirect(self.port(known)).await?;
        let configured = self.configured()?;
        let client = Client::choose(web, &authority, &configured, known, &redirect, now()).await?;
        let url = &authority.metadata.token_endpoint;
        let endpoint = TokenEndpoint {
            web,
            url,
            client: &client,
            resource: &authority.resource,
        };
        let tokens = match &authority.metadata.device_authorization_endpoint {
            Some(url) if person.is_elsewhere() => {
                let code = device::begin(&endpoint, url, &scopes).await?;
                person.show(&code);
                device::wait(&endpoint, &code).await?
            }
            _ => {
                self.through_browser(person, &authority, &endpoint, &redirect, &scopes)
                    .await?
            }
        };
        let grant = Grant::new(&authority, &client, scopes, tokens);
        self.check(&grant).await?;
        let _alone = self.logins.keeper.lock(&self.server).await?;
        Ok(self.adopt(grant).await?)
    }

    /// Forgets the login, and tells the authorization server if it wants to know. Whether there
    /// was one.
    pub async fn logout(&self) -> Result<bool, FailedLogin> {
        self.log_out().await.map_err(|error| self.failed(error))
    }

    async fn log_out(&self) -> Result<bool, LoginError> {
        let _alone = self.logins.keeper.lock(&self.server).await?;
        if let Some(grant) = self.look().await? {
            self.revoke(&grant).await;
        }
        Ok(self.logins.keeper.remove(&self.server).await?)
    }

    fn failed(&self, error: LoginError) -> FailedLogin {
        FailedLogin {
            server: self.server.clone(),
            error,
        }
    }

    fn port(&self, known: Option<&Client>) -> Port {
        let earlier = known.and_then(|client| client.redirect.as_ref()?.port());
        let only = self.settings().redirect_port.map(Port::Only);
        only.or(earlier.map(Port::Rather)).unwrap_or(Port::Any)
    }

    async fn through_browser(
        &self,
        person: &mut dyn Person,
        authority: &Authority,
        endpoint: &TokenEndpoint<'_>,
        redirect: &Url,
        scopes: &Scopes,
    ) -> Result<Tokens, LoginError> {
        let request = AuthorizationRequest::new(authority, endpoint.client, redirect, scopes)?;
        endpoint.web.permits(&request.url)?;
        let answer = person.browse(&request.url).await?;
        let code = request.code(&answer)?;
        Ok(endpoint
            .exchange(&code, &request.verifier, redirect)
            .await?)
    }

    /// What an earlier login tells about this one: nothing, if it was at another authorization
    /// server. A client that a person registered there is not shown to the new one.
    fn still_good<'a>(
        &self,
        earlier: Option<&'a Grant>,
        authority: &Authority,
    ) -> Result<Option<&'a Grant>, LoginError> {
        let Some(earlier) = earlier else {
            return Ok(None);
        };
        let (expected, found) = (&earlier.issuer, &authority.metadata.issuer);
        if expected == found {
            return Ok(Some(earlier));
        }
        let same_client = earlier.client.known_by == KnownBy::Configuration
            && self.settings().client_id.as_ref() == Some(&earlier.client.id);
        if same_client && self.settings().issuer.is_none() {
            return Err(LoginError::IssuerChanged {
                expected: expected.clone(),
                found: found.clone(),
            });
        }
        Ok(None)
    }

    /// Together with everything asked for before, because the new tokens replace the old.
    fn all_scopes(
        &self,
        authority: &Authority,
        challenge: Option<&Challenge>,
        earlier: Option<&Grant>,
        extra: &Scopes,
    ) -> Scopes {
        let mut scopes = self.scopes(authority, challenge, extra);
        if let Some(earlier) = earlier {
            scopes = scopes.with(&earlier.scopes).with(&earlier.wanted);
        }
        if !scopes.is_empty() && authority.metadata.offers_scope(super::OFFLINE_ACCESS) {
            scopes = scopes.with(&[super::OFFLINE_ACCESS].into_iter().collect());
        }
        scopes
    }

    /// A token for somebody else is found out here, and not in the middle of somebody's work.
    async fn check(&self, grant: &Grant) -> Result<(), LoginError> {
        match self.knock(grant.header()).await? {
            Some((StatusCode::UNAUTHORIZED, _)) => Err(LoginError::NotAccepted),
            _ => Ok(()),
        }
    }

    /// Asks the server something, only to hear what it says about who asks.
    async fn knock(
        &self,
        bearer: Option<HeaderValue>,
    ) -> Result<Option<(StatusCode, Option<Challenge>)>, LoginError> {
        let method = if self.speaks_sse() {
            Method::GET
        } else {
            Method::POST
        };
        let mut request = reqwest::Request::new(method, self.url());
        let headers = request.headers_mut();
        *headers = self.sent_headers()?;
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        headers.extend(bearer.map(|bearer| (AUTHORIZATION, bearer)));
        if !self.speaks_sse() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(KNOCK.into());
        }
        let unreachable = |reason: String| WebError::Unreachable {
            url: shown(&self.url()),
            reason,
        };
        let answered = tokio::time::timeout(PATIENCE, crate::http::client().execute(request)).await;
        let answered =
            answered.map_err(|_| unreachable(format!("it said nothing for {PATIENCE:?}")))?;
        let response = answered.map_err(|error| unreachable(kitbag_fetch::cause(error)))?;
        let status = response.status();
        let turned_away = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        Ok(turned_away.then(|| (status, Challenge::read(response.headers()))))
    }

    fn sent_headers(&self) -> Result<HeaderMap, LoginError> {
        let mut headers = Vec::new();
        for (name, template) in self.headers() {
            headers.push((name.clone(), template.resolve(|name| (self.lookup)(name))?));
        }
        kitbag_fetch::header_map(headers).map_err(|reason| LoginError::Person { reason })
    }

    /// A login that cannot be ended over there ends here all the same.
    async fn revoke(&self, grant: &Grant) {
        let (Some(url), Ok(client)) = (&grant.revocation_endpoint, self.client_of(grant)) else {
            return;
        };
        let token = grant.refresh.as_ref().unwrap_or(&grant.access);
        let (mut fields, mut headers) = (vec![("token", token.reveal())], HeaderMap::new());
        client.sign(&mut fields, &mut headers);
        if let Err(error) = self.web().await.post_form(url, headers, &fields).await {
            tracing::warn!(server = %self.server, %error, "the authorization server was not told");
        }
    }
}

/// The first thing a client asks, in the form both eras understand well enough to say who may.
const KNOCK: &str = r#"{"jsonrpc":"2.0","id":"login","method":"tools/list","params":{}}"#;

const PATIENCE: Duration = Duration::from_secs(30);
