//! A user's login at an authorization server with known URLs, with a client that was registered
//! there by hand.

use url::Url;

use super::authority::Authority;
use super::client::{AuthMethod, ClientSource, OauthClient};
use super::error::LoginError;
use super::login::{Person, login_by_browser};
use super::metadata::AuthorityMetadata;
use super::redirect::{RedirectPort, RedirectTarget};
use super::scopes::Scopes;
use super::secret_text::SecretText;
use super::token::TokenEndpoint;
use super::web::{AddressGuards, OauthWeb};

/// The authorization server, and the client there.
#[derive(Debug, Clone)]
pub struct KnownAuthority {
    pub authorize_url: Url,
    pub token_url: Url,
    pub client_id: String,
    pub client_secret: SecretText,
    pub scopes: Scopes,
}

impl KnownAuthority {
    /// Asks the user, and returns the refresh token.
    pub async fn login(
        &self,
        person: &mut dyn Person,
        port: RedirectPort,
        guards: &AddressGuards,
    ) -> Result<SecretText, LoginError> {
        let web = OauthWeb::for_server(&self.token_url, guards).await;
        let redirect = person.redirect(&RedirectTarget::shared(port)).await?;
        // No metadata describes it, so it has no issuer to compare answers with, and no resource is
        // sent to it: some authorization servers reject unknown parameters. A server without PKCE
        // ignores it, and `state` protects the login in any case.
        let (authorize_url, token_url) = (self.authorize_url.clone(), self.token_url.clone());
        let authority = Authority {
            resource: String::new(),
            metadata: AuthorityMetadata::from_endpoints(authorize_url, token_url),
            scopes: Scopes::default(),
            guessed: false,
        };
        let client = OauthClient {
            id: self.client_id.clone(),
            secret: Some(self.client_secret.clone()),
            auth: AuthMethod::ClientSecretPost,
            known_by: ClientSource::Configuration,
            redirect: Some(redirect.clone()),
            secret_until: None,
        };
        let endpoint = TokenEndpoint::for_authority(&web, &authority, &client);
        let tokens = login_by_browser(person, &authority, &endpoint, &redirect, &self.scopes);
        tokens.await?.refresh.ok_or(LoginError::NoRefreshToken)
    }
}
