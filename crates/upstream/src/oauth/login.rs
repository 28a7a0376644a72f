//! A user's login: from a URL to tokens that the server accepts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, Method, StatusCode};
use reqwest::Request;
use url::Url;

use super::authority::Authority;
use super::challenge::Challenge;
use super::client::{ClientOptions, ClientSource, OauthClient};
use super::credentials::Credentials;
use super::device::{self, DeviceCode};
use super::error::{FailedLogin, LoginError, WebError};
use super::grant::Grant;
use super::redirect::{RedirectPort, RedirectTarget};
use super::request::AuthorizationRequest;
use super::scopes::Scopes;
use super::token::{TokenEndpoint, TokenSet};
use super::web::redacted_url;

/// The user who logs in, in front of a browser.
#[async_trait]
pub trait Person: Send {
    /// Returns the URL that the browser can come back to.
    async fn redirect(&mut self, target: &RedirectTarget) -> Result<Url, LoginError>;

    /// Opens a URL in the browser and returns the one it was redirected to from there.
    async fn browse(&mut self, url: &Url) -> Result<String, LoginError>;

    /// True if the browser is on another machine, and the user must paste the answer.
    fn is_elsewhere(&self) -> bool;

    /// Shows a code to type in there.
    fn show(&mut self, code: &DeviceCode);
}

impl Credentials {
    /// Asks the user, and stores the grant. `extra` scopes are requested in addition to the ones
    /// that the server needs.
    pub async fn login(
        &self,
        person: &mut dyn Person,
        extra: &Scopes,
    ) -> Result<Arc<Grant>, FailedLogin> {
        let logged_in = self.try_login(person, extra).await;
        logged_in.map_err(|error| self.failed_login(error))
    }

    async fn try_login(
        &self,
        person: &mut dyn Person,
        extra: &Scopes,
    ) -> Result<Arc<Grant>, LoginError> {
        let web = self.web().await;
        let earlier = self.reload_grant().await?;
        let (asked, challenge) = self.current_challenge().await?;
        let issuer = self.settings().issuer.as_deref();
        let authority = Authority::find(web, &self.url(), challenge.as_ref(), issuer).await?;
        if authority.guessed && !asked {
            return Err(LoginError::NotRequired);
        }
        let earlier = self.usable_grant(earlier.as_deref(), &authority)?;
        let scopes = self.all_scopes(&authority, challenge.as_ref(), earlier, extra);

        // A login may have ended because the registration did, so the next one registers again.
        let known = earlier.filter(|earlier| earlier.ended.is_none());
        let known = known.map(|earlier| &earlier.client);
        let configured = self.configured_client()?;
        let port = self.redirect_port(known);
        let target = RedirectTarget::for_authority(port, &authority.metadata, &configured);
        let redirect = person.redirect(&target).await?;
        let client = OauthClient::choose(ClientOptions {
            web,
            authority: &authority,
            configured: &configured,
            earlier: known,
            redirect: &redirect,
        });
        let client = client.await?;
        let endpoint = TokenEndpoint::for_authority(web, &authority, &client);
        let tokens = match &authority.metadata.device_authorization_endpoint {
            Some(url) if person.is_elsewhere() => {
                login_by_code(person, &endpoint, url, &scopes).await?
            }
            _ => login_by_browser(person, &authority, &endpoint, &redirect, &scopes).await?,
        };
        let grant = Grant::new(&authority, &client, scopes, tokens);
        self.check_grant(&grant).await?;
        let _guard = self.logins.store.lock(&self.server).await?;
        Ok(self.store_grant(grant).await?)
    }

    /// Deletes the login, and revokes it at the authorization server. Returns true if there was
    /// one.
    pub async fn logout(&self) -> Result<bool, FailedLogin> {
        self.try_logout()
            .await
            .map_err(|error| self.failed_login(error))
    }

    async fn try_logout(&self) -> Result<bool, LoginError> {
        let _guard = self.logins.store.lock(&self.server).await?;
        if let Some(grant) = self.reload_grant().await? {
            self.revoke_grant(&grant).await;
        }
        Ok(self.logins.store.remove(&self.server).await?)
    }

    fn failed_login(&self, error: LoginError) -> FailedLogin {
        FailedLogin {
            server: self.server.clone(),
            error,
        }
    }

    fn redirect_port(&self, known: Option<&OauthClient>) -> RedirectPort {
        let earlier = known.and_then(|client| client.redirect.as_ref()?.port());
        let only = self.settings().redirect_port.map(RedirectPort::Only);
        only.or(earlier.map(RedirectPort::Preferred))
            .unwrap_or(RedirectPort::Any)
    }

    /// Returns true if the server requires a login, and its challenge.
    async fn current_challenge(&self) -> Result<(bool, Option<Challenge>), LoginError> {
        if let Some(challenge) = self.last_challenge() {
            return Ok((true, Some(challenge)));
        }
        match self.probe_server(None).await? {
            Some((_, challenge)) => Ok((true, challenge)),
            None => Ok((false, None)),
        }
    }

    /// Returns the earlier login, unless it was at another authorization server. A client that the
    /// operator registered there is not shown to the new one.
    fn usable_grant<'a>(
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
        let same_client = earlier.client.known_by == ClientSource::Configuration
            && self.settings().client_id.as_ref() == Some(&earlier.client.id);
        if same_client && self.settings().issuer.is_none() {
            return Err(LoginError::IssuerChanged {
                expected: expected.clone(),
                found: found.clone(),
            });
        }
        Ok(None)
    }

    /// Returns the scopes together with all that were requested before, because the new tokens
    /// replace the old.
    fn all_scopes(
        &self,
        authority: &Authority,
        challenge: Option<&Challenge>,
        earlier: Option<&Grant>,
        extra: &Scopes,
    ) -> Scopes {
        let mut scopes = self.choose_scopes(authority, challenge, extra);
        if let Some(earlier) = earlier {
            scopes = scopes.with(&earlier.scopes).with(&earlier.wanted);
        }
        if !scopes.is_empty() && authority.metadata.offers_scope(super::OFFLINE_ACCESS) {
            scopes = scopes.with(&[super::OFFLINE_ACCESS].into_iter().collect());
        }
        scopes
    }

    /// Tries the token, so that a rejected one is noticed here and not during a call.
    async fn check_grant(&self, grant: &Grant) -> Result<(), LoginError> {
        match self.probe_server(grant.authorization_header()).await? {
            Some((StatusCode::UNAUTHORIZED, _)) => Err(LoginError::NotAccepted),
            _ => Ok(()),
        }
    }

    /// Sends a request only to learn whether the server rejects it, and with which challenge.
    async fn probe_server(
        &self,
        bearer: Option<HeaderValue>,
    ) -> Result<Option<(StatusCode, Option<Challenge>)>, LoginError> {
        let answered = crate::http::http_client().execute(self.probe_request(bearer)?);
        let response = match tokio::time::timeout(PROBE_TIMEOUT, answered).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                return Err(self.unreachable_error(kitbag_fetch::describe_error(error)));
            }
            Err(_) => {
                return Err(self.unreachable_error(format!("no answer for {PROBE_TIMEOUT:?}")));
            }
        };
        let status = response.status();
        let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        Ok(is_refused.then(|| (status, Challenge::from_headers(response.headers()))))
    }

    /// Returns a request in the server's transport: a POST, or a GET for the stream of HTTP+SSE.
    fn probe_request(&self, bearer: Option<HeaderValue>) -> Result<Request, LoginError> {
        let mut request = match self.speaks_sse() {
            true => Request::new(Method::GET, self.url()),
            false => Request::new(Method::POST, self.url()),
        };
        *request.headers_mut() = self.sent_headers()?;
        request.headers_mut().insert(ACCEPT, JSON_OR_EVENTS);
        if let Some(bearer) = bearer {
            request.headers_mut().insert(AUTHORIZATION, bearer);
        }
        if !self.speaks_sse() {
            request.headers_mut().insert(CONTENT_TYPE, JSON);
            *request.body_mut() = Some(PROBE_BODY.into());
        }
        Ok(request)
    }

    fn unreachable_error(&self, reason: String) -> LoginError {
        let url = redacted_url(&self.url());
        WebError::Unreachable { url, reason }.into()
    }

    fn sent_headers(&self) -> Result<HeaderMap, LoginError> {
        let mut headers = Vec::new();
        for (name, template) in self.headers() {
            headers.push((name.clone(), template.resolve(|name| (self.lookup)(name))?));
        }
        kitbag_fetch::header_map(headers).map_err(|reason| LoginError::Person { reason })
    }

    /// Revokes the grant at the authorization server. If that fails, the login is deleted all the
    /// same.
    async fn revoke_grant(&self, grant: &Grant) {
        let (Some(url), Ok(client)) = (&grant.revocation_endpoint, self.client_for(grant)) else {
            return;
        };
        let token = grant.refresh.as_ref().unwrap_or(&grant.access);
        let (mut fields, mut headers) = (vec![("token", token.reveal())], HeaderMap::new());
        client.add_client_auth(&mut fields, &mut headers);
        if let Err(error) = self.web().await.post_form(url, headers, &fields).await {
            tracing::warn!(server = %self.server, %error, "the login could not be revoked at the authorization server");
        }
    }
}

async fn login_by_code(
    person: &mut dyn Person,
    endpoint: &TokenEndpoint<'_>,
    url: &Url,
    scopes: &Scopes,
) -> Result<TokenSet, LoginError> {
    let code = device::request_code(endpoint, url, scopes).await?;
    person.show(&code);
    device::wait_for_tokens(endpoint, &code).await
}

pub(super) async fn login_by_browser(
    person: &mut dyn Person,
    authority: &Authority,
    endpoint: &TokenEndpoint<'_>,
    redirect: &Url,
    scopes: &Scopes,
) -> Result<TokenSet, LoginError> {
    let request = AuthorizationRequest::new(authority, endpoint.client, redirect, scopes)?;
    endpoint.web.check_url(&request.url)?;
    let answer = person.browse(&request.url).await?;
    let code = request.parse_code(&answer)?;
    let exchanged = endpoint.exchange_code(&code, &request.verifier, redirect);
    Ok(exchanged.await?)
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The first request of a client, in a form that both eras understand well enough to reject it.
const PROBE_BODY: &str = r#"{"jsonrpc":"2.0","id":"login","method":"tools/list","params":{}}"#;

/// A server that starts on demand may take this long for its first answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
