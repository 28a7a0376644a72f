//! Refreshes a token before it expires, once however many calls wait for it.

use std::sync::Arc;

use tokio::time::Instant;

use super::client::{ClientSource, OauthClient};
use super::credentials::{Credentials, NoToken};
use super::error::{LoginError, LoginReason, TokenError};
use super::grant::{Grant, GrantStoreError};
use super::token::TokenEndpoint;

impl Credentials {
    /// Refreshes the grant on its own task: a client that disconnects in the middle would otherwise
    /// lose the new refresh token.
    pub(super) async fn refresh_in_task(
        self: &Arc<Self>,
        grant: Arc<Grant>,
    ) -> Result<Arc<Grant>, NoToken> {
        let (me, asked) = (self.clone(), Instant::now());
        let refreshing = tokio::spawn(async move { me.refresh_unless_done(&grant, asked).await });
        refreshing.await.unwrap_or_else(|_| {
            Err(NoToken::Transient {
                reason: "it was interrupted".to_owned(),
            })
        })
    }

    /// Shares the failure of a refresh that ended after the caller asked.
    async fn refresh_unless_done(
        &self,
        grant: &Grant,
        asked: Instant,
    ) -> Result<Arc<Grant>, NoToken> {
        let mut last = self.refreshing.lock().await;
        if let Some((at, failure)) = last.as_ref()
            && *at >= asked
        {
            return Err(failure.clone());
        }
        let refreshed = self.refresh_once(grant).await;
        let failure = refreshed.as_ref().err().cloned();
        *last = failure.map(|failure| (Instant::now(), failure));
        refreshed
    }

    async fn refresh_once(&self, grant: &Grant) -> Result<Arc<Grant>, NoToken> {
        let _guard = self.logins.store.lock(&self.server).await?;
        if let Some(newer) = self.find_newer_grant(Some(grant)).await? {
            return Ok(newer);
        }
        let client = self.client_for(grant).map_err(|error| NoToken::Transient {
            reason: error.to_string(),
        })?;
        match self.refresh_grant(grant, &client).await {
            Ok(refreshed) => Ok(self.store_grant(refreshed).await?),
            Err(error) if error.is_transient() => Err(NoToken::Transient {
                reason: error.to_string(),
            }),
            Err(error) => {
                let reason = error.to_string();
                self.store_grant(grant.to_ended(reason.clone())).await?;
                Err(self.login_needed(LoginReason::Ended { reason }))
            }
        }
    }

    async fn refresh_grant(
        &self,
        grant: &Grant,
        client: &OauthClient,
    ) -> Result<Grant, TokenError> {
        let Some(token) = &grant.refresh else {
            return Ok(grant.clone());
        };
        let endpoint = TokenEndpoint {
            web: self.web().await,
            url: &grant.token_endpoint,
            client,
            resource: &grant.resource,
        };
        let tokens = endpoint.refresh_tokens(token).await?;
        Ok(grant.with_tokens(tokens))
    }

    /// Returns the client of a grant, with the secret of the configuration.
    pub(super) fn client_for(&self, grant: &Grant) -> Result<OauthClient, LoginError> {
        let mut client = grant.client.clone();
        if client.known_by == ClientSource::Configuration {
            client.secret = self.configured_client()?.secret;
        }
        Ok(client)
    }
}

impl From<GrantStoreError> for NoToken {
    fn from(error: GrantStoreError) -> Self {
        Self::Transient {
            reason: error.to_string(),
        }
    }
}
