//! A server that runs in this process, with the same line protocol over an in-memory pipe.

use std::fmt;
use std::sync::Arc;

use kitbag_domain::ServerName;
use tokio::io::DuplexStream;

use crate::error::CallError;
use crate::link::PipeLink;
use crate::log::ServerLog;
use crate::router::Router;
use crate::stdio::{PipeReader, write_lines};

/// Opens a built-in server and returns the client's end of the pipe. The gateway knows which
/// built-in servers exist.
#[derive(Clone)]
pub struct BuiltInOpener(Arc<OpenBuiltIn>);

type OpenBuiltIn = dyn Fn(&ServerName) -> Result<DuplexStream, BuiltInError> + Send + Sync;

/// The reason why a built-in server could not be opened, and its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInError {
    pub reason: String,
    pub remedy: Option<String>,
}

impl BuiltInOpener {
    pub fn new(
        open: impl Fn(&ServerName) -> Result<DuplexStream, BuiltInError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self, server: &ServerName) -> Result<DuplexStream, BuiltInError> {
        (self.0)(server)
    }
}

/// Starts reading from and writing to a server that was just opened, until either side closes the
/// pipe.
pub(crate) fn connect(
    stream: DuplexStream,
    max_line: usize,
    router: &Arc<Router>,
    log: &Arc<ServerLog>,
) -> PipeLink {
    let (pipe, queue) = PipeLink::new();
    let (output, input) = tokio::io::split(stream);
    let reader = PipeReader {
        pipe: pipe.clone(),
        router: router.clone(),
        log: log.clone(),
        max_line,
    };
    tokio::spawn(async move {
        let PipeReader { pipe, router, .. } = &reader;
        tokio::select! {
            () = reader.read_stdout(output) => {}
            () = write_lines(input, queue) => {}
            () = pipe.closed.wait() => {}
        }
        pipe.closed.close("it ended");
        router.fail_all(&CallError::for_lost_connection(
            router.server(),
            pipe.closed.reason(),
        ));
    });
    pipe
}

impl fmt::Debug for BuiltInOpener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BuiltInOpener")
    }
}
