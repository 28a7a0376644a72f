//! A server that has been greeted and takes requests.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ::http::HeaderMap;
use arc_swap::ArcSwap;
use kitbag_domain::{Lookup, Reach, RemoteEndpoint, RemoteTransport, ServerName, Template};
use kitbag_fetch::header_map;
use kitbag_wire::meta::method;
use kitbag_wire::{Era, Raw, RawObject};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use url::Url;

use crate::cause::{Cause, Diagnosis};
use crate::dialog::{Asking, Dialog};
use crate::error::{CallError, StartError};
use crate::exchange::{ClientFace, Identity, InFlight, LogLevel, Logs, Outbound, Patience};
use crate::handshake::{Greeting, Hello, greet};
use crate::headers::{MirrorTable, read_marks};
use crate::http::{self, HttpLink};
use crate::inside::{self, NotOpened, Opener};
use crate::link::{BY_US, Link};
use crate::listing::{Listing, Problem, list};
use crate::log::ServerLog;
use crate::mask;
use crate::oauth::Credentials;
use crate::process;
use crate::remote::Remote;
use crate::router::{Notice, Router};
use crate::spec::{ServerKind, ServerSpec};
use crate::sse;
use crate::stdio::{self, Process};
use kitbag_domain::sync::lock;

/// What a server stands on however often it is started.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) lookup: Lookup,
    pub(crate) credentials: Option<Arc<Credentials>>,
    pub(crate) inside: Option<Opener>,
    pub(crate) edition: &'static str,
    /// Whether it has been seen to ask for roots between calls.
    pub(crate) wants_roots: Arc<AtomicBool>,
}

pub(crate) struct Connection {
    pub(crate) hello: Hello,
    dialog: Dialog,
    process: Mutex<Option<Process>>,
    mirror: ArcSwap<MirrorTable>,
    /// The most talkative level any client has asked of a legacy server so far.
    log_level: Mutex<Option<LogLevel>>,
    spec: Arc<ServerSpec>,
}

impl Connection {
    /// Launches or reaches the server and greets it.
    pub(crate) async fn open(
        spec: Arc<ServerSpec>,
        known: Option<Era>,
        log: Arc<ServerLog>,
        ground: Ground,
        notices: mpsc::Sender<Notice>,
    ) -> Result<Self, StartError> {
        let patience = spec.limits.start_timeout;
        let opening = Opening {
            known: spec.era.or(known),
            router: Arc::new(Router::new(
                spec.name.clone(),
                notices,
                log.clone(),
                ground.wants_roots.clone(),
            )),
            spec,
            log,
            ground,
        };
        let opened = tokio::time::timeout(patience + patience / 4, opening.run()).await;
        opened.unwrap_or_else(|_| {
            Err(StartError::TimedOut {
                server: opening.spec.name.clone(),
                after: patience,
                diagnosis: opening.silence(),
                stderr: opening.log.tail(),
            })
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.dialog.link.closed().is_closed()
    }

    pub(crate) fn server(&self) -> &ServerName {
        &self.spec.name
    }

    /// Whether everything the server says comes one after the other.
    pub(crate) fn is_pipe(&self) -> bool {
        matches!(self.dialog.link, Link::Pipe(_))
    }

    /// A client has said that its roots are others now.
    pub(crate) fn roots_changed(&self, client: &Identity) {
        if self.dialog.router.is_only(client) {
            self.dialog.router.roots.changed();
        }
    }

    /// Whether any client has used it.
    pub(crate) fn was_used(&self) -> bool {
        self.dialog.router.was_used()
    }

    /// Waits for the end, and gives the reason unless we brought it about.
    pub(crate) async fn ended(&self) -> Option<String> {
        let closed = self.dialog.link.closed();
        closed.wait().await;
        Some(closed.reason().to_owned()).filter(|reason| reason != BY_US)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.dialog.router.in_flight()
    }

    /// Sends a client's request.
    pub(crate) fn start(&self, outbound: &Outbound) -> InFlight {
        self.raise_log_level(&outbound.client);
        let limits = &self.spec.limits;
        let patience = Patience {
            silence: limits.call_timeout,
            total: limits.call_deadline,
        };
        let mirror = self.mirror.load();
        self.dialog.start(Asking {
            era: self.hello.era,
            method: &outbound.method,
            params: outbound.params.clone(),
            client: Some(&outbound.client),
            mirror: Some(&mirror),
            patience,
        })
    }

    /// Asks something on our own account.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: RawObject,
        patience: Patience,
    ) -> Result<Raw, CallError> {
        self.open_ended(method, params, patience).answer().await
    }

    pub(crate) fn open_ended(
        &self,
        method: &str,
        params: RawObject,
        patience: Patience,
    ) -> InFlight {
        self.dialog.start(Asking {
            era: self.hello.era,
            method,
            params,
            client: None,
            mirror: None,
            patience,
        })
    }

    pub(crate) async fn list(&self, early: impl FnOnce(Listing)) -> Result<Listing, CallError> {
        let mut listing = list(self, |mut tools| {
            self.learn(&mut tools);
            early(tools);
        })
        .await?;
        self.learn(&mut listing);
        Ok(listing)
    }

    /// Takes in which arguments travel as headers, and leaves out tools whose marks are wrong.
    pub(crate) fn learn(&self, listing: &mut Listing) {
        if self.hello.era != Era::Modern || !matches!(self.dialog.link, Link::Http(_)) {
            return;
        }
        let (table, invalid) = read_marks(&listing.tools);
        self.mirror.store(Arc::new(table));
        listing.tools.retain(|tool| {
            let name = RawObject::open(tool)
                .ok()
                .and_then(|it| it.read::<String>("name"))
                .unwrap_or_default();
            let Some(reason) = invalid.get(&name) else {
                return true;
            };
            let what = format!("left out, its `x-mcp-header` is wrong: {reason}");
            listing.problems.push(Problem {
                about: name,
                what,
                incomplete: false,
            });
            false
        });
    }

    pub(crate) async fn close(&self) {
        match &self.dialog.link {
            Link::Http(http) => http.close().await,
            Link::Pipe(pipe) => {
                let process = lock(&self.process).take();
                match process {
                    Some(process) => process.stop().await,
                    None => pipe.closed.close(BY_US),
                }
            }
        }
    }

    /// `logging/setLevel` holds for a whole legacy connection, so it is only ever lowered to
    /// what somebody asked for; each client's own level is applied on our side.
    fn raise_log_level(&self, client: &ClientFace) {
        // What servers send unasked goes to clients that never set a level; one that wants
        // less must not take it from them.
        let Logs::From(level) = client.logs else {
            return;
        };
        let wanted = level.min(LogLevel::Info);
        if self.hello.era != Era::Legacy || !self.hello.capabilities.contains("logging") {
            return;
        }
        let mut current = lock(&self.log_level);
        if current.is_none_or(|level| wanted < level) {
            *current = Some(wanted);
            let params = RawObject::new().with("level", wanted.as_str());
            let asked = self.open_ended(
                method::SET_LEVEL,
                params,
                Patience::of(self.spec.limits.call_timeout),
            );
            tokio::spawn(asked.answer());
        }
    }
}

struct Opening {
    spec: Arc<ServerSpec>,
    known: Option<Era>,
    router: Arc<Router>,
    log: Arc<ServerLog>,
    ground: Ground,
}

impl Opening {
    async fn run(&self) -> Result<Connection, StartError> {
        match &self.spec.kind {
            ServerKind::External(Reach::Command(launch)) => {
                let launched = process::launch(&self.spec, launch, &self.ground.lookup)?;
                let (pipe, process) = stdio::connect(&self.spec, launched, &self.router, &self.log);
                self.pipe(Link::Pipe(pipe), Some(process)).await
            }
            ServerKind::External(Reach::Remote(endpoint)) => match endpoint.transport {
                RemoteTransport::Http => self.http(endpoint).await,
                RemoteTransport::Sse => self.sse(endpoint).await,
            },
            ServerKind::BuiltIn { .. } => {
                let stream = self.inside()?;
                let max_line = self.spec.limits.max_message_bytes;
                let pipe =
                    inside::connect(self.server(), stream, max_line, &self.router, &self.log);
                self.pipe(Link::Pipe(pipe), None).await
            }
        }
    }

    async fn http(&self, endpoint: &RemoteEndpoint<Template>) -> Result<Connection, StartError> {
        let link = Link::Http(HttpLink::new(self.remote(endpoint)?, self.router.clone()));
        let dialog = self.dialog(link);
        match greet(&dialog, self.known, self.spec.limits.start_timeout).await? {
            Greeting::Hello(hello) => Ok(self.ready(hello, dialog, None)),
            Greeting::MaybeSse(error) => match self.sse(endpoint).await {
                // The first answer tells more about a server that speaks neither transport.
                Err(StartError::Unreachable { .. }) => Err(error),
                other => other,
            },
        }
    }

    async fn sse(&self, endpoint: &RemoteEndpoint<Template>) -> Result<Connection, StartError> {
        let pipe = sse::connect(self.remote(endpoint)?, &self.router).await?;
        self.pipe(Link::Pipe(pipe), None).await
    }

    fn inside(&self) -> Result<DuplexStream, StartError> {
        let nobody = || NotOpened {
            reason: "there is nobody to open it".to_owned(),
            remedy: None,
        };
        let opener = self.ground.inside.as_ref().ok_or_else(nobody);
        opener
            .and_then(|opener| opener.open(self.server()))
            .map_err(|NotOpened { reason, remedy }| StartError::Inside {
                server: self.server().clone(),
                reason,
                remedy,
            })
    }

    fn remote(&self, endpoint: &RemoteEndpoint<Template>) -> Result<Remote, StartError> {
        Ok(Remote {
            server: self.server().clone(),
            client: http::client(),
            url: self.url(endpoint)?,
            headers: self.headers(endpoint)?,
            credentials: self.ground.credentials.clone(),
            max_bytes: self.spec.limits.max_message_bytes,
        })
    }

    async fn pipe(&self, link: Link, process: Option<Process>) -> Result<Connection, StartError> {
        let dialog = self.dialog(link);
        let error = match greet(&dialog, self.known, self.spec.limits.start_timeout).await {
            Ok(Greeting::Hello(hello)) => return Ok(self.ready(hello, dialog, process)),
            Ok(Greeting::MaybeSse(error)) | Err(error) => error,
        };
        let Some(process) = process else {
            return Err(error);
        };
        process.stop().await;
        Err(self.with_last_words(error))
    }

    fn ready(&self, hello: Hello, dialog: Dialog, process: Option<Process>) -> Connection {
        Connection {
            hello,
            dialog,
            process: Mutex::new(process),
            mirror: ArcSwap::default(),
            log_level: Mutex::new(None),
            spec: self.spec.clone(),
        }
    }

    fn dialog(&self, link: Link) -> Dialog {
        Dialog {
            server: self.server().clone(),
            router: self.router.clone(),
            link,
        }
    }

    fn server(&self) -> &ServerName {
        &self.spec.name
    }

    fn filled_in(&self, template: &Template) -> Result<String, StartError> {
        template
            .resolve(|name| (self.ground.lookup)(name))
            .map_err(|source| StartError::Variable {
                server: self.server().clone(),
                source,
            })
    }

    fn url(&self, endpoint: &RemoteEndpoint<Template>) -> Result<Url, StartError> {
        // The parser's reason does not quote what was filled in.
        Url::parse(&self.filled_in(&endpoint.url)?).map_err(|error| StartError::Unreachable {
            server: self.server().clone(),
            reason: error.to_string(),
        })
    }

    fn headers(&self, endpoint: &RemoteEndpoint<Template>) -> Result<HeaderMap, StartError> {
        let mut headers = Vec::new();
        for (name, template) in &endpoint.headers {
            let value = self.filled_in(template)?;
            mask::hide(&value);
            headers.push((name.clone(), value));
        }
        header_map(headers).map_err(|reason| StartError::Unreachable {
            server: self.server().clone(),
            reason,
        })
    }

    /// A child that ended explains itself on stderr, if at all.
    fn with_last_words(&self, error: StartError) -> StartError {
        let stderr = self.log.tail();
        match error {
            StartError::Unreachable {
                server,
                reason: status,
            }
            | StartError::Exited { server, status, .. } => {
                let diagnosis = self.end(&status, &stderr);
                StartError::Exited {
                    server,
                    status,
                    diagnosis,
                    stderr,
                }
            }
            StartError::TimedOut { server, after, .. } => StartError::TimedOut {
                server,
                after,
                diagnosis: self.silence(),
                stderr,
            },
            other => other,
        }
    }

    fn end(&self, status: &str, words: &str) -> Option<Box<Diagnosis>> {
        let quiet = || (status == process::WELL).then_some(Cause::Retired);
        // It may have meant to serve HTTP, but something kept it from that.
        let cause =
            Cause::recognise(words).filter(|cause| !matches!(cause, Cause::ServesHttp { .. }));
        let cause = cause.or_else(quiet)?;
        Some(Box::new(Diagnosis::of(cause, &self.spec)))
    }

    /// Why a server is not ready in time: what it says for itself, or how it keeps silent.
    fn silence(&self) -> Option<Box<Diagnosis>> {
        let words = self.log.tail();
        let talks = words.lines().any(|line| line.starts_with("[stdout]"));
        let cause =
            Cause::recognise(&words).unwrap_or(if talks { Cause::NotMcp } else { Cause::Silent });
        Some(Box::new(Diagnosis::of(cause, &self.spec)))
    }
}
