//! A gateway in this process, built once from the configuration and used by every command.
//!
//! # Layout
//! - `access`: whether a caller may use a tool, and the load of each caller
//! - `definitions`: the definitions that servers list, for the person who approves them
//! - `history`: calls and tokens by hour
//! - `index`: commands that build, check and search the index
//! - `unlisted`: listing servers, and the servers that fail
//! - `report`: reports about the gateway and its servers
//! - `tools`: the table of all tools, one tool in detail, and calls

mod access;
mod definitions;
mod history;
mod index;
mod report;
mod tools;
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
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

pub use self::access::{AccessDecision, AccessOutcome, CallerLoad};
pub use self::definitions::ServerDefinitions;
pub use self::history::{HourOfUse, UseHistory};
pub use self::index::NotIndexed;
pub use self::report::{CallProgress, ServerReport, ServerStatus, Status};
pub use self::tools::{DefinitionVersions, ToolDetails};
pub use self::unlisted::UnlistedServer;
use crate::admin::offers::{self, PromptRow, ResourceRow, SkillRow, ToolRow};
use crate::admin::search_curve::SearchCurve;
use crate::admin::tool_table::ToolTable;
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
use crate::telemetry::audit::queries::QueryContext;
use crate::turn::client::{ClientCapabilities, McpClient};
use crate::turn::view::View;
use crate::turn::{BackChannel, Turn};

pub struct App {
    host: Arc<GatewayHost>,
    /// The tasks that end when the gateway is closed.
    background: Mutex<Vec<AbortHandle>>,
    since: Timestamp,
    /// The address on which the gateway serves HTTP, if any.
    address: OnceLock<SocketAddr>,
    counted_hours: Arc<history::CountedHours>,
    /// The table of all tools, until it changes.
    tool_table: tokio::sync::Mutex<Option<Arc<ToolTable>>>,
    search_curve: Arc<SearchCurve>,
}

/// Progress and cancellation of a request.
pub struct CallOptions<'a> {
    /// Called with the progress that a server reports.
    pub progress: &'a mut (dyn FnMut(CallProgress) + Send),
    /// Cancelled when the caller no longer wants the answer.
    pub cancelled: CancellationToken,
}

impl<'a> CallOptions<'a> {
    /// Options for a request that is never cancelled.
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
            counted_hours: Arc::default(),
            tool_table: tokio::sync::Mutex::default(),
            search_curve: Arc::default(),
        })
    }

    pub fn host(&self) -> &Arc<GatewayHost> {
        &self.host
    }

    /// Returns the curve of searches that clients need, with the days that were counted.
    pub fn search_curve(&self) -> &Arc<SearchCurve> {
        &self.search_curve
    }

    /// Registers background tasks, to abort them when the gateway is closed.
    pub fn abort_on_close(&self, tasks: impl IntoIterator<Item = AbortHandle>) {
        lock(&self.background).extend(tasks);
    }

    /// Sets the address on which the gateway serves HTTP.
    pub fn set_address(&self, address: SocketAddr) {
        self.address.get_or_init(|| address);
    }

    /// Stops every server and writes pending data.
    pub async fn close(&self) {
        let gateway = self.host.gateway();
        gateway.services.sessions.close_all();
        gateway.upstreams.shutdown().await;
        self.finish_background().await;
    }

    /// Like `close`, while other gateways of this process continue.
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

    /// Returns the capabilities of one server. The server is listed again if `refresh` is set or if
    /// it was never listed.
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

    /// Returns the known tools that a local client sees at the endpoint.
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

    /// Returns a prompt. Its arguments are validated against its declaration before the server is
    /// started.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let call = McpCall::for_prompt(call_params(name, arguments))?;
        let turn = self.new_turn("kitbag prompts", Surface::Search);
        let result = self.run_call(turn, call, options).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Returns the unmodified contents of a resource, because the user may save them as a file.
    pub async fn read_resource(
        &self,
        uri: &str,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let params = RawObject::new().with("uri", uri);
        let (turn, _messages) = self.new_turn("kitbag resources", Surface::Search);
        if let Some(remainder) = remainder_resource::read_remainder(&turn, &params) {
            return Ok(serde_json::from_str(remainder?.get())?);
        }
        let call = McpCall::for_resource(params)?;
        let turn = self.new_turn("kitbag resources", Surface::All);
        let result = self.run_call(turn, call, options).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// Serves the request through the same code as a request of any client.
    pub(crate) async fn run_call(
        &self,
        (turn, mut messages): (Turn, mpsc::Receiver<OutgoingMessage>),
        call: McpCall,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Raw> {
        let CallOptions {
            progress,
            cancelled,
        } = options;
        let turn = Turn { cancelled, ..turn };
        let mut calling = pin!(pipeline::run(&turn, Call::Mcp(call)));
        let called = loop {
            tokio::select! {
                biased;
                Some(outgoing) = messages.recv() => read_progress(&outgoing.message).into_iter().for_each(&mut *progress),
                called = &mut calling => break called,
            }
        };
        match called {
            Ok(result) => Ok(result),
            Err(Failure::Upstream(error)) => Err(error.into()),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns the surface's initial cost in a local client's context, as far as tools are known.
    pub async fn surface_tokens(&self, surface: Surface) -> SurfaceTokens {
        let (turn, _messages) = self.new_turn("kitbag stats tokens", surface);
        count_surface_tokens(&turn, surface).await
    }

    /// Returns the meter's counts of every tenant since the gateway was started.
    pub fn usage_figures(&self) -> Value {
        let gateway = self.host.gateway();
        let mut figures =
            usage_json(&gateway.visible_figures(&gateway.catalog(), &Caller::local()));
        figures["callers"] = json!(self.caller_loads());
        figures
    }

    /// Processes the user's prompt to an agent, and returns relevant tools.
    pub async fn suggest_tools(&self, text: &str) -> PromptTools {
        let by = QueryContext {
            gateway: &self.host.gateway(),
            caller: &Caller::local(),
            client: None,
            origin: &Origin::default(),
            purpose: Purpose::Use,
        };
        let prompt = UserPrompt {
            text,
            route: "kitbag hook",
            limit: DEFAULT_LIMIT,
        };
        find_tools_for_prompt(by, prompt).await
    }

    /// Calls one of the always-on tools, like a client of the surface `code`.
    pub async fn call_always_on_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        options: CallOptions<'_>,
    ) -> anyhow::Result<Value> {
        let (turn, _messages) = self.new_turn(&format!("kitbag {tool}"), Surface::Code);
        let turn = Turn {
            cancelled: options.cancelled,
            ..turn
        };
        let result = surface::call::call_tool(&turn, call_params(tool, &arguments)).await?;
        Ok(serde_json::from_str(result.get())?)
    }

    /// True if a tool of that name is known without asking any server.
    pub fn is_known_tool(&self, name: &str) -> bool {
        self.host.gateway().catalog().knows_tool(name)
    }

    /// Returns the gateway's status.
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

    /// Stops a server and starts it again, whatever its state.
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
    /// Returns a turn for the local user, and the messages that the user gets while it is served.
    pub(crate) fn new_turn(
        &self,
        name: &str,
        surface: Surface,
    ) -> (Turn, mpsc::Receiver<OutgoingMessage>) {
        self.new_turn_of(Caller::local(), name, surface)
    }

    /// Returns a turn for a caller that uses the gateway through a command or a web page.
    pub(crate) fn new_turn_of(
        &self,
        caller: Caller,
        name: &str,
        surface: Surface,
    ) -> (Turn, mpsc::Receiver<OutgoingMessage>) {
        let (outbox, messages) = mpsc::channel(crate::turn::BACKLOG);
        let back = BackChannel::new(outbox, Arc::default(), caller.clone(), None);
        let gateway = self.host.gateway();
        let (catalog, client) = (gateway.catalog(), client_named(name, caller));
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

/// A caller as a client named after a command.
fn client_named(verb: &str, caller: Caller) -> McpClient {
    McpClient {
        caller,
        era: Era::Legacy,
        id: "command line".into(),
        name: Some(ShortText::truncate(verb)),
        capabilities: ClientCapabilities::new(None),
        logs: RequestedLogs::None,
    }
}

/// Returns the server's progress, if the message is a progress notification.
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
