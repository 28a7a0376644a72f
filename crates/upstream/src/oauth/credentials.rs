//! The token for each request to one server: taken from where it is kept, renewed before it
//! ends, and renewed once however many calls wait for it.

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
use super::client::{Client, Configured, KnownBy};
use super::error::{LoginError, LoginNeeded, TokenError, Why};
use super::grant::{Grant, Keeper, KeeperError, now};
use super::hidden::Hidden;
use super::scopes::Scopes;
use super::settings::{Flow, Settings};
use super::token::TokenEndpoint;
use super::web::{AddressGuards, Web};
use crate::spec::ServerSpec;
use kitbag_domain::sync::lock;

/// What this room needs from the rest of the house to log in at servers.
#[derive(Clone)]
pub struct Logins {
    pub keeper: Arc<dyn Keeper>,
    pub guards: AddressGuards,
}

pub struct Credentials {
    pub(super) server: ServerName,
    endpoint: RemoteEndpoint<Template>,
    /// Its address with the variables as they are written.
    unfilled_url: Url,
    settings: Settings,
    pub(super) lookup: Lookup,
    pub(super) logins: Logins,
    /// What we know of the grant, which another process may have replaced since.
    pub(super) current: ArcSwapOption<Grant>,
    first_read: OnceCell<()>,
    /// Held while the grant is renewed, so that those who come meanwhile share the outcome.
    pub(super) renewing: tokio::sync::Mutex<Option<(Instant, Trouble)>>,
    /// What the server said when it turned us away last.
    pub(super) challenge: Mutex<Option<Challenge>>,
    web: OnceCell<Web>,
}

/// Why there is no token to send.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    Person(LoginNeeded),
    /// It may be over by the next call.
    Passing {
        reason: String,
    },
}

/// What to try after a token was refused.
#[derive(Debug)]
pub(crate) struct Replacement {
    pub(crate) grant: Arc<Grant>,
    /// Whether it was made for just this, so that nothing better can be had if it is refused too.
    pub(crate) is_last: bool,
}

/// How a server turned a request away.
#[derive(Debug)]
pub(crate) struct TurnedAway {
    pub(crate) status: StatusCode,
    pub(crate) challenge: Challenge,
}

impl Credentials {
    /// None for a server that is sent a login of the configuration, or is no matter of HTTP.
    pub fn new(spec: &ServerSpec, lookup: &Lookup, logins: &Logins) -> Option<Arc<Self>> {
        // A person who wrote a header does not want it replaced.
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
            renewing: tokio::sync::Mutex::default(),
            challenge: Mutex::default(),
            web: OnceCell::new(),
        }))
    }

    /// What to show the server with the next request: nothing, if nobody has logged in.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Option<Arc<Grant>>, Trouble> {
        if self.settings().flow == Flow::Browser {
            let read = self
                .first_read
                .get_or_try_init(|| async { self.look().await.map(|_| ()) })
                .await;
            read.map_err(|error| Trouble::Passing {
                reason: error.to_string(),
            })?;
        }
        let Some(grant) = self.current.load_full() else {
            return Ok(None);
        };
        if !grant.is_due(now()) || grant.refresh.is_none() {
            return Ok(Some(grant));
        }
        match self.renew(grant.clone()).await {
            // It was to be renewed early for just this case.
            Err(Trouble::Passing { .. }) if !grant.is_over(now()) => Ok(Some(grant)),
            renewed => renewed.map(Some),
        }
    }

    /// Without renewing anything, for a request that nobody waits for.
    pub(crate) fn at_hand(&self) -> Option<Arc<Grant>> {
        self.current.load_full()
    }

    /// What to show the server instead of what it has just refused.
    pub(crate) async fn instead_of(
        self: &Arc<Self>,
        refused: Option<Arc<Grant>>,
        away: TurnedAway,
    ) -> Result<Replacement, Trouble> {
        self.remember(&away.challenge);
        let newer = self.newer_than(refused.as_deref()).await;
        if let Some(grant) = newer.map_err(|error| Trouble::Passing {
            reason: error.to_string(),
        })? {
            return Ok(Replacement {
                grant,
                is_last: false,
            });
        }
        if self.settings().flow == Flow::ClientCredentials {
            let grant = self.obtain(refused, &away.challenge).await?;
            return Ok(Replacement {
                grant,
                is_last: true,
            });
        }
        let Some(grant) = refused else {
            return Err(self.person(Why::NotYet));
        };
        if away.status == StatusCode::FORBIDDEN {
            return Err(self.step_up(&grant, away.challenge.scopes).await);
        }
        if grant.refresh.is_some() {
            return Ok(Replacement {
                grant: self.renew(grant).await?,
                is_last: true,
            });
        }
        Err(self.person(
            grant
                .ended
                .clone()
                .map_or(Why::Refused, |reason| Why::Ended { reason }),
        ))
    }

    /// What is left to say about a token that was fresh and is refused all the same.
    pub(crate) async fn give_up(&self, refused: &Grant, away: TurnedAway) -> Trouble {
        self.remember(&away.challenge);
        match (self.settings().flow, away.status) {
            (Flow::ClientCredentials, _) => Trouble::Passing {
                reason: "the server does not accept the token of our client".to_owned(),
            },
            (Flow::Browser, StatusCode::FORBIDDEN) => {
                self.step_up(refused, away.challenge.scopes).await
            }
            (Flow::Browser, _) => self.person(Why::Refused),
        }
    }

    /// The grant as it is kept now. Also when another process has changed it.
    pub async fn look(&self) -> Result<Option<Arc<Grant>>, KeeperError> {
        let kept = self.logins.keeper.read(&self.server).await?;
        let kept = kept.filter(|grant| grant.is_for(&self.url())).map(Arc::new);
        self.current.store(kept.clone());
        Ok(kept)
    }

    /// Whether a grant is kept that has not been tried yet.
    pub async fn has_news(&self) -> bool {
        let known = self.current.load_full();
        matches!(self.newer_than(known.as_deref()).await, Ok(Some(_)))
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

    /// With its variables filled in. Where one is missing, nothing is ever sent; the host has none.
    pub(super) fn url(&self) -> Url {
        let filled_in = self.endpoint.url.resolve(|name| (self.lookup)(name)).ok();
        let url = filled_in.and_then(|text| Url::parse(&text).ok());
        url.unwrap_or_else(|| self.unfilled_url.clone())
    }

    pub(super) async fn web(&self) -> &Web {
        self.web
            .get_or_init(|| async { Web::of(&self.url(), &self.logins.guards).await })
            .await
    }

    pub(super) fn configured(&self) -> Result<Configured, LoginError> {
        let secret = self
            .settings()
            .client_secret
            .as_ref()
            .map(|it| it.resolve(|name| (self.lookup)(name)));
        Ok(Configured {
            id: self.settings().client_id.clone(),
            secret: secret.transpose()?.map(Hidden::new),
            auth: self.settings().auth_method,
            document: self.settings().client_metadata_url.clone(),
        })
    }

    /// Whoever calls this holds the lock of the keeper, or a grant that somebody has just renewed
    /// would be lost.
    pub(super) async fn adopt(&self, grant: Grant) -> Result<Arc<Grant>, KeeperError> {
        self.logins.keeper.write(&self.server, &grant).await?;
        let grant = Arc::new(grant);
        self.current.store(Some(grant.clone()));
        Ok(grant)
    }

    pub(super) fn last_challenge(&self) -> Option<Challenge> {
        lock(&self.challenge).clone()
    }

    fn remember(&self, challenge: &Challenge) {
        *lock(&self.challenge) = Some(challenge.clone());
    }

    /// Another call, or another process, may have done already what is to be done.
    async fn newer_than(&self, known: Option<&Grant>) -> Result<Option<Arc<Grant>>, KeeperError> {
        let differs = |grant: &Arc<Grant>| known.is_none_or(|known| known.access != grant.access);
        if let Some(current) = self.current.load_full().filter(differs) {
            return Ok(Some(current));
        }
        if self.settings().flow == Flow::ClientCredentials {
            return Ok(None);
        }
        let kept = self.logins.keeper.read(&self.server).await?;
        let kept = kept
            .filter(|grant| grant.is_for(&self.url()))
            .map(Arc::new)
            .filter(differs);
        if let Some(kept) = &kept {
            self.current.store(Some(kept.clone()));
        }
        Ok(kept)
    }

    /// On a task of its own: a client that goes away in the middle would take the new refresh
    /// token with it.
    async fn renew(self: &Arc<Self>, grant: Arc<Grant>) -> Result<Arc<Grant>, Trouble> {
        let (me, asked) = (self.clone(), Instant::now());
        let renewing = tokio::spawn(async move {
            let mut last = me.renewing.lock().await;
            if let Some((_, trouble)) = last.as_ref().filter(|(at, _)| *at >= asked) {
                return Err(trouble.clone());
            }
            let renewed = me.renew_once(&grant).await;
            *last = renewed
                .as_ref()
                .err()
                .map(|trouble| (Instant::now(), trouble.clone()));
            renewed
        });
        renewing.await.unwrap_or_else(|_| {
            Err(Trouble::Passing {
                reason: "it was interrupted".to_owned(),
            })
        })
    }

    async fn renew_once(&self, grant: &Grant) -> Result<Arc<Grant>, Trouble> {
        let passing = |error: KeeperError| Trouble::Passing {
            reason: error.to_string(),
        };
        let _alone = self
            .logins
            .keeper
            .lock(&self.server)
            .await
            .map_err(passing)?;
        if let Some(newer) = self.newer_than(Some(grant)).await.map_err(passing)? {
            return Ok(newer);
        }
        let refreshed = match self.client_of(grant) {
            Ok(client) => self.refresh(grant, &client).await,
            Err(error) => {
                return Err(Trouble::Passing {
                    reason: error.to_string(),
                });
            }
        };
        match refreshed {
            Ok(renewed) => self.adopt(renewed).await.map_err(passing),
            Err(error) if error.may_pass() => Err(Trouble::Passing {
                reason: error.to_string(),
            }),
            Err(error) => {
                let reason = error.to_string();
                self.adopt(grant.ended(reason.clone()))
                    .await
                    .map_err(passing)?;
                Err(self.person(Why::Ended { reason }))
            }
        }
    }

    async fn refresh(&self, grant: &Grant, client: &Client) -> Result<Grant, TokenError> {
        let Some(token) = &grant.refresh else {
            return Ok(grant.clone());
        };
        let (web, url) = (self.web().await, &grant.token_endpoint);
        let endpoint = TokenEndpoint {
            web,
            url,
            client,
            resource: &grant.resource,
        };
        endpoint
            .refresh(token)
            .await
            .map(|tokens| grant.renewed(tokens))
    }

    /// The client of a grant, with the secret that is in the configuration.
    pub(super) fn client_of(&self, grant: &Grant) -> Result<Client, LoginError> {
        let mut client = grant.client.clone();
        if client.known_by == KnownBy::Configuration {
            client.secret = self.configured()?.secret;
        }
        Ok(client)
    }

    /// What a person asks for, or else what the server says this needs, or else what it says
    /// everybody needs.
    pub(super) fn scopes(
        &self,
        authority: &Authority,
        challenge: Option<&Challenge>,
        extra: &Scopes,
    ) -> Scopes {
        let chosen = self.settings().scopes.clone().with(extra);
        if !chosen.is_empty() {
            return chosen;
        }
        match challenge.map(|it| &it.scopes).filter(|it| !it.is_empty()) {
            Some(scopes) => scopes.clone(),
            None => authority.scopes.clone(),
        }
    }

    async fn step_up(&self, grant: &Grant, scopes: Scopes) -> Trouble {
        if grant.scopes.covers(&scopes) {
            return self.person(Why::Withheld { scopes });
        }
        if let Err(error) = self.note(&scopes).await {
            tracing::warn!(server = %self.server, %error, "what the next login needs could not be kept");
        }
        self.person(Why::MoreScopes { scopes })
    }

    /// Keeps what was asked for, so that the next login asks for it too.
    async fn note(&self, scopes: &Scopes) -> Result<(), KeeperError> {
        let _alone = self.logins.keeper.lock(&self.server).await?;
        let Some(kept) = self
            .look()
            .await?
            .filter(|kept| !kept.wanted.covers(scopes))
        else {
            return Ok(());
        };
        let wanted = kept.wanted.clone().with(scopes);
        self.adopt(Grant {
            wanted,
            ..(*kept).clone()
        })
        .await
        .map(|_| ())
    }

    fn person(&self, why: Why) -> Trouble {
        Trouble::Person(LoginNeeded {
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
