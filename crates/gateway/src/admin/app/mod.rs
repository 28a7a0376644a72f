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
mod report;
mod unlisted;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use kitbag_config::Config;
use kitbag_domain::sync::lock;
use kitbag_domain::{Caller, Origin, Purpose, ServerName, ShortText, Surface, Timestamp};
use kitbag_upstream::{CallError, RequestedLogs};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Message, Raw, RawObject};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

pub use self::definitions::ServerDefinitions;
pub use self::index::NotIndexed;
pub use self::report::{CallProgress, ServerReport, ServerStatus, Status};
pub use self::unlisted::UnlistedServer;
use crate::admin::offers::{self, PromptRow, ResourceRow, SkillRow, ToolRow};
use crate::call::failure::Failure;
use crate::call::pipeline;
use crate::call::{Call, McpCall, call_params};
use crate::catalog::list_servers;
use crate::front::announce::ListChanges;
use crate::front::in_flight::OutgoingMessage;
use crate::front::tokens::usage_json;
use crate::front::user_prompt::{PromptTools, UserPrompt, find_tools_for_prompt};
use crate::state::background;
use crate::state::clock::now;
use crate::state::follow_notices::follow_notices;
use crate::state::host::GatewayHost;
use crate::state::random_ids::random_request_id;
use crate::surface;
use crate::surface::find::DEFAULT_LIMIT;
use crate::surface::remainder_resource;
use crate::surface::tokens::{SurfaceTokens, count_surface_tokens};
use crate::surface::tool_answer::{add_correction_note, correct_arguments};
use crate::telemetry::audit::queries::QueryContext;
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
pub struct CallOptions<'a> {
    /// The function that gets the progress that a server reports.
    pub progress: &'a mut (dyn FnMut(CallProgress) + Send),
    /// The token is cancelled when the caller does not want the answer any more.
    pub cancelled: CancellationToken,
}

impl<'a> CallOptions<'a> {
    /// Makes the value for a request that is always seen to its end.
    pub fn with_progress(progress: &'a mut (dyn FnMut(CallProgress) + Send)) -> Self {
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
    pub fn abort_on_close(&self, tasks: impl IntoIterator<Item = AbortHandle>) {
        lock(&self.background).extend(tasks);
    }

    /// Notes the address on which the gateway serves HTTP.
    pub fn set_address(&self, address: SocketAddr) {
        self.address.get_or_init(|| address);
    }

    /// Stops every server and writes down what is still to be written.
    pub async fn close(&self) {
        let gateway = self.host.gateway();
        gateway.services.sessions.close_all();
        gateway.upstreams.shutdown().await;
        self.finish_background().await;
    }

    /// The same while other gateways of this process go on.
    pub async fn close_without_shutdown(&self) {
        let gateway = self.host.gateway();
        gateway.services.sessions.close_all();
        gateway.upstreams.stop_all().await;
        self.finish_background().await;
    }

    async fn finish_background(&self) {
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
    pub async fn server_report(
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
            None => {
                list_servers::refresh_listing(&self.host, server, ListChanges::default()).await?
            }
        };
        Ok(ServerReport::new(name, &listing, started.elapsed()))
    }

    /// The tools a local client sees at the endpoint, as far as they are known.
    pub fn tool_rows(&self) -> Vec<ToolRow> {
        let gateway = self.host.gateway();
        offers::tool_rows(&gateway.catalog(), &gateway.policy)
    }

    pub fn prompt_rows(&self) -> Vec<PromptRow> {
        let gateway = self.host.gateway();
        offers::prompt_rows(&gateway.catalog(), &gateway.policy)
    }

    pub fn skill_rows(&self) -> Vec<SkillRow> {
        let gateway = self.host.gateway();
        offers::skill_rows(&gateway.catalog(), &gateway.policy)
    }

    pub fn resource_rows(&self) -> Vec<ResourceRow> {
        let gateway = self.host.gateway();
        offers::resource_rows(&gateway.catalog(), &gateway.policy)
    }

    /// Calls a tool by the name the endpoint shows, in the way in which every client of a frugal
    /// surface calls it: arguments are held against the listing before the server is started.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        meanwhile: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        // Any token will do: the server is given another one.
        let meta = RawObject::new().with("progressToken", name);
        let mut params = call_params(name, &arguments).with("_meta", &meta);
        let (turn, messages) = self.new_turn("kitbag call", Surface::Search);
        let taken = correct_arguments(&turn, name, &mut params);
        let call = McpCall::for_tool(name.to_owned(), params);
        let result = self.run_call((turn, messages), call, meanwhile).await?;
        Ok(serde_json::from_str(
            add_correction_note(result, taken.as_ref()).get(),
        )?)
    }

    /// Returns what a prompt says. Its arguments are held against its declaration before the server
    /// is started.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        meanwhile: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let call = McpCall::for_prompt(call_params(name, arguments))?;
        let turn = self.new_turn("kitbag prompts", Surface::Search);
        let result = self.run_call(turn, call, meanwhile).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Returns the contents of a resource, to the letter: a person may want to keep it as a file.
    pub async fn read_resource(
        &self,
        uri: &str,
        meanwhile: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let params = RawObject::new().with("uri", uri);
        let (turn, _unheard) = self.new_turn("kitbag resources", Surface::Search);
        if let Some(kept) = remainder_resource::read_remainder(&turn, &params) {
            return Ok(serde_json::from_str(kept?.get())?);
        }
        let call = McpCall::for_resource(params)?;
        let turn = self.new_turn("kitbag resources", Surface::All);
        let result = self.run_call(turn, call, meanwhile).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Serves the request through the same code as a request of any client.
    pub(crate) async fn run_call(
        &self,
        (turn, mut messages): (Turn, mpsc::Receiver<OutgoingMessage>),
        call: McpCall,
        meanwhile: CallOptions<'_>,
    ) -> anyhow::Result<Raw> {
        let CallOptions {
            progress,
            cancelled,
        } = meanwhile;
        let turn = Turn { cancelled, ..turn };
        let mut calling = pin!(pipeline::run(&turn, Call::Mcp(call)));
        let called = loop {
            tokio::select! {
                biased;
                Some(held) = messages.recv() => read_progress(&held.message).into_iter().for_each(&mut *progress),
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
    pub async fn surface_tokens(&self, surface: Surface) -> SurfaceTokens {
        let (turn, _unheard) = self.new_turn("kitbag stats tokens", surface);
        count_surface_tokens(&turn, surface).await
    }

    /// Returns what the meter has counted for every tenant since the gateway was started.
    pub fn usage_figures(&self) -> Value {
        let gateway = self.host.gateway();
        usage_json(&gateway.visible_figures(&gateway.catalog(), &Caller::local()))
    }

    /// Hears what the person said to an agent, and returns the tools worth knowing for it.
    pub async fn suggest_tools(&self, words: &str) -> PromptTools {
        let by = QueryContext {
            gateway: &self.host.gateway(),
            caller: &Caller::local(),
            client: None,
            origin: &Origin::default(),
            purpose: Purpose::Use,
        };
        let words = UserPrompt {
            text: words,
            way: "kitbag hook",
            places: DEFAULT_LIMIT,
        };
        find_tools_for_prompt(by, words).await
    }

    /// Calls one of the always-on tools, as a client of the surface `code` does.
    pub async fn call_always_on_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        meanwhile: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let (turn, _unheard) = self.new_turn(&format!("kitbag {tool}"), Surface::Code);
        let turn = Turn {
            cancelled: meanwhile.cancelled,
            ..turn
        };
        let result = surface::call::call_tool(&turn, call_params(tool, &arguments)).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// True if a tool of that name is known without asking any server.
    pub fn is_known_tool(&self, name: &str) -> bool {
        self.host.gateway().catalog().knows_tool(name)
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
            servers: servers.map(|it| ServerStatus::for_server(it)).collect(),
        }
    }

    /// Ends a server and starts it again, whatever was wrong with it before.
    pub async fn restart_server(&self, name: &ServerName) -> anyhow::Result<ServerReport> {
        let server = self.host.gateway().upstreams.get(name).cloned();
        let server = server.ok_or_else(|| Failure::UnknownServer {
            server: name.to_string(),
        })?;
        server.restart().await?;
        Ok(self.server_report(name, true).await?)
    }
}

impl App {
    /// Returns a request by the person at this machine, and the messages that the person gets while
    /// it is served.
    pub(crate) fn new_turn(
        &self,
        name: &str,
        surface: Surface,
    ) -> (Turn, mpsc::Receiver<OutgoingMessage>) {
        let (outbox, messages) = mpsc::channel(crate::turn::BACKLOG);
        let back = BackChannel::new(outbox, Arc::default(), Caller::local(), None);
        let gateway = self.host.gateway();
        let (catalog, client) = (gateway.catalog(), local_client(name));
        let turn = Turn {
            origin: Origin {
                request: Some(ShortText::truncate(&random_request_id())),
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
fn local_client(verb: &str) -> McpClient {
    McpClient {
        caller: Caller::local(),
        era: Era::Legacy,
        id: "command line".into(),
        name: Some(ShortText::truncate(verb)),
        capabilities: ClientCapabilities::new(None),
        logs: RequestedLogs::None,
    }
}

/// Returns the progress of the server, if the message is a progress notification.
fn read_progress(message: &Message) -> Option<CallProgress> {
    let Message::Notification(notification) = message else {
        return None;
    };
    let params = notification
        .params
        .as_ref()
        .filter(|_| notification.method == method::PROGRESS)?;
    serde_json::from_str(params.get()).ok()
}
