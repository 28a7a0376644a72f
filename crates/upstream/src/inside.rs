//! A server that runs in this process: the same lines over a pipe that never leaves it.

use std::fmt;
use std::sync::Arc;

use kitbag_domain::ServerName;
use tokio::io::DuplexStream;

use crate::error::CallError;
use crate::link::{Closed, Pipe};
use crate::log::ServerLog;
use crate::outgoing::Outgoing;
use crate::router::Router;
use crate::stdio::{read, write};

/// Begins to serve and hands out our end of the pipe. Which servers there are is for the house to
/// know.
#[derive(Clone)]
pub struct Opener(Arc<Open>);

type Open = dyn Fn(&ServerName) -> Result<DuplexStream, NotOpened> + Send + Sync;

/// Why it could not, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOpened {
    pub reason: String,
    pub remedy: Option<String>,
}

impl Opener {
    pub fn new(
        open: impl Fn(&ServerName) -> Result<DuplexStream, NotOpened> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self, server: &ServerName) -> Result<DuplexStream, NotOpened> {
        (self.0)(server)
    }
}

/// Begins to read from and write to a server that was just opened. It ends when either side lets
/// go of the pipe.
pub(crate) fn connect(
    server: &ServerName,
    stream: DuplexStream,
    max_line: usize,
    router: &Arc<Router>,
    log: &Arc<ServerLog>,
) -> Pipe {
    let (outgoing, queue) = Outgoing::queue();
    let pipe = Pipe {
        outgoing,
        closed: Closed::default(),
    };
    let (output, input) = tokio::io::split(stream);
    let reading = read(
        output,
        max_line,
        server.clone(),
        router.clone(),
        pipe.clone(),
        log.clone(),
    );
    let (server, closed, router) = (server.clone(), pipe.closed.clone(), router.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = reading => {}
            () = write(input, queue) => {}
            () = closed.wait() => {}
        }
        closed.close("it ended");
        router.fail_all(&CallError::lost(&server, closed.reason()));
    });
    pipe
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}
