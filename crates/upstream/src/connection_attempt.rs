//! One attempt to launch or reach a server and to complete its handshake.

use std::sync::Arc;

use ::http::HeaderMap;
use kitbag_domain::{Launch, Reach, RemoteEndpoint, RemoteTransport, ServerName, Template};
use kitbag_fetch::header_map;
use kitbag_wire::Era;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use url::Url;

use crate::built_in::{self, BuiltInError};
use crate::cause::{Cause, Diagnosis};
use crate::connection::{Connection, LaunchContext};
use crate::dialog::Dialog;
use crate::error::StartError;
use crate::handshake::{HandshakeOutcome, perform_handshake};
use crate::http::{self, HttpLink};
use crate::link::Link;
use crate::log::ServerLog;
use crate::mask;
use crate::process;
use crate::remote::RemoteServer;
use crate::router::{Notice, Router};
use crate::spec::{ServerKind, ServerSpec};
use crate::sse;
use crate::stdio::{self, ProcessHandle};

struct ConnectionAttempt {
    spec: Arc<ServerSpec>,
    /// The configured era, or the one the server last spoke.
    era: Option<Era>,
    router: Arc<Router>,
    log: Arc<ServerLog>,
    context: LaunchContext,
}

impl Connection {
    /// Launches or reaches the server and completes its handshake.
    pub(crate) async fn open(
        spec: Arc<ServerSpec>,
        known_era: Option<Era>,
        log: Arc<ServerLog>,
        context: LaunchContext,
        notices: mpsc::Sender<Notice>,
    ) -> Result<Self, StartError> {
        let shared = (context.wants_roots.clone(), context.ages.clone());
        let router = Router::new(spec.name.clone(), notices, log.clone(), shared);
        let attempt = ConnectionAttempt {
            era: spec.era.or(known_era),
            router: Arc::new(router),
            spec,
            log,
            context,
        };
        let limit = attempt.spec.limits.start_timeout;
        // A quarter longer than the handshake's timeout, so that its own, better error comes first.
        let opened = tokio::time::timeout(limit + limit / 4, attempt.connect()).await;
        opened.unwrap_or_else(|_| Err(attempt.timeout_error()))
    }
}

impl ConnectionAttempt {
    async fn connect(&self) -> Result<Connection, StartError> {
        match &self.spec.kind {
            ServerKind::External(Reach::Command(launch)) => self.connect_command(launch).await,
            ServerKind::External(Reach::Remote(endpoint)) => match endpoint.transport {
                RemoteTransport::Http => self.connect_http(endpoint).await,
                RemoteTransport::Sse => self.connect_sse(endpoint).await,
            },
            ServerKind::BuiltIn { .. } => self.connect_built_in().await,
        }
    }

    async fn connect_command(&self, launch: &Launch<Template>) -> Result<Connection, StartError> {
        let launched = process::launch(&self.spec, launch, &self.context.lookup)?;
        let (pipe, process) = stdio::connect(&self.spec, launched, &self.router, &self.log);
        self.handshake_over(Link::Pipe(pipe), Some(process)).await
    }

    async fn connect_http(
        &self,
        endpoint: &RemoteEndpoint<Template>,
    ) -> Result<Connection, StartError> {
        let link = HttpLink::new(self.remote_server(endpoint)?, self.router.clone());
        let dialog = self.new_dialog(Link::Http(link));
        match perform_handshake(&dialog, self.era, self.spec.limits.start_timeout).await? {
            HandshakeOutcome::Hello(hello) => {
                Ok(Connection::new(self.spec.clone(), hello, dialog, None))
            }
            HandshakeOutcome::MaybeSse(error) => match self.connect_sse(endpoint).await {
                // The first answer says more about a server that supports neither transport.
                Err(StartError::Unreachable { .. }) => Err(error),
                other => other,
            },
        }
    }

    async fn connect_sse(
        &self,
        endpoint: &RemoteEndpoint<Template>,
    ) -> Result<Connection, StartError> {
        let pipe = sse::connect(self.remote_server(endpoint)?, &self.router).await?;
        self.handshake_over(Link::Pipe(pipe), None).await
    }

    async fn connect_built_in(&self) -> Result<Connection, StartError> {
        let stream = self.open_built_in()?;
        let max_line = self.spec.limits.max_message_bytes;
        let pipe = built_in::connect(stream, max_line, &self.router, &self.log);
        self.handshake_over(Link::Pipe(pipe), None).await
    }

    fn open_built_in(&self) -> Result<DuplexStream, StartError> {
        let opened = match &self.context.built_in {
            Some(opener) => opener.open(self.server()),
            None => Err(BuiltInError {
                reason: "this gateway has no built-in servers".to_owned(),
                remedy: None,
            }),
        };
        opened.map_err(|BuiltInError { reason, remedy }| StartError::BuiltIn {
            server: self.server().clone(),
            reason,
            remedy,
        })
    }

    fn remote_server(
        &self,
        endpoint: &RemoteEndpoint<Template>,
    ) -> Result<RemoteServer, StartError> {
        Ok(RemoteServer {
            server: self.server().clone(),
            client: http::http_client(),
            url: self.resolve_url(endpoint)?,
            headers: self.resolve_headers(endpoint)?,
            credentials: self.context.credentials.clone(),
            pause: self.context.pause.clone(),
            max_bytes: self.spec.limits.max_message_bytes,
        })
    }

    async fn handshake_over(
        &self,
        link: Link,
        process: Option<ProcessHandle>,
    ) -> Result<Connection, StartError> {
        let dialog = self.new_dialog(link);
        let error = match perform_handshake(&dialog, self.era, self.spec.limits.start_timeout).await
        {
            Ok(HandshakeOutcome::Hello(hello)) => {
                return Ok(Connection::new(self.spec.clone(), hello, dialog, process));
            }
            Ok(HandshakeOutcome::MaybeSse(error)) | Err(error) => error,
        };
        match process {
            Some(process) => {
                process.stop().await;
                Err(self.with_stderr(error))
            }
            None => Err(error),
        }
    }

    fn new_dialog(&self, link: Link) -> Dialog {
        Dialog {
            server: self.server().clone(),
            router: self.router.clone(),
            link,
        }
    }

    fn server(&self) -> &ServerName {
        &self.spec.name
    }

    fn resolve_text(&self, template: &Template) -> Result<String, StartError> {
        template
            .resolve(|name| (self.context.lookup)(name))
            .map_err(|source| StartError::Variable {
                server: self.server().clone(),
                source,
            })
    }

    fn resolve_url(&self, endpoint: &RemoteEndpoint<Template>) -> Result<Url, StartError> {
        // The parser's reason does not quote the expanded values.
        Url::parse(&self.resolve_text(&endpoint.url)?)
            .map_err(|error| self.invalid_error(format!("its URL is invalid: {error}")))
    }

    fn resolve_headers(
        &self,
        endpoint: &RemoteEndpoint<Template>,
    ) -> Result<HeaderMap, StartError> {
        let mut headers = Vec::new();
        for (name, template) in &endpoint.headers {
            let value = self.resolve_text(template)?;
            mask::add_secret(&value);
            headers.push((name.clone(), value));
        }
        header_map(headers).map_err(|reason| self.invalid_error(reason))
    }

    fn invalid_error(&self, reason: String) -> StartError {
        StartError::Invalid {
            server: self.server().clone(),
            reason,
        }
    }

    fn timeout_error(&self) -> StartError {
        StartError::TimedOut {
            server: self.server().clone(),
            after: self.spec.limits.start_timeout,
            diagnosis: self.diagnose_silence(),
            stderr: self.log.tail(),
        }
    }

    /// Adds the last lines of stderr, the only explanation of a child's exit.
    fn with_stderr(&self, error: StartError) -> StartError {
        match error {
            StartError::Unreachable {
                server,
                reason: status,
            }
            | StartError::Exited { server, status, .. } => {
                let stderr = self.log.tail();
                StartError::Exited {
                    server,
                    diagnosis: self.diagnose_end(&status, &stderr),
                    status,
                    stderr,
                }
            }
            StartError::TimedOut { server, after, .. } => StartError::TimedOut {
                server,
                after,
                diagnosis: self.diagnose_silence(),
                stderr: self.log.tail(),
            },
            other => other,
        }
    }

    fn diagnose_end(&self, status: &str, output: &str) -> Option<Box<Diagnosis>> {
        // A server that tried to serve HTTP was stopped by something else.
        let recognized = Cause::recognize(output);
        let cause = recognized.filter(|cause| !matches!(cause, Cause::ServesHttp { .. }));
        let ended_well = status == process::EXIT_SUCCESS;
        let cause = cause.or(ended_well.then_some(Cause::Retired))?;
        Some(Box::new(Diagnosis::new(cause, &self.spec)))
    }

    /// Returns the cause why a server is not ready in time, from its output or its silence.
    fn diagnose_silence(&self) -> Option<Box<Diagnosis>> {
        let output = self.log.tail();
        let talks = output.lines().any(|line| line.starts_with("[stdout]"));
        let silence = if talks { Cause::NotMcp } else { Cause::Silent };
        let cause = Cause::recognize(&output).unwrap_or(silence);
        Some(Box::new(Diagnosis::new(cause, &self.spec)))
    }
}
