//! A server that completed its handshake and takes requests.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::ArcSwap;
use kitbag_domain::sync::lock;
use kitbag_domain::{DefinitionKind, Lookup, ServerName};
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Raw, RawObject};

use crate::built_in::BuiltInOpener;
use crate::dialog::{Dialog, RequestDraft};
use crate::error::CallError;
use crate::exchange::{
    CallTimeouts, ClientIdentity, ClientProfile, InFlightCall, LogLevel, OutboundRequest,
    RequestedLogs,
};
use crate::handshake::ServerHello;
use crate::headers::{MirrorTable, read_marks};
use crate::link::{Link, STOPPED_BY_US};
use crate::list_ages::ListAges;
use crate::listing::{Listing, ListingProblem, fetch_lists, refetch_list};
use crate::oauth::Credentials;
use crate::pause::Pause;
use crate::secret_masking::HashDefinition;
use crate::server::FindSecrets;
use crate::spec::ServerSpec;
use crate::stdio::ProcessHandle;

/// The services that a server needs across restarts.
#[derive(Clone)]
pub(crate) struct LaunchContext {
    pub(crate) lookup: Lookup,
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) built_in: Option<BuiltInOpener>,
    pub(crate) secrets_key: &'static str,
    /// True once the server has asked for roots between calls.
    pub(crate) wants_roots: Arc<AtomicBool>,
    pub(crate) ages: Arc<ListAges>,
    pub(crate) find_secrets: FindSecrets,
    pub(crate) hash_definition: HashDefinition,
    /// The wait that the server has requested.
    pub(crate) pause: Arc<Pause>,
}

pub(crate) struct Connection {
    pub(crate) hello: ServerHello,
    dialog: Dialog,
    process: Mutex<Option<ProcessHandle>>,
    mirror: ArcSwap<MirrorTable>,
    /// The most verbose level that any client has requested of a legacy server so far.
    log_level: Mutex<Option<LogLevel>>,
    spec: Arc<ServerSpec>,
}

/// A healthy server answers a ping at once; one that computes without a break gets this long.
const PING_TIMEOUT: Duration = Duration::from_secs(5);

impl Connection {
    /// Takes over a server after its handshake.
    pub(crate) fn new(
        spec: Arc<ServerSpec>,
        hello: ServerHello,
        dialog: Dialog,
        process: Option<ProcessHandle>,
    ) -> Self {
        Self {
            hello,
            dialog,
            process: Mutex::new(process),
            mirror: ArcSwap::default(),
            log_level: Mutex::new(None),
            spec,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.dialog.link.close_signal().is_closed()
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.spec.name
    }

    /// True if all messages of the server share one ordered channel.
    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self.dialog.link, Link::Pipe(_))
    }

    /// Records that the roots of a client have changed.
    pub(crate) fn roots_changed(&self, client: &ClientIdentity) {
        if self.dialog.router.is_only(client) {
            self.dialog.router.roots.mark_changed();
        }
    }

    /// True if any client has used it.
    pub(crate) fn was_used(&self) -> bool {
        self.dialog.router.was_used()
    }

    /// True if any call of a client was answered or made progress.
    pub(crate) fn has_answered(&self) -> bool {
        self.dialog.router.call_events() > 0
    }

    /// Pings the server. Returns true if it answers in any way, or answers other calls in the
    /// meantime.
    pub(crate) async fn answers_ping(&self) -> bool {
        let router = &self.dialog.router;
        let before = router.call_events();
        // The modern era has no ping, and every modern server answers this request.
        let ping = match self.hello.era {
            Era::Legacy => method::PING,
            Era::Modern => method::DISCOVER,
        };
        let timeouts = CallTimeouts::with_single_limit(PING_TIMEOUT);
        let answer = self.request(ping, RawObject::new(), timeouts).await;
        match answer {
            Err(
                CallError::TimedOut { .. } | CallError::Lost { .. } | CallError::Clogged { .. },
            ) => router.call_events() != before,
            _ => true,
        }
    }

    /// Waits for the end, and returns its reason unless the gateway ended it.
    pub(crate) async fn wait_for_end(&self) -> Option<String> {
        let closed = self.dialog.link.close_signal();
        closed.wait().await;
        Some(closed.reason().to_owned()).filter(|reason| reason != STOPPED_BY_US)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.dialog.router.in_flight()
    }

    /// Sends a client's request.
    pub(crate) fn start(&self, outbound: &OutboundRequest) -> InFlightCall {
        self.widen_log_level(&outbound.client);
        let limits = &self.spec.limits;
        let timeouts = CallTimeouts {
            silence: limits.call_timeout,
            total: limits.call_deadline,
        };
        let mirror = self.mirror.load();
        self.dialog.start_request(RequestDraft {
            era: self.hello.era,
            method: &outbound.method,
            params: outbound.params.clone(),
            client: Some(&outbound.client),
            mirror: Some(&mirror),
            timeouts,
        })
    }

    /// Sends a request of the gateway itself and waits for the answer.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: RawObject,
        timeouts: CallTimeouts,
    ) -> Result<Raw, CallError> {
        self.send_request(method, params, timeouts)
            .wait_for_answer()
            .await
    }

    /// Sends a request of the gateway itself.
    pub(crate) fn send_request(
        &self,
        method: &str,
        params: RawObject,
        timeouts: CallTimeouts,
    ) -> InFlightCall {
        self.dialog.start_request(RequestDraft {
            era: self.hello.era,
            method,
            params,
            client: None,
            mirror: None,
            timeouts,
        })
    }

    pub(crate) async fn fetch_lists(
        &self,
        early: impl FnOnce(Listing),
    ) -> Result<Listing, CallError> {
        let mut listing = fetch_lists(self, |mut tools| {
            self.learn_header_marks(&mut tools);
            early(tools);
        })
        .await?;
        self.learn_header_marks(&mut listing);
        Ok(listing)
    }

    /// Reads the tools or the prompts again into a listing that already has the other lists.
    pub(crate) async fn refetch_list(
        &self,
        kind: DefinitionKind,
        listing: &mut Listing,
    ) -> Result<(), CallError> {
        refetch_list(self, kind, listing).await?;
        self.learn_header_marks(listing);
        Ok(())
    }

    /// Learns which arguments travel as headers, and drops tools whose header marks are invalid.
    pub(crate) fn learn_header_marks(&self, listing: &mut Listing) {
        if self.hello.era != Era::Modern || !matches!(self.dialog.link, Link::Http(_)) {
            return;
        }
        let (table, invalid) = read_marks(&listing.tools);
        self.mirror.store(Arc::new(table));
        listing.tools.retain(|tool| {
            let problem = invalid_mark_problem(tool, &invalid);
            let is_fine = problem.is_none();
            listing.problems.extend(problem);
            is_fine
        });
    }

    pub(crate) async fn close(&self) {
        match &self.dialog.link {
            Link::Http(http) => http.close().await,
            Link::Pipe(pipe) => {
                let process = lock(&self.process).take();
                match process {
                    Some(process) => process.stop().await,
                    None => pipe.closed.close(STOPPED_BY_US),
                }
            }
        }
    }

    /// Requests more log lines from a legacy server if a client wants more. `logging/setLevel`
    /// applies to the whole connection, so the level is only ever lowered; each client's own level
    /// is applied by the gateway.
    fn widen_log_level(&self, client: &ClientProfile) {
        let RequestedLogs::From(level) = client.logs else {
            return;
        };
        // Servers send `info` by default to clients that never set a level; a client that wants
        // less must not raise it for them.
        let wanted = level.min(LogLevel::Info);
        if self.hello.era != Era::Legacy || !self.hello.capabilities.contains("logging") {
            return;
        }
        let mut current = lock(&self.log_level);
        if current.is_none_or(|level| wanted < level) {
            *current = Some(wanted);
            let params = RawObject::new().with("level", wanted.as_str());
            let timeouts = CallTimeouts::with_single_limit(self.spec.limits.call_timeout);
            tokio::spawn(
                self.send_request(method::SET_LEVEL, params, timeouts)
                    .wait_for_answer(),
            );
        }
    }
}

/// Describes a tool whose header mark is invalid.
fn invalid_mark_problem(tool: &Raw, invalid: &HashMap<String, String>) -> Option<ListingProblem> {
    let about: String = RawObject::open(tool).ok()?.read("name")?;
    let reason = invalid.get(&about)?;
    let what = format!("skipped because its `x-mcp-header` is invalid: {reason}");
    Some(ListingProblem {
        about,
        what,
        incomplete: false,
    })
}
