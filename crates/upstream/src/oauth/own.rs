//! A login in our own name, with the secret of the configuration: it needs nobody, and nothing of
//! it is kept.

use std::sync::Arc;

use super::authority::Authority;
use super::challenge::Challenge;
use super::client::Client;
use super::credentials::{Credentials, Trouble};
use super::error::LoginError;
use super::grant::Grant;
use super::scopes::Scopes;
use super::token::TokenEndpoint;

impl Credentials {
    /// A token in place of the one that was refused, if any was.
    pub(super) async fn obtain(
        self: &Arc<Self>,
        refused: Option<Arc<Grant>>,
        challenge: &Challenge,
    ) -> Result<Arc<Grant>, Trouble> {
        let _turn = self.renewing.lock().await;
        let known = |it: &Arc<Grant>| {
            refused
                .as_ref()
                .is_none_or(|refused| refused.access != it.access)
        };
        if let Some(current) = self.current.load_full().filter(known) {
            return Ok(current);
        }
        let scopes = refused.map(|it| it.scopes.clone()).unwrap_or_default();
        let grant = self.own_grant(scopes, challenge).await;
        let grant = grant.map_err(|error| Trouble::Passing {
            reason: error.to_string(),
        })?;
        let grant = Arc::new(grant);
        self.current.store(Some(grant.clone()));
        Ok(grant)
    }

    async fn own_grant(&self, scopes: Scopes, challenge: &Challenge) -> Result<Grant, LoginError> {
        let (web, configured) = (self.web().await, self.configured()?);
        let issuer = self.settings().issuer.as_deref();
        let authority = Authority::find(web, &self.url(), Some(challenge), issuer).await?;
        let client = Client::configured(&authority, &configured, None);
        let issuer = || authority.metadata.issuer.clone();
        let client = client.ok_or_else(|| LoginError::NoRegistration { issuer: issuer() })?;
        let scopes = self
            .scopes(&authority, Some(challenge), &Scopes::default())
            .with(&scopes);
        let url = &authority.metadata.token_endpoint;
        let endpoint = TokenEndpoint {
            web,
            url,
            client: &client,
            resource: &authority.resource,
        };
        let tokens = endpoint.own(&scopes).await?;
        // Asking again is as easy as refreshing.
        Ok(Grant {
            refresh: None,
            ..Grant::new(&authority, &client, scopes, tokens)
        })
    }
}
