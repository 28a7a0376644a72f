//! A user's login at an authorization server with known URLs, with a client that was registered
//! there by hand.

use url::Url;

use super::authority::Authority;
use super::client::{AuthMethod, ClientSource, OauthClient};
use super::error::LoginError;
use super::login::{Person, RedirectPort, login_by_browser};
use super::metadata::AuthorityMetadata;
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
        let (authority, redirect) = (self.to_authority(), person.redirect(port).await?);
        let client = self.to_client(&redirect);
        let endpoint = TokenEndpoint::for_authority(&web, &authority, &client);
        let tokens = login_by_browser(person, &authority, &endpoint, &redirect, &self.scopes);
        tokens.await?.refresh.ok_or(LoginError::NoRefreshToken)
    }

    /// No metadata describes it, so it has no issuer to compare answers with, and no resource is
    /// sent to it: some authorization servers reject unknown parameters.
    fn to_authority(&self) -> Authority {
        Authority {
            resource: String::new(),
            metadata: AuthorityMetadata {
                issuer: String::new(),
                authorization_endpoint: Some(self.authorize_url.clone()),
                token_endpoint: self.token_url.clone(),
                registration_endpoint: None,
                device_authorization_endpoint: None,
                revocation_endpoint: None,
                scopes_supported: None,
                // A server without PKCE ignores it, and `state` protects the login in any case.
                code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
                token_endpoint_auth_methods_supported: None,
                client_id_metadata_document_supported: false,
                authorization_response_iss_parameter_supported: false,
            },
            scopes: Scopes::default(),
            guessed: false,
        }
    }

    fn to_client(&self, redirect: &Url) -> OauthClient {
        OauthClient {
            id: self.client_id.clone(),
            secret: Some(self.client_secret.clone()),
            auth: AuthMethod::ClientSecretPost,
            known_by: ClientSource::Configuration,
            redirect: Some(redirect.clone()),
            secret_until: None,
        }
    }
}
