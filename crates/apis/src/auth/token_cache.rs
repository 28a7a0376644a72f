//! Access tokens, fetched once for all calls that need one, and cached until shortly before they
//! expire.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use kitbag_domain::sync::lock;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use url::Url;

use super::credential::CredentialOwner;
use super::token_request::{FetchedToken, TokenFault, TokenGrant, TokenRequest};
use crate::client::GuardedClient;
use crate::clock::Clock;
use crate::fault::RequestFault;

/// A token that expires within this time could expire on the way.
const MARGIN: Duration = Duration::from_secs(60);
/// The margin is at most this fraction of the lifetime, or a token that lasts a minute would never
/// be used.
const MARGIN_PARTS: u32 = 10;
/// A token endpoint that takes longer counts as down.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
/// A caller whose copy of the credential is older than this many refresh tokens starts over with
/// it.
const MAX_KNOWN: usize = 8;
/// Above this number, expired ones are evicted.
const CLEANUP_THRESHOLD: usize = 1024;

/// A refresh token that replaces another, and must be stored instead of it.
#[derive(Clone, PartialEq, Eq)]
pub struct RotatedRefreshToken {
    pub owner: CredentialOwner,
    pub refresh_token: String,
}

/// Stores a new refresh token. The call that needed it waits for this.
pub type StoreRefreshToken =
    Arc<dyn Fn(RotatedRefreshToken) -> BoxFuture<'static, ()> + Send + Sync>;

/// The tokens of all tenants, one for each credential.
pub struct TokenCache {
    entries: Mutex<HashMap<TokenKey, TokenEntry>>,
    clock: Clock,
    store: StoreRefreshToken,
}

type TokenEntry = Arc<tokio::sync::Mutex<CachedToken>>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct TokenKey {
    owner: CredentialOwner,
    url: Url,
    client_id: String,
    scopes: Vec<String>,
}

/// The token of one credential; initially empty.
#[derive(Default)]
struct CachedToken {
    access: Option<Arc<str>>,
    until: Option<SystemTime>,
    client_secret: String,
    /// The refresh tokens that led to the current one, newest last.
    refresh_tokens: Vec<String>,
    /// The last failure, which all calls that waited for it share.
    failed: Option<(Instant, TokenFault)>,
}

impl TokenCache {
    pub fn new(clock: Clock, store: StoreRefreshToken) -> Self {
        Self {
            entries: Mutex::default(),
            clock,
            store,
        }
    }

    /// Returns a token other than the `refused` one.
    pub(crate) async fn get_token(
        &self,
        request: &TokenRequest,
        client: &GuardedClient,
        refused: Option<&str>,
    ) -> Result<Arc<str>, TokenFault> {
        let started = Instant::now();
        let held = self.entry(request).lock_owned().await;
        if let Some(access) = held.usable_token(request, refused, self.clock.now()) {
            return Ok(access);
        }
        if let Some((at, failure)) = &held.failed
            && *at >= started
        {
            return Err(failure.clone());
        }
        self.fetch_in_task(held, request, client).await
    }

    /// Ensures that a rejected token is not sent again.
    pub(crate) async fn forget_token(&self, request: &TokenRequest, refused: &str) {
        let mut held = self.entry(request).lock_owned().await;
        if held.access.as_deref() == Some(refused) {
            held.access = None;
        }
    }

    /// Fetches the token on its own task: a call cancelled halfway would lose the new refresh
    /// token.
    async fn fetch_in_task(
        &self,
        mut held: OwnedMutexGuard<CachedToken>,
        request: &TokenRequest,
        client: &GuardedClient,
    ) -> Result<Arc<str>, TokenFault> {
        let (store, now, client) = (self.store.clone(), self.clock.now(), client.clone());
        let request = held.with_newest_token(request);
        let task = tokio::spawn(async move {
            let fetched = with_timeout(FETCH_TIMEOUT, request.fetch(&client)).await;
            let rotated = held.store_outcome(&request, fetched, now)?;
            if let Some(rotated) = rotated {
                store(rotated).await;
            }
            held.access.clone().ok_or_else(interrupted_fault)
        });
        task.await.unwrap_or_else(|_| Err(interrupted_fault()))
    }

    fn entry(&self, request: &TokenRequest) -> TokenEntry {
        let mut entries = lock(&self.entries);
        if entries.len() >= CLEANUP_THRESHOLD {
            let now = self.clock.now();
            entries.retain(|_, entry| is_used(entry, now));
        }
        entries
            .entry(TokenKey::for_request(request))
            .or_default()
            .clone()
    }
}

fn is_used(entry: &TokenEntry, now: SystemTime) -> bool {
    let held = entry.try_lock();
    held.map_or(true, |held| held.access.is_some() && held.is_fresh(now))
}

async fn with_timeout(
    time: Duration,
    fetch: impl Future<Output = Result<FetchedToken, TokenFault>>,
) -> Result<FetchedToken, TokenFault> {
    let fetched = tokio::time::timeout(time, fetch).await;
    fetched.unwrap_or(Err(TokenFault::Request {
        fault: RequestFault::TimedOut { after: time },
    }))
}

fn interrupted_fault() -> TokenFault {
    TokenFault::Request {
        fault: RequestFault::Lost {
            reason: "it was interrupted".to_owned(),
        },
    }
}

impl TokenKey {
    fn for_request(request: &TokenRequest) -> Self {
        Self {
            owner: request.owner.clone(),
            url: request.url.clone(),
            client_id: request.client_id.clone(),
            scopes: match &request.grant {
                TokenGrant::ClientCredentials { scopes } => scopes.clone(),
                TokenGrant::RefreshToken { .. } => Vec::new(),
            },
        }
    }
}

impl CachedToken {
    fn usable_token(
        &self,
        request: &TokenRequest,
        refused: Option<&str>,
        now: SystemTime,
    ) -> Option<Arc<str>> {
        let access = self.access.as_ref()?;
        (self.is_fresh(now) && self.is_for(request) && refused != Some(&**access))
            .then(|| access.clone())
    }

    fn is_fresh(&self, now: SystemTime) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    /// False if the credential has been replaced since.
    fn is_for(&self, request: &TokenRequest) -> bool {
        let known = match &request.grant {
            TokenGrant::RefreshToken { refresh_token } => {
                self.refresh_tokens.contains(refresh_token)
            }
            TokenGrant::ClientCredentials { .. } => true,
        };
        known && self.client_secret == request.client_secret
    }

    /// Returns the request with the newest refresh token: the caller's copy may be older.
    fn with_newest_token(&mut self, request: &TokenRequest) -> TokenRequest {
        if !self.is_for(request) {
            *self = Self {
                client_secret: request.client_secret.clone(),
                ..Self::default()
            };
        }
        let mut request = request.clone();
        if let TokenGrant::RefreshToken { refresh_token } = &mut request.grant {
            match self.refresh_tokens.last() {
                Some(newest) => refresh_token.clone_from(newest),
                None => self.refresh_tokens.push(refresh_token.clone()),
            }
        }
        request
    }

    /// Stores the outcome; returns the refresh token to store.
    fn store_outcome(
        &mut self,
        request: &TokenRequest,
        fetched: Result<FetchedToken, TokenFault>,
        now: SystemTime,
    ) -> Result<Option<RotatedRefreshToken>, TokenFault> {
        self.access = None;
        let fetched = match fetched {
            Ok(fetched) => fetched,
            Err(fault) => {
                self.failed = Some((Instant::now(), fault.clone()));
                return Err(fault);
            }
        };
        self.failed = None;
        self.access = Some(fetched.access.into());
        self.until = fetched.lasts.and_then(|lasts| usable_until(now, lasts));
        Ok(self.rotate(request, fetched.refresh))
    }

    fn rotate(
        &mut self,
        request: &TokenRequest,
        refresh: Option<String>,
    ) -> Option<RotatedRefreshToken> {
        let refresh_token = refresh.filter(|new| self.refresh_tokens.last() != Some(new))?;
        if matches!(request.grant, TokenGrant::ClientCredentials { .. }) {
            return None;
        }
        self.refresh_tokens.push(refresh_token.clone());
        if self.refresh_tokens.len() > MAX_KNOWN {
            self.refresh_tokens.remove(0);
        }
        Some(RotatedRefreshToken {
            owner: request.owner.clone(),
            refresh_token,
        })
    }
}

/// If the server states no lifetime, the token is used until it is rejected.
fn usable_until(now: SystemTime, lasts: Duration) -> Option<SystemTime> {
    let margin = MARGIN.min(lasts / MARGIN_PARTS);
    now.checked_add(lasts - margin)
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCache")
    }
}

impl fmt::Debug for RotatedRefreshToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RotatedRefreshToken")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
