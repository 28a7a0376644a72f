//! The result of a login: the tokens, the authorization server, the server they are for, and the
//! client. A store keeps it between runs.

use std::any::Any;
use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use http::HeaderValue;
use kitbag_domain::ServerName;
use serde::{Deserialize, Serialize};
use url::Url;

use super::authority::Authority;
use super::client::OauthClient;
use super::metadata::covers_url;
use super::scopes::Scopes;
use super::secret_text::SecretText;
use super::token::TokenSet;

/// Its serialized form contains every secret, so it is only stored encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub issuer: String,
    /// The server that the tokens are for.
    pub resource: String,
    pub client: OauthClient,
    /// All scopes requested so far.
    pub scopes: Scopes,
    /// The scopes that the server has asked for since, for the next login.
    #[serde(default)]
    pub(crate) wanted: Scopes,
    pub(crate) token_endpoint: Url,
    #[serde(default)]
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) access: SecretText,
    pub(crate) refresh: Option<SecretText>,
    /// In seconds since 1970, like the next field.
    pub(crate) issued_at: i64,
    pub expires_at: Option<i64>,
    /// The reason why it can no longer be refreshed, if that was tried.
    #[serde(default)]
    pub(crate) ended: Option<String>,
}

/// Stores grants between runs, encrypted.
#[async_trait]
pub trait GrantStore: Send + Sync {
    async fn read(&self, server: &ServerName) -> Result<Option<Grant>, GrantStoreError>;

    async fn write(&self, server: &ServerName, grant: &Grant) -> Result<(), GrantStoreError>;

    /// Returns true if there was one.
    async fn remove(&self, server: &ServerName) -> Result<bool, GrantStoreError>;

    /// Locks the grant. While the guard is held, no other process refreshes it: a refresh token is
    /// valid for one use, and a second use may end the login.
    async fn lock(&self, server: &ServerName) -> Result<Box<dyn Any + Send>, GrantStoreError>;
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct GrantStoreError(pub Box<dyn Error + Send + Sync>);

impl Grant {
    pub(crate) fn new(
        authority: &Authority,
        client: &OauthClient,
        scopes: Scopes,
        tokens: TokenSet,
    ) -> Self {
        let metadata = &authority.metadata;
        let now = unix_now();
        Self {
            issuer: metadata.issuer.clone(),
            resource: authority.resource.clone(),
            client: client.for_storage(),
            scopes: tokens
                .scope
                .map_or(scopes.clone(), |granted| scopes.with(&granted)),
            wanted: Scopes::default(),
            token_endpoint: metadata.token_endpoint.clone(),
            revocation_endpoint: metadata.revocation_endpoint.clone(),
            access: tokens.access,
            refresh: tokens.refresh,
            issued_at: now,
            expires_at: tokens.expires_in.map(|seconds| now.saturating_add(seconds)),
            ended: None,
        }
    }

    /// Returns the grant with the tokens of a refresh: with the new refresh token if there is one,
    /// or else the old one.
    pub(crate) fn with_tokens(&self, tokens: TokenSet) -> Self {
        let now = unix_now();
        Self {
            access: tokens.access,
            refresh: tokens.refresh.or_else(|| self.refresh.clone()),
            issued_at: now,
            expires_at: tokens.expires_in.map(|seconds| now.saturating_add(seconds)),
            ..self.clone()
        }
    }

    /// Returns a grant that can no longer be refreshed; it is kept for the next login.
    pub(crate) fn to_ended(&self, reason: String) -> Self {
        Self {
            refresh: None,
            ended: Some(reason),
            ..self.clone()
        }
    }

    /// True if another call or process has obtained it since `known`.
    pub(crate) fn differs_from(&self, known: Option<&Self>) -> bool {
        known.is_none_or(|known| known.access != self.access)
    }

    pub(crate) fn authorization_header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.access.reveal())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// True if it will have expired by the time a request arrives.
    pub(crate) fn needs_refresh(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| {
            let lifetime = at.saturating_sub(self.issued_at).max(0);
            // A token of a few minutes is used for most of its lifetime.
            now >= at.saturating_sub(MARGIN.min(lifetime / 5))
        })
    }

    /// True if the server no longer accepts it, and it cannot be refreshed.
    pub fn needs_user(&self) -> bool {
        self.ended.is_some() || (self.refresh.is_none() && self.has_expired(unix_now()))
    }

    pub(crate) fn has_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|at| now >= at)
    }

    /// True if it may be sent to the server at this URL: the configuration may have changed since
    /// the login.
    pub(crate) fn is_for(&self, server: &Url) -> bool {
        Url::parse(&self.resource).is_ok_and(|resource| covers_url(&resource, server))
    }
}

pub(crate) fn unix_now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// How many seconds before its expiry a token is refreshed, unless it lives for minutes only.
const MARGIN: i64 = 60;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::oauth::client::{AuthMethod, ClientSource};

    pub(crate) fn grant(issued_at: i64, expires_at: Option<i64>) -> Grant {
        Grant {
            issuer: "https://a.example".to_owned(),
            resource: "https://b.example/mcp".to_owned(),
            client: OauthClient {
                id: "kitbag".to_owned(),
                secret: None,
                auth: AuthMethod::None,
                known_by: ClientSource::Registration,
                redirect: None,
                secret_until: None,
            },
            scopes: Scopes::default(),
            wanted: Scopes::default(),
            token_endpoint: "https://a.example/token".parse().unwrap(),
            revocation_endpoint: None,
            access: SecretText::new("s3cret-access"),
            refresh: Some(SecretText::new("s3cret-refresh")),
            issued_at,
            expires_at,
            ended: None,
        }
    }

    #[test]
    fn a_token_is_refreshed_a_little_before_its_end() {
        for (lifetime, age, expected) in [
            (Some(3600), 3539, false),
            (Some(3600), 3540, true),
            (Some(10), 7, false),
            (Some(10), 8, true),
            (Some(0), 0, true),
            (None, 1_000_000, false),
        ] {
            let grant = grant(1000, lifetime.map(|it| 1000 + it));
            assert_eq!(
                grant.needs_refresh(1000 + age),
                expected,
                "{lifetime:?} {age}"
            );
        }
    }

    #[test]
    fn a_user_is_needed_when_a_grant_has_expired_and_cannot_be_refreshed() {
        let (over, lasting) = (grant(1, Some(2)), grant(1, None));
        assert!(!over.needs_user() && !lasting.needs_user());
        assert!(
            Grant {
                refresh: None,
                ..over
            }
            .needs_user()
        );
        assert!(
            !Grant {
                refresh: None,
                ..lasting.clone()
            }
            .needs_user()
        );
        assert!(lasting.to_ended("revoked".to_owned()).needs_user());
    }

    #[test]
    fn a_grant_survives_storage_and_shows_no_token() {
        let grant = grant(1, Some(2));
        let kept = serde_json::to_string(&grant).unwrap();
        assert_eq!(serde_json::from_str::<Grant>(&kept).unwrap(), grant);
        assert!(!format!("{grant:?}").contains("s3cret"));
    }
}
