//! The token for each request to one server, read from the store and refreshed before it expires.

use std::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
use http::StatusCode;
use kitbag_domain::{Lookup, RemoteEndpoint, RemoteTransport, ServerName, Template};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use url::Url;

use super::authority::Authority;
use super::challenge::Challenge;
use super::client::ConfiguredClient;
use super::error::{LoginError, LoginNeeded, LoginReason};
use super::grant::{Grant, GrantStore, GrantStoreError, unix_now};
use super::scopes::Scopes;
use super::secret_text::SecretText;
use super::settings::{Flow, Settings};
use super::web::{AddressGuards, OauthWeb};
use crate::spec::ServerSpec;
use kitbag_domain::sync::lock;

/// The gateway services that logins need.
#[derive(Clone)]
pub struct Logins {
    pub store: Arc<dyn GrantStore>,
    pub guards: AddressGuards,
}

pub struct Credentials {
    pub(super) server: ServerName,
    endpoint: RemoteEndpoint<Template>,
    /// Its URL with the variables unexpanded.
    unfilled_url: Url,
    settings: Settings,
    pub(super) lookup: Lookup,
    pub(super) logins: Logins,
    /// The grant as last read; another process may have replaced it since.
    pub(super) current: ArcSwapOption<Grant>,
    first_read: OnceCell<()>,
    /// Held while the grant is refreshed, so that concurrent calls share the outcome.
    pub(super) refreshing: tokio::sync::Mutex<Option<(Instant, NoToken)>>,
    /// The challenge of the server's last rejection.
    pub(super) challenge: Mutex<Option<Challenge>>,
    web: OnceCell<OauthWeb>,
}

/// The reason why there is no token to send.
#[derive(Debug, Clone)]
pub(crate) enum NoToken {
    Person(LoginNeeded),
    /// It may be over by the next call.
    Transient {
        reason: String,
    },
}

/// The token to try after another one was rejected.
#[derive(Debug)]
pub(crate) struct Replacement {
    pub(crate) grant: Arc<Grant>,
    /// True if it was issued just for this, so that nothing better can be had if it is rejected,
    /// too.
    pub(crate) is_last: bool,
}

/// How a server rejected a request.
#[derive(Debug)]
pub(crate) struct RefusedRequest {
    pub(crate) status: StatusCode,
    pub(crate) challenge: Challenge,
}

impl Credentials {
    /// Returns `None` for a server with a configured header, or one that is not remote.
    pub fn new(spec: &ServerSpec, lookup: &Lookup, logins: &Logins) -> Option<Arc<Self>> {
        // An operator who sets a header does not want it replaced.
        let endpoint = spec
            .endpoint()
            .filter(|endpoint| !endpoint.sets_header("authorization"))?;
        Some(Arc::new(Self {
            server: spec.name.clone(),
            endpoint: endpoint.clone(),
            unfilled_url: Url::parse(endpoint.url.source()).ok()?,
            settings: spec.oauth.clone(),
            lookup: lookup.clone(),
            logins: logins.clone(),
            current: ArcSwapOption::empty(),
            first_read: OnceCell::new(),
            refreshing: tokio::sync::Mutex::default(),
            challenge: Mutex::default(),
            web: OnceCell::new(),
        }))
    }

    /// Returns the token for the next request, or `None` if no user has logged in.
    pub(crate) async fn valid_token(self: &Arc<Self>) -> Result<Option<Arc<Grant>>, NoToken> {
        if self.settings().flow == Flow::Browser {
            let read = async || self.reload_grant().await.map(drop);
            self.first_read.get_or_try_init(read).await?;
        }
        let Some(grant) = self.current.load_full() else {
            return Ok(None);
        };
        if !grant.needs_refresh(unix_now()) || grant.refresh.is_none() {
            return Ok(Some(grant));
        }
        match self.refresh_in_task(grant.clone()).await {
            // It is refreshed early for just this case.
            Err(NoToken::Transient { .. }) if !grant.has_expired(unix_now()) => Ok(Some(grant)),
            refreshed => refreshed.map(Some),
        }
    }

    /// Returns the token without refreshing it, for a request whose answer does not matter.
    pub(crate) fn current_token(&self) -> Option<Arc<Grant>> {
        self.current.load_full()
    }

    /// Returns the tokens that only the server may see.
    pub(crate) fn secret_tokens(&self) -> Vec<String> {
        let grant = self.current.load();
        let tokens = grant
            .iter()
            .flat_map(|it| [Some(&it.access), it.refresh.as_ref()]);
        let tokens = tokens.flatten();
        tokens.map(|token| token.reveal().to_owned()).collect()
    }

    /// Returns a token to try instead of the one that the server has just rejected.
    pub(crate) async fn replacement_for(
        self: &Arc<Self>,
        refused: Option<Arc<Grant>>,
        refusal: RefusedRequest,
    ) -> Result<Replacement, NoToken> {
        self.remember_challenge(&refusal.challenge);
        if let Some(grant) = self.find_newer_grant(refused.as_deref()).await? {
            let is_last = false;
            return Ok(Replacement { grant, is_last });
        }
        let grant = match self.settings().flow {
            Flow::ClientCredentials => self.request_grant(refused, &refusal.challenge).await?,
            Flow::Browser => self.refresh_refused(refused, refusal).await?,
        };
        let is_last = true;
        Ok(Replacement { grant, is_last })
    }

    /// Refreshes the grant that the server has rejected, if that can help.
    async fn refresh_refused(
        self: &Arc<Self>,
        refused: Option<Arc<Grant>>,
        refusal: RefusedRequest,
    ) -> Result<Arc<Grant>, NoToken> {
        let Some(grant) = refused else {
            return Err(self.login_needed(LoginReason::NotYet));
        };
        if refusal.status == StatusCode::FORBIDDEN {
            return Err(self
                .insufficient_scope(&grant, refusal.challenge.scopes)
                .await);
        }
        match (&grant.refresh, &grant.ended) {
            (Some(_), _) => self.refresh_in_task(grant).await,
            (None, Some(reason)) => Err(self.login_needed(LoginReason::Ended {
                reason: reason.clone(),
            })),
            (None, None) => Err(self.login_needed(LoginReason::Refused)),
        }
    }

    /// Returns the error for a fresh token that is rejected all the same.
    pub(crate) async fn final_refusal_error(
        &self,
        refused: &Grant,
        refusal: RefusedRequest,
    ) -> NoToken {
        self.remember_challenge(&refusal.challenge);
        match (self.settings().flow, refusal.status) {
            (Flow::ClientCredentials, _) => NoToken::Transient {
                reason: "the server does not accept Kitbag's token".to_owned(),
            },
            (Flow::Browser, StatusCode::FORBIDDEN) => {
                self.insufficient_scope(refused, refusal.challenge.scopes)
                    .await
            }
            (Flow::Browser, _) => self.login_needed(LoginReason::Refused),
        }
    }

    /// Reads the grant from the store, where another process may have changed it.
    pub async fn reload_grant(&self) -> Result<Option<Arc<Grant>>, GrantStoreError> {
        let kept = self.logins.store.read(&self.server).await?;
        let kept = kept.filter(|grant| grant.is_for(&self.url())).map(Arc::new);
        self.current.store(kept.clone());
        Ok(kept)
    }

    /// True if the store has a grant that has not been tried yet.
    pub async fn has_new_grant(&self) -> bool {
        let known = self.current.load_full();
        matches!(self.find_newer_grant(known.as_deref()).await, Ok(Some(_)))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn speaks_sse(&self) -> bool {
        self.endpoint.transport == RemoteTransport::Sse
    }

    pub(super) fn headers(&self) -> &[(String, Template)] {
        &self.endpoint.headers
    }

    /// Returns the URL with its variables expanded. If one is missing, nothing is ever sent; the
    /// host has none.
    pub(super) fn url(&self) -> Url {
        let filled_in = self.endpoint.url.resolve(|name| (self.lookup)(name)).ok();
        let url = filled_in.and_then(|text| Url::parse(&text).ok());
        url.unwrap_or_else(|| self.unfilled_url.clone())
    }

    pub(super) async fn web(&self) -> &OauthWeb {
        self.web
            .get_or_init(|| async { OauthWeb::for_server(&self.url(), &self.logins.guards).await })
            .await
    }

    pub(super) fn configured_client(&self) -> Result<ConfiguredClient, LoginError> {
        let secret = self
            .settings()
            .client_secret
            .as_ref()
            .map(|template| template.resolve(|name| (self.lookup)(name)));
        Ok(ConfiguredClient {
            id: self.settings().client_id.clone(),
            secret: secret.transpose()?.map(SecretText::new),
            auth: self.settings().auth_method,
            document: self.settings().client_metadata_url.clone(),
        })
    }

    /// Stores a grant. The caller holds the lock of the store, or a grant that another process has
    /// just refreshed would be lost.
    pub(super) async fn store_grant(&self, grant: Grant) -> Result<Arc<Grant>, GrantStoreError> {
        self.logins.store.write(&self.server, &grant).await?;
        let grant = Arc::new(grant);
        self.current.store(Some(grant.clone()));
        Ok(grant)
    }

    pub(super) fn last_challenge(&self) -> Option<Challenge> {
        lock(&self.challenge).clone()
    }

    fn remember_challenge(&self, challenge: &Challenge) {
        *lock(&self.challenge) = Some(challenge.clone());
    }

    /// Returns a grant that another call or process has already obtained.
    pub(super) async fn find_newer_grant(
        &self,
        known: Option<&Grant>,
    ) -> Result<Option<Arc<Grant>>, GrantStoreError> {
        if let Some(current) = self.current.load_full()
            && current.differs_from(known)
        {
            return Ok(Some(current));
        }
        if self.settings().flow == Flow::ClientCredentials {
            return Ok(None);
        }
        let kept = self.logins.store.read(&self.server).await?;
        let kept = kept
            .filter(|grant| grant.is_for(&self.url()))
            .filter(|grant| grant.differs_from(known))
            .map(Arc::new);
        if let Some(kept) = &kept {
            self.current.store(Some(kept.clone()));
        }
        Ok(kept)
    }

    /// Returns the scopes that the operator configured, or else the challenge's, or else the ones
    /// that the server requires of every client.
    pub(super) fn choose_scopes(
        &self,
        authority: &Authority,
        challenge: Option<&Challenge>,
        extra: &Scopes,
    ) -> Scopes {
        let chosen = self.settings().scopes.clone().with(extra);
        if !chosen.is_empty() {
            return chosen;
        }
        match challenge {
            Some(challenge) if !challenge.scopes.is_empty() => challenge.scopes.clone(),
            _ => authority.scopes.clone(),
        }
    }

    async fn insufficient_scope(&self, grant: &Grant, scopes: Scopes) -> NoToken {
        if grant.scopes.covers(&scopes) {
            return self.login_needed(LoginReason::Withheld { scopes });
        }
        if let Err(error) = self.store_wanted_scopes(&scopes).await {
            tracing::warn!(server = %self.server, %error, "could not store the scopes for the next login");
        }
        self.login_needed(LoginReason::MoreScopes { scopes })
    }

    /// Stores the scopes that the server asked for, so that the next login requests them, too.
    async fn store_wanted_scopes(&self, scopes: &Scopes) -> Result<(), GrantStoreError> {
        let _guard = self.logins.store.lock(&self.server).await?;
        let Some(kept) = self
            .reload_grant()
            .await?
            .filter(|kept| !kept.wanted.covers(scopes))
        else {
            return Ok(());
        };
        let wanted = kept.wanted.clone().with(scopes);
        self.store_grant(Grant {
            wanted,
            ..(*kept).clone()
        })
        .await
        .map(|_| ())
    }

    pub(super) fn login_needed(&self, why: LoginReason) -> NoToken {
        NoToken::Person(LoginNeeded {
            server: self.server.clone(),
            why,
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Logins")
    }
}
