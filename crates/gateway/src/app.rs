//! The house, opened: built once from the configuration, used by every verb of the command line.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::future::join_all;
use kitbag_domain::{Caller, Role, ServerName, Tenant};
use kitbag_policy::Policy;
use kitbag_relevance::Options;
use kitbag_store::{KeyInfo, Store};
use kitbag_upstream::{CallError, Logs, Server};
use kitbag_wire::{Era, Raw, RawObject};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::background::{self, Changes};
use crate::config::{Config, Serve};
use crate::failure::Failure;
use crate::front;
use crate::house::House;
use crate::index::NAMESPACE;
use crate::index::embedder::EmbedderError;
use crate::index::intent::degraded;
use crate::login;
use crate::meter::Meter;
use crate::meter::report::{Tokens, report};
use crate::pipeline::{self, Call, CallMethod};
use crate::reload::{Entrance, Follower};
use crate::rooms::now;
use crate::search::{self, Search, Verdict};
use crate::surface::call::{as_meant, with_taken};
use crate::surface::{Door, Surface};
use crate::turn::{BackChannel, Capabilities, Client, Turn, View};

/// What servers asked for the first time have at least, counted from the start, also when the
/// only client has left by then.
const FIRST_LISTING: Duration = Duration::from_secs(5);
/// What they have after the gateway was asked to end.
const LAST_LISTING: Duration = Duration::from_secs(1);

pub struct App {
    house: Arc<House>,
    background: Vec<AbortHandle>,
}

/// What is known at the moment the door opens.
#[derive(Debug)]
pub struct Banner {
    pub endpoint: String,
    /// Servers whose tools are known from an earlier run.
    pub known: usize,
    /// Servers that are being asked for the first time.
    pub asking: usize,
    pub tools: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("this configuration lets nobody in without a key, and there is no key yet")]
pub struct NoKeys;

impl NoKeys {
    pub const REMEDY: &str = "create one with `kitbag key create --tenant NAME`";
}

#[derive(Debug, thiserror::Error)]
#[error("the index has no tool called `{name}`")]
pub struct NotIndexed {
    pub name: String,
}

impl NotIndexed {
    pub const REMEDY: &str =
        "see the names with `kitbag tools`; if it is there, index it with `kitbag index build`";
}

#[derive(Debug, Serialize)]
pub struct ToolRow {
    pub name: String,
    pub server: ServerName,
    pub tool: String,
    pub description: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct ServerReport {
    pub era: Era,
    pub version: String,
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    #[serde(rename = "took_ms", serialize_with = "milliseconds")]
    pub took: Duration,
    pub problems: Vec<String>,
}

impl App {
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let (house, notices) = House::open(config).await?;
        let background = vec![
            tokio::spawn(background::follow_notices(house.clone(), notices)).abort_handle(),
            tokio::spawn(background::tidy(house.clone())).abort_handle(),
        ];
        Ok(Self { house, background })
    }

    /// Serves HTTP until the process is asked to end.
    pub async fn serve_http(mut self, follower: Follower, ready: impl FnOnce(&Banner)) -> anyhow::Result<()> {
        let rooms = self.house.rooms();
        check_keys(&rooms.serve, &rooms.store).await?;
        for tenant in unknown_tenants(&rooms.policy, &rooms.store).await? {
            tracing::warn!(%tenant, "{}", UnknownTenant::WHAT);
        }
        let bind = rooms.serve.bind;
        let listener =
            TcpListener::bind(bind).await.with_context(|| format!("the address {bind} cannot be used"))?;
        rooms.index.ready().await?;
        rooms.meter.export()?;
        drop(rooms);
        let address = listener.local_addr()?;
        ready(&self.banner(address));
        let mut listing = tokio::spawn(background::list_unknown(self.house.clone()));
        self.work_beside_requests(follower, Entrance::Http);
        let ended = CancellationToken::new();
        tokio::spawn(until_asked_to_end(ended.clone(), self.house.clone()));
        front::listener::serve(listener, self.house.clone(), ended).await;
        // A listing that clients have seen part of should be kept for the next start.
        let _ = tokio::time::timeout(LAST_LISTING, &mut listing).await;
        listing.abort();
        self.close().await;
        Ok(())
    }

    /// Serves one client on stdin and stdout until it closes stdin.
    pub async fn serve_stdio(mut self, follower: Follower, surface: Option<Surface>) -> anyhow::Result<()> {
        self.house.rooms().index.ready().await?;
        self.house.rooms().meter.export()?;
        self.work_beside_requests(follower, Entrance::Stdio);
        let door = surface.map_or(Door::Main, Door::Surface);
        let mut listing = tokio::spawn(background::list_unknown(self.house.clone()));
        let enough = tokio::time::Instant::now() + FIRST_LISTING;
        let ended = CancellationToken::new();
        tokio::spawn(until_asked_to_end(ended.clone(), self.house.clone()));
        let serving = async {
            front::stdio::serve(self.house.clone(), door).await?;
            // A client that asks one thing and leaves would otherwise never let the servers
            // finish their introduction, and the next such client would find nothing again.
            let _ = tokio::time::timeout_at(enough, &mut listing).await;
            Ok::<_, std::io::Error>(())
        };
        tokio::select! {
            served = serving => served?,
            () = ended.cancelled() => {}
        }
        listing.abort();
        self.close().await;
        Ok(())
    }

    fn work_beside_requests(&mut self, follower: Follower, entrance: Entrance) {
        self.background.extend([
            tokio::spawn(follower.follow(self.house.clone(), entrance)).abort_handle(),
            tokio::spawn(background::follow_catalog(self.house.clone())).abort_handle(),
            tokio::spawn(background::forget_old_audit(self.house.clone())).abort_handle(),
            tokio::spawn(background::close_ended_keys(self.house.clone())).abort_handle(),
            tokio::spawn(background::keep_key_uses(self.house.clone())).abort_handle(),
            tokio::spawn(login::follow(self.house.clone())).abort_handle(),
        ]);
    }

    /// Stops every server and writes down what is still to be written.
    pub async fn close(self) {
        let rooms = self.house.rooms();
        rooms.sessions.close_all();
        rooms.upstreams.shutdown().await;
        for task in &self.background {
            task.abort();
        }
        Meter::close(rooms.clone()).await;
        rooms.audit.shutdown().await;
        background::keep_key_uses_now(&rooms).await;
        rooms.store.close().await;
    }

    /// What one server offers; asked anew if `refresh` says so or nothing is known.
    pub async fn listing(&self, name: &ServerName, refresh: bool) -> Result<ServerReport, CallError> {
        let rooms = self.house.rooms();
        let server = rooms.upstreams.get(name).expect("the configuration names it");
        let started = Instant::now();
        let listing = match server.listing().filter(|_| !refresh) {
            Some(listing) => listing,
            None => background::refresh(&self.house, server, Changes::default()).await?,
        };
        Ok(ServerReport {
            era: listing.era,
            version: listing.version.clone(),
            tools: listing.tools.len(),
            prompts: listing.prompts.len(),
            resources: listing.resources.len() + listing.templates.len(),
            took: started.elapsed(),
            problems: listing.problems.iter().map(|it| format!("{}: {}", it.about, it.what)).collect(),
        })
    }

    /// The tools a local client sees at the endpoint, as far as they are known.
    pub fn tools(&self) -> Vec<ToolRow> {
        let caller = Caller::local();
        let rooms = self.house.rooms();
        let catalog = rooms.catalog();
        let visible = catalog.tools.iter().filter(|entry| rooms.policy.visible(&caller, &entry.capability));
        visible
            .map(|entry| ToolRow {
                name: entry.exposed.clone(),
                server: entry.capability.server.clone(),
                tool: entry.capability.name.clone(),
                description: RawObject::open(&entry.definition).ok().and_then(|it| it.read("description")),
            })
            .collect()
    }

    /// What clients are told of the tool of that name.
    pub fn definition(&self, name: &str) -> Option<Value> {
        let catalog = self.house.rooms().catalog();
        catalog.tool(name).and_then(|entry| serde_json::from_str(entry.definition.get()).ok())
    }

    /// Calls a tool by the name the endpoint shows, on the road every client of a frugal surface
    /// takes: arguments are held against the listing before the server is started.
    pub async fn call(&self, name: &str, arguments: Map<String, Value>) -> anyhow::Result<Value> {
        let mut params = RawObject::new().with("name", name).with("arguments", &arguments);
        let taken = as_meant(&self.house.rooms(), name, &mut params);
        let result = self.run(Surface::Search, params).await?;
        Ok(serde_json::from_str(with_taken(result, taken.as_ref()).get())?)
    }

    /// Calls a tool and leaves it to its server what to make of the arguments.
    pub async fn call_unchecked(&self, name: &str, arguments: Map<String, Value>) -> anyhow::Result<Value> {
        let params = RawObject::new().with("name", name).with("arguments", &arguments);
        Ok(serde_json::from_str(self.run(Surface::All, params).await?.get())?)
    }

    async fn run(&self, surface: Surface, params: RawObject) -> anyhow::Result<Raw> {
        let turn = local_turn("kitbag call", surface);
        match pipeline::run(&self.house.rooms(), &turn, Call { method: CallMethod::CallTool, params }).await {
            Ok(result) => Ok(result),
            Err(Failure::Upstream(error)) => Err(error.into()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// What the surface costs a local client's context at its start, as far as tools are known.
    pub async fn tokens(&self, surface: Surface) -> Tokens {
        report(&self.house.rooms(), &local_turn("kitbag tokens", surface), surface).await
    }

    /// Whether a tool of that name is known without asking any server.
    pub fn knows(&self, name: &str) -> bool {
        self.house.rooms().catalog().tool(name).is_some()
    }

    /// The tools for an intent, best first, and a warning if vectors are wanting.
    pub async fn search(&self, text: &str, options: &Options) -> anyhow::Result<Search> {
        self.house.rooms().index.ready().await?;
        let indexed = self.index_all(|_, _| {}).await;
        let searched = search::search(&self.house.rooms(), text, options).await;
        let warning = searched.warning.or(indexed.err().map(|error| degraded(&error)));
        Ok(Search { warning, ..searched })
    }

    /// Lists every server anew and computes the vectors that are missing. Tells which gave no
    /// answer.
    pub async fn build_index(&self, progress: impl FnMut(usize, usize)) -> anyhow::Result<Vec<CallError>> {
        self.house.rooms().index.ready().await?;
        let failed = self.list_anew(|_| true).await;
        self.index_all(progress).await?;
        background::mention_unknown_tools(&self.house.rooms());
        Ok(failed)
    }

    pub async fn verify_index(&self, progress: impl FnMut(usize, usize)) -> anyhow::Result<Verdict> {
        self.index_all(progress).await?;
        Ok(search::verify(&self.house.rooms()).await)
    }

    /// What the mirror of the index holds under a tool's name.
    pub async fn index_entry(&self, name: &str) -> anyhow::Result<Value> {
        let stored = self.house.rooms().store.mirror(NAMESPACE, name).await?;
        let stored = stored.ok_or_else(|| NotIndexed { name: name.to_owned() })?;
        Ok(serde_json::from_str(&stored)?)
    }

    pub fn index_size(&self) -> usize {
        self.house.rooms().index.snapshot().index.len()
    }

    async fn index_all(&self, progress: impl FnMut(usize, usize)) -> Result<(), EmbedderError> {
        let rooms = self.house.rooms();
        let (catalog, unlisted) = (rooms.catalog(), rooms.unlisted());
        rooms.index.rebuild(&rooms.contents(&catalog, &unlisted), || false, progress).await
    }

    /// Lists every server nobody has listed yet, and tells which gave no answer.
    pub async fn know_all(&self) -> Vec<CallError> {
        self.list_anew(|server| server.listing().is_none()).await
    }

    /// Asks those servers what they offer, and tells which gave no answer.
    async fn list_anew(&self, which: impl Fn(&Server) -> bool) -> Vec<CallError> {
        let rooms = self.house.rooms();
        let servers = rooms.upstreams.iter().filter(|server| which(server));
        let asked = servers.map(|server| background::refresh(&self.house, server, Changes::default()));
        join_all(asked).await.into_iter().filter_map(Result::err).collect()
    }

    fn banner(&self, address: SocketAddr) -> Banner {
        let rooms = self.house.rooms();
        // What is built in is there for everybody; the person wants to read of their own.
        let own: Vec<_> = rooms.upstreams.iter().filter(|server| !server.spec().is_inside()).collect();
        let known = own.iter().filter(|server| server.listing().is_some()).count();
        let catalog = rooms.catalog();
        let of_own = |name| own.iter().any(|server| server.name() == name);
        let tools = catalog.tools.iter().filter(|entry| of_own(&entry.capability.server)).count();
        Banner { endpoint: format!("http://{address}/mcp"), known, asking: own.len() - known, tools }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

/// A door that wants a key nobody has would be a wall.
pub(crate) async fn check_keys(serve: &Serve, store: &Store) -> anyhow::Result<()> {
    if serve.keyless() || store.has_active_keys(now()).await? {
        return Ok(());
    }
    Err(NoKeys.into())
}

/// Tenants that have keys which open nothing, because the configuration does not name them.
pub(crate) async fn unknown_tenants(
    policy: &Policy,
    store: &Store,
) -> Result<BTreeSet<Tenant>, kitbag_store::Error> {
    let now = now();
    let active = |key: &KeyInfo| key.revoked_at.is_none() && !key.is_expired(now) && key.role == Role::User;
    let tenants = store.keys().await?.into_iter().filter(active).map(|key| key.tenant);
    Ok(tenants.filter(|tenant| !policy.knows(tenant)).collect())
}

pub(crate) struct UnknownTenant;

impl UnknownTenant {
    pub(crate) const WHAT: &str = "keys of this tenant open nothing: it has no table under [tenants]";

    pub(crate) fn remedy(tenant: &Tenant) -> String {
        format!(
            "add `[tenants.{tenant}]` to the configuration (it may stay empty), set `unknown = \"allow\"` under \
             [tenants], or revoke the keys"
        )
    }
}

/// A request by the person at this machine.
fn local_turn(name: &str, surface: Surface) -> Turn {
    let (outbox, mut messages) = mpsc::channel(crate::turn::BACKLOG);
    tokio::spawn(async move { while messages.recv().await.is_some() {} });
    Turn {
        client: Client {
            caller: Caller::local(),
            era: Era::Legacy,
            id: "command line".into(),
            name: Some(name.to_owned()),
            capabilities: Capabilities::new(None),
            logs: Logs::None,
        },
        view: View::House(surface),
        back: BackChannel::new(outbox, None),
        cancelled: CancellationToken::new(),
    }
}

async fn until_asked_to_end(ended: CancellationToken, house: Arc<House>) {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        else {
            return;
        };
        tokio::select! {
            _ = interrupt => {}
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = interrupt.await;
    // Streams that would stay open for ever end here, so that the server can.
    house.rooms().sessions.close_all();
    ended.cancel();
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u128(duration.as_millis())
}
