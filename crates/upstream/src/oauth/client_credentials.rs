//! A login without a user, with the secret of the configuration. Nothing of it is stored.

use std::sync::Arc;

use super::authority::Authority;
use super::challenge::Challenge;
use super::client::OauthClient;
use super::credentials::{Credentials, NoToken};
use super::error::LoginError;
use super::grant::Grant;
use super::scopes::Scopes;
use super::token::TokenEndpoint;

impl Credentials {
    /// Obtains a token, replacing a rejected one if there was one.
    pub(super) async fn request_grant(
        self: &Arc<Self>,
        refused: Option<Arc<Grant>>,
        challenge: &Challenge,
    ) -> Result<Arc<Grant>, NoToken> {
        let _turn = self.refreshing.lock().await;
        if let Some(current) = self.current.load_full()
            && current.differs_from(refused.as_deref())
        {
            return Ok(current);
        }
        let scopes = refused.map(|refused| refused.scopes.clone());
        let scopes = scopes.unwrap_or_default();
        let grant = self.request_own_grant(scopes, challenge).await;
        let grant = grant.map_err(|error| NoToken::Transient {
            reason: error.to_string(),
        })?;
        let grant = Arc::new(grant);
        self.current.store(Some(grant.clone()));
        Ok(grant)
    }

    async fn request_own_grant(
        &self,
        scopes: Scopes,
        challenge: &Challenge,
    ) -> Result<Grant, LoginError> {
        let (web, configured) = (self.web().await, self.configured_client()?);
        let issuer = self.settings().issuer.as_deref();
        let authority = Authority::find(web, &self.url(), Some(challenge), issuer).await?;
        let client = OauthClient::from_config(&authority, &configured, None);
        let client = client.ok_or_else(|| LoginError::NoRegistration {
            issuer: authority.metadata.issuer.clone(),
        })?;
        let scopes = self
            .choose_scopes(&authority, Some(challenge), &Scopes::default())
            .with(&scopes);
        let endpoint = TokenEndpoint::for_authority(web, &authority, &client);
        let tokens = endpoint.request_own_tokens(&scopes).await?;
        // Requesting again is as easy as refreshing.
        Ok(Grant {
            refresh: None,
            ..Grant::new(&authority, &client, scopes, tokens)
        })
    }
}
