//! A gateway in this process, built once from the configuration and asked by every verb of the
//! command line.
//!
//! # Layout
//! - `definitions`: the definitions that servers list, for the person who approves them
//! - `index`: the verbs that build, check and search the index
//! - `know`: asking servers what they offer, and the servers that do not say
//! - `report`: what the gateway tells of itself and of its servers

mod definitions;
mod index;
mod know;
mod report;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use kitbag_config::Config;
use kitbag_domain::sync::lock;
use kitbag_domain::{Caller, Origin, Purpose, ServerName, ShortText, Surface, Timestamp};
use kitbag_upstream::{CallError, LogWish};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Raw, RawObject};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

pub use self::definitions::ServerDefinitions;
pub use self::index::NotIndexed;
pub use self::know::SilentServer;
pub use self::report::{CallProgress, ServerReport, ServerStatus, Status};
use crate::admin::offers::{self, PromptRow, ResourceRow, SkillRow, ToolRow};
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{Call, McpCall, call_params};
use crate::catalog::list_servers;
use crate::front::announce::Changes;
use crate::front::flights::HeldMessage;
use crate::front::heard::{SpokenWords, ToolsForWords, hear};
use crate::front::tokens::for_people;
use crate::state::background;
use crate::state::clock::now;
use crate::state::follow_notices::follow_notices;
use crate::state::host::GatewayHost;
use crate::state::random_ids::random_request_id;
use crate::surface;
use crate::surface::answer::{add_correction_note, correct_arguments};
use crate::surface::find::DEFAULT_LIMIT;
use crate::surface::kept;
use crate::surface::tokens::{SurfaceTokens, count_surface_tokens};
use crate::telemetry::audit::inquiries::Inquirer;
use crate::turn::client::{ClientCapabilities, McpClient};
use crate::turn::view::View;
use crate::turn::{BackChannel, Turn};

pub struct App {
    host: Arc<GatewayHost>,
    /// The tasks that end when the gateway is closed.
    background: Mutex<Vec<AbortHandle>>,
    since: Timestamp,
    /// The address on which the gateway serves HTTP, if it does.
    address: OnceLock<SocketAddr>,
}

/// The events beside a request: progress and cancellation.
pub struct Meanwhile<'a> {
    /// The function that gets the progress that a server reports.
    pub progress: &'a mut (dyn FnMut(CallProgress) + Send),
    /// The token is cancelled when the caller does not want the answer any more.
    pub cancelled: CancellationToken,
}

impl<'a> Meanwhile<'a> {
    /// Makes the value for a request that is always seen to its end.
    pub fn to_its_end(progress: &'a mut (dyn FnMut(CallProgress) + Send)) -> Self {
        Self {
            progress,
            cancelled: CancellationToken::new(),
        }
    }
}

impl App {
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let (host, notices) = GatewayHost::open(config).await?;
        let background = vec![
            tokio::spawn(follow_notices(host.clone(), notices)).abort_handle(),
            tokio::spawn(background::run_housekeeping(host.clone())).abort_handle(),
        ];
        Ok(Self {
            host,
            background: Mutex::new(background),
            since: now(),
            address: OnceLock::new(),
        })
    }

    pub fn host(&self) -> &Arc<GatewayHost> {
        &self.host
    }

    /// Keeps tasks that work beside requests, to end them when the gateway is closed.
    pub fn work_until_closed(&self, tasks: impl IntoIterator<Item = AbortHandle>) {
        lock(&self.background).extend(tasks);
    }

    /// Notes the address on which the gateway serves HTTP.
    pub fn serves_at(&self, address: SocketAddr) {
        self.address.get_or_init(|| address);
    }

    /// Stops every server and writes down what is still to be written.
    pub async fn close(&self) {
        let gateway = self.host.gateway();
        gateway.services.sessions.close_all();
        gateway.upstreams.shutdown().await;
        self.end_work().await;
    }

    /// The same while other gateways of this process go on.
    pub async fn close_beside_others(&self) {
        let gateway = self.host.gateway();
        gateway.services.sessions.close_all();
        gateway.upstreams.stop_all().await;
        self.end_work().await;
    }

    async fn end_work(&self) {
        let gateway = self.host.gateway();
        for task in lock(&self.background).drain(..) {
            task.abort();
        }
        gateway.services.meter.clone().close().await;
        gateway.services.learner.flush().await;
        gateway.services.audit.shutdown().await;
        background::record_key_uses_now(&gateway).await;
        gateway.services.store.close().await;
    }

    /// Returns what one server offers. The server is asked anew if `refresh` is set or if nothing
    /// is known of it.
    pub async fn listing(
        &self,
        name: &ServerName,
        refresh: bool,
    ) -> Result<ServerReport, CallError> {
        let gateway = self.host.gateway();
        let server = gateway
            .upstreams
            .get(name)
            .expect("the configuration names it");
        let started = Instant::now();
        let listing = match server.listing().filter(|_| !refresh) {
            Some(listing) => listing,
            None => list_servers::refresh(&self.host, server, Changes::default()).await?,
        };
        Ok(ServerReport::of(name, &listing, started.elapsed()))
    }

    /// The tools a local client sees at the endpoint, as far as they are known.
    pub fn tools(&self) -> Vec<ToolRow> {
        let gateway = self.host.gateway();
        offers::tools(&gateway.catalog(), &gateway.policy)
    }

    pub fn prompts(&self) -> Vec<PromptRow> {
        let gateway = self.host.gateway();
        offers::prompts(&gateway.catalog(), &gateway.policy)
    }

    pub fn skills(&self) -> Vec<SkillRow> {
        let gateway = self.host.gateway();
        offers::skills(&gateway.catalog(), &gateway.policy)
    }

    pub fn resources(&self) -> Vec<ResourceRow> {
        let gateway = self.host.gateway();
        offers::resources(&gateway.catalog(), &gateway.policy)
    }

    /// Calls a tool by the name the endpoint shows, in the way in which every client of a frugal
    /// surface calls it: arguments are held against the listing before the server is started.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        meanwhile: Meanwhile<'_>,
    ) -> anyhow::Result<Value> {
        // Any token will do: the server is given another one.
        let meta = RawObject::new().with("progressToken", name);
        let mut params = call_params(name, &arguments).with("_meta", &meta);
        let (turn, messages) = self.turn("kitbag call", Surface::Search);
        let taken = correct_arguments(&turn, name, &mut params);
        let call = McpCall::for_tool(name.to_owned(), params);
        let result = self.run((turn, messages), call, meanwhile).await?;
        Ok(serde_json::from_str(
            add_correction_note(result, taken.as_ref()).get(),
        )?)
    }

    /// Returns what a prompt says. Its arguments are held against its declaration before the server
    /// is started.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        meanwhile: Meanwhile<'_>,
    ) -> anyhow::Result<Value> {
        let call = McpCall::for_prompt(call_params(name, arguments))?;
        let turn = self.turn("kitbag prompts", Surface::Search);
        let result = self.run(turn, call, meanwhile).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Returns the contents of a resource, to the letter: a person may want to keep it as a file.
    pub async fn read(&self, uri: &str, meanwhile: Meanwhile<'_>) -> anyhow::Result<Value> {
        let params = RawObject::new().with("uri", uri);
        let (turn, _unheard) = self.turn("kitbag resources", Surface::Search);
        if let Some(kept) = kept::read_remainder(&turn, &params) {
            return Ok(serde_json::from_str(kept?.get())?);
        }
        let call = McpCall::for_resource(params)?;
        let turn = self.turn("kitbag resources", Surface::All);
        let result = self.run(turn, call, meanwhile).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Serves the request through the same code as a request of any client.
    pub(crate) async fn run(
        &self,
        (turn, mut messages): (Turn, mpsc::Receiver<HeldMessage>),
        call: McpCall,
        meanwhile: Meanwhile<'_>,
    ) -> anyhow::Result<Raw> {
        let Meanwhile {
            progress,
            cancelled,
        } = meanwhile;
        let turn = Turn { cancelled, ..turn };
        let mut calling = pin!(pipeline::run(&turn, Call::Mcp(call)));
        let called = loop {
            tokio::select! {
                biased;
                Some(held) = messages.recv() => step(&held.message).into_iter().for_each(&mut *progress),
                called = &mut calling => break called,
            }
        };
        match called {
            Ok(result) => Ok(result),
            Err(Failure::Upstream(error)) => Err(error.into()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns what the surface costs a local client's context at its start, as far as tools are
    /// known.
    pub async fn tokens(&self, surface: Surface) -> SurfaceTokens {
        let (turn, _unheard) = self.turn("kitbag tokens", surface);
        count_surface_tokens(&turn, surface).await
    }

    /// Returns what the meter has counted for every tenant since the gateway was started.
    pub fn figures(&self) -> Value {
        let gateway = self.host.gateway();
        for_people(&gateway.visible_figures(&gateway.catalog(), &Caller::local()))
    }

    /// Hears what the person said to an agent, and returns the tools worth knowing for it.
    pub async fn hear(&self, words: &str) -> ToolsForWords {
        let by = Inquirer {
            gateway: &self.host.gateway(),
            caller: &Caller::local(),
            client: None,
            origin: &Origin::default(),
            purpose: Purpose::Use,
        };
        let words = SpokenWords {
            text: words,
            way: "kitbag hook",
            places: DEFAULT_LIMIT,
        };
        hear(by, words).await
    }

    /// Calls one of the always-on tools, as a client of the surface `code` does.
    pub async fn on_surface(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        meanwhile: Meanwhile<'_>,
    ) -> anyhow::Result<Value> {
        let (turn, _unheard) = self.turn(&format!("kitbag {tool}"), Surface::Code);
        let turn = Turn {
            cancelled: meanwhile.cancelled,
            ..turn
        };
        let result = surface::call::call_tool(&turn, call_params(tool, &arguments)).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// True if a tool of that name is known without asking any server.
    pub fn knows(&self, name: &str) -> bool {
        self.host.gateway().catalog().knows(name)
    }

    /// Returns what the gateway says of itself.
    pub fn status(&self) -> Status {
        let gateway = self.host.gateway();
        let servers = gateway.upstreams.iter();
        Status {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            address: self.address.get().copied(),
            since: self.since,
            servers: servers.map(|it| ServerStatus::of(it)).collect(),
        }
    }

    /// Ends a server and starts it again, whatever was wrong with it before.
    pub async fn restart(&self, name: &ServerName) -> anyhow::Result<ServerReport> {
        let server = self.host.gateway().upstreams.get(name).cloned();
        let server = server.ok_or_else(|| Failure::UnknownServer {
            server: name.to_string(),
        })?;
        server.restart().await?;
        Ok(self.listing(name, true).await?)
    }
}

impl App {
    /// Returns a request by the person at this machine, and the messages that the person gets while
    /// it is served.
    pub(crate) fn turn(&self, name: &str, surface: Surface) -> (Turn, mpsc::Receiver<HeldMessage>) {
        let (outbox, messages) = mpsc::channel(crate::turn::BACKLOG);
        let back = BackChannel::new(outbox, Arc::default(), Caller::local(), None);
        let gateway = self.host.gateway();
        let (catalog, client) = (gateway.catalog(), person(name));
        let turn = Turn {
            origin: Origin {
                request: Some(ShortText::cut(&random_request_id())),
                ..Origin::default()
            },
            ..Turn::new(gateway, catalog, client, View::Merged(surface), back)
        };
        (turn, messages)
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

/// The person at this machine as a client, under the name of a verb.
fn person(verb: &str) -> McpClient {
    McpClient {
        caller: Caller::local(),
        era: Era::Legacy,
        id: "command line".into(),
        name: Some(ShortText::cut(verb)),
        capabilities: ClientCapabilities::new(None),
        logs: LogWish::None,
    }
}

/// Returns the progress of the server, if the message is a progress notification.
fn step(message: &Message) -> Option<CallProgress> {
    let Message::Notification(notification) = message else {
        return None;
    };
    let params = notification
        .params
        .as_ref()
        .filter(|_| notification.method == method::PROGRESS)?;
    serde_json::from_str(params.get()).ok()
}
