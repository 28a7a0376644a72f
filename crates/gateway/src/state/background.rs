//! The work beside the requests: the index follows the catalog, and what is
//! too old is removed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kitbag_domain::Remedy as _;
use kitbag_domain::{ExposedName, KeyId, ServerName, Timestamp};
use tokio::task::JoinHandle;

use crate::catalog::list_servers::{mention_failure, refresh};
use crate::catalog::overrides;
use crate::front::announce::Changes;
use crate::state::clock::now;
use crate::state::gateway::Gateway;
use crate::state::host::GatewayHost;

const TIDY_EVERY: Duration = Duration::from_secs(60);
/// The interval at which the index is compared with the latest calls.
const LOOK_AGAIN: Duration = Duration::from_secs(300);
/// The time after which an embedder that failed is asked again.
const TRY_AGAIN: Duration = Duration::from_secs(30);
/// The interval at which the log mentions a long computation.
const TELL_EVERY: Duration = Duration::from_secs(2);
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// The time within which sessions and streams that a client opened with a key end after the key has
/// ended. Revocations come from other processes, so the store has to be asked.
const LOOK_FOR_ENDED_KEYS: Duration = Duration::from_millis(500);
/// The time within which `kitbag key list` shows that a key was used.
const KEEP_USES_EVERY: Duration = Duration::from_secs(5);
const BETWEEN_PORTIONS: Duration = Duration::from_millis(100);
const FORGOTTEN_AT_ONCE: u32 = 1_000;

/// Keeps the index in step with the catalog and with the results of calls, until the gateway
/// closes.
pub async fn follow_catalog(host: Arc<GatewayHost>) {
    let mut wait = LOOK_AGAIN;
    loop {
        tokio::select! {
            () = host.catalog_changed.notified() => {}
            () = tokio::time::sleep(wait) => if !host.gateway().services.index.is_outdated().await { continue },
        }
        wait = if index(&host).await {
            LOOK_AGAIN
        } else {
            TRY_AGAIN
        };
    }
}

/// Brings the index up to date. Returns true if every tool has its vector, as far as that depends
/// on the gateway.
async fn index(host: &GatewayHost) -> bool {
    let gateway = host.gateway();
    let catalog = gateway.catalog();
    let overtaken = || !Arc::ptr_eq(&catalog, &host.gateway().catalog());
    let mut told = Instant::now();
    let progress = |done: usize, total: usize| {
        if done < total && told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            tracing::info!(done, total, "texts are being embedded");
        }
    };
    let unlisted = gateway.unlisted();
    let contents = gateway.contents(&catalog, &unlisted);
    if let Err(error) = gateway
        .services
        .index
        .rebuild(&contents, overtaken, progress)
        .await
    {
        tracing::warn!(%error, remedy = error.remedy(), "tools without vectors are found by their words");
        return false;
    }
    if overtaken() {
        return true;
    }
    let snapshot = gateway.services.index.snapshot();
    let (tools, embedded) = snapshot.served();
    tracing::info!(tools, embedded, "the index is up to date");
    if gateway.unlisted().is_empty() {
        gateway.services.index.forget_unused().await;
    }
    true
}

/// Removes what happened longer ago than is kept, in portions small enough not to be noticed.
pub async fn forget_old_audit(host: Arc<GatewayHost>) {
    loop {
        let gateway = host.gateway();
        let before = Timestamp(
            now()
                .0
                .saturating_sub_unsigned(gateway.audit_settings.keep.as_millis() as u64),
        );
        let pause = match gateway
            .services
            .store
            .forget_audit(before, FORGOTTEN_AT_ONCE)
            .await
        {
            Ok(removed) if removed == u64::from(FORGOTTEN_AT_ONCE) => BETWEEN_PORTIONS,
            Ok(_) => FORGET_EVERY,
            Err(error) => {
                tracing::warn!(%error, "old rows of the audit could not be removed");
                FORGET_EVERY
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// Renews the lessons of another model at the start, and removes those that are older than they are
/// kept, at the start and at intervals.
pub async fn tend_lessons(host: Arc<GatewayHost>) {
    host.gateway().services.learner.renew().await;
    loop {
        let gateway = host.gateway();
        let learner = &gateway.services.learner;
        learner.forget_older_than(gateway.learning.keep).await;
        tokio::time::sleep(FORGET_EVERY).await;
    }
}

/// Closes the sessions and streams of keys that were revoked or have expired.
pub async fn close_ended_keys(host: Arc<GatewayHost>) {
    let mut outage = Outage::of("whether keys were revoked could not be looked up");
    loop {
        tokio::time::sleep(LOOK_FOR_ENDED_KEYS).await;
        let gateway = host.gateway();
        let mut in_use = gateway.services.sessions.keys();
        in_use.extend(gateway.services.holders.keys());
        in_use.extend(gateway.services.parking.keys());
        if in_use.is_empty() {
            continue;
        }
        let in_use: Vec<KeyId> = in_use.into_iter().collect();
        match gateway.services.store.ended_keys(&in_use, now()).await {
            Ok(ended) => {
                outage.is_over();
                close_of(&gateway, &ended).await;
            }
            Err(error) => outage.goes_on(&error),
        }
    }
}

async fn close_of(gateway: &Gateway, ended: &[KeyId]) {
    if ended.is_empty() {
        return;
    }
    let named: Vec<_> = ended.iter().map(ToString::to_string).collect();
    tracing::info!(
        keys = named.join(", "),
        "closing what was opened with keys that have ended"
    );
    gateway.services.holders.cancel_of(ended);
    gateway.services.parking.give_up_of(ended);
    for session in gateway.services.sessions.close_of(ended) {
        session.stop_watching().await;
    }
}

/// Writes down beside the requests when keys were last used.
pub async fn keep_key_uses(host: Arc<GatewayHost>) {
    let mut outage = Outage::of(USES_NOT_WRITTEN);
    loop {
        tokio::time::sleep(KEEP_USES_EVERY).await;
        match host.gateway().services.store.keep_key_uses().await {
            Ok(()) => outage.is_over(),
            Err(error) => outage.goes_on(&error),
        }
    }
}

const USES_NOT_WRITTEN: &str = "when keys were last used could not be written down";

pub(crate) async fn keep_key_uses_now(gateway: &Gateway) {
    if let Err(error) = gateway.services.store.keep_key_uses().await {
        tracing::warn!(%error, "{USES_NOT_WRITTEN}");
    }
}

/// Tells the operator once that work which repeats fails, and once that it succeeds again.
struct Outage {
    what: &'static str,
    lasts: bool,
}

impl Outage {
    fn of(what: &'static str) -> Self {
        Self { what, lasts: false }
    }

    fn goes_on(&mut self, error: &kitbag_store::Error) {
        if !std::mem::replace(&mut self.lasts, true) {
            tracing::warn!(%error, "{}; it is tried again", self.what);
        }
    }

    fn is_over(&mut self) {
        if std::mem::take(&mut self.lasts) {
            tracing::info!("the store answers again");
        }
    }
}

/// Warns of tools in the configuration that no server has; those of servers that could not be
/// asked may well be there.
pub(crate) fn mention_unknown_tools(gateway: &Gateway) {
    let asked = |name: &str| {
        let server =
            ExposedName::server_in(name).and_then(|server| gateway.upstreams.get(&server).cloned());
        server.is_none_or(|server| server.listing().is_some())
    };
    let catalog = gateway.catalog();
    let unknown = gateway.declared.keys().filter(|name| !catalog.knows(name));
    for tool in unknown.filter(|name| asked(name)) {
        tracing::warn!(
            tool,
            "the configuration has a [tools] entry for a tool that no server offers"
        );
    }
    for (tool, problem) in overrides::problems(gateway, &catalog) {
        tracing::warn!(tool, "the configuration does not fit the tool: {problem}");
    }
}

/// At intervals takes out sessions that their clients did not come back to, and asks servers that
/// could not be listed so far whether they can be by now.
pub(crate) async fn tidy(host: Arc<GatewayHost>) {
    loop {
        tokio::time::sleep(TIDY_EVERY).await;
        let gateway = host.gateway();
        for server in gateway
            .upstreams
            .iter()
            .filter(|server| server.listing().is_none())
        {
            relist(&host, server.name(), Changes::default());
        }
        for session in gateway.services.sessions.forget_abandoned() {
            session.stop_watching().await;
        }
    }
}

/// Lists a server again on a task of its own, if there is a reason to.
pub(crate) fn relist(
    host: &Arc<GatewayHost>,
    name: &ServerName,
    changes: Changes,
) -> Option<JoinHandle<()>> {
    let server = host.gateway().upstreams.get(name).cloned()?;
    if !changes.any() && !server.is_stale() {
        return None;
    }
    let host = host.clone();
    Some(tokio::spawn(async move {
        mention_failure(&server, refresh(&host, &server, changes).await);
    }))
}
