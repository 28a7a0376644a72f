//! A server as a child process: one JSON-RPC message per line, and whatever else it prints.

use std::sync::Arc;

use kitbag_domain::ServerName;
use kitbag_wire::Message;
use kitbag_wire::lines::{Line, read_line};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::process::ChildStderr;
use tokio::sync::oneshot;

use crate::cause::Diagnosis;
use crate::error::CallError;
use crate::link::{BY_US, Closed, Outlet, Pipe};
use crate::log::ServerLog;
use crate::outgoing::{Outgoing, STUCK, Waiting};
use crate::process::{Launched, Running};
use crate::router::Router;
use crate::spec::ServerSpec;

/// The handle that ends the process.
pub(crate) struct Process {
    stop: Option<oneshot::Sender<()>>,
    ended: Closed,
}

/// Begins to read from and write to a server that was just launched.
pub(crate) fn connect(
    spec: &Arc<ServerSpec>,
    launched: Launched,
    router: &Arc<Router>,
    log: &Arc<ServerLog>,
) -> (Pipe, Process) {
    let Launched { running, pipes } = launched;
    log.forget_tail();
    let (outgoing, queue) = Outgoing::queue();
    let pipe = Pipe {
        outgoing,
        closed: Closed::default(),
    };
    let (stop, stopped) = oneshot::channel();
    let ended = Closed::default();

    let errors = tokio::spawn(read_stderr(pipes.stderr, log.clone()));
    let input = tokio::spawn(write(pipes.stdin, queue));
    let (server, max_line) = (spec.name.clone(), spec.limits.max_message_bytes);
    let output = read(
        pipes.stdout,
        max_line,
        server,
        router.clone(),
        pipe.clone(),
        log.clone(),
    );
    let life = Life {
        spec: spec.clone(),
        running,
        pipe: pipe.clone(),
        ended: ended.clone(),
    };
    tokio::spawn(life.run(output, input, errors, stopped, router.clone(), log.clone()));
    (
        pipe,
        Process {
            stop: Some(stop),
            ended,
        },
    )
}

impl Process {
    /// Ends the process and waits until it, and all it started, are gone.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.ended.wait().await;
    }
}

struct Life {
    spec: Arc<ServerSpec>,
    running: Running,
    pipe: Pipe,
    ended: Closed,
}

impl Life {
    /// Waits for the end, whoever brings it about, and leaves nothing behind.
    async fn run(
        self,
        output: impl Future<Output = ()>,
        input: tokio::task::JoinHandle<()>,
        errors: tokio::task::JoinHandle<()>,
        stopped: oneshot::Receiver<()>,
        router: Arc<Router>,
        log: Arc<ServerLog>,
    ) {
        let mut output = std::pin::pin!(output);
        let by_us = tokio::select! {
            () = &mut output => false,
            _ = stopped => true,
        };
        // Dropping the writer closes the server's stdin, which asks it to leave.
        input.abort();
        let _ = input.await;
        let mut ending = std::pin::pin!(self.running.end());
        let status = if by_us {
            // A server that was about to say something would stumble over a closed pipe, and
            // its log would look like a crash.
            tokio::select! {
                status = &mut ending => status,
                () = &mut output => ending.await,
            }
        } else {
            ending.await
        };
        // The last words are what explains the end, so they are read before anyone is told.
        let _ = tokio::time::timeout(std::time::Duration::from_millis(500), errors).await;
        let stderr = log.tail();
        let (reason, diagnosis) = if by_us {
            (BY_US.to_owned(), None)
        } else {
            (
                reason(&self.pipe, status),
                Diagnosis::of_death(&stderr, &self.spec).map(Box::new),
            )
        };
        self.pipe.closed.close(reason.clone());
        router.fail_all(&CallError::Lost {
            server: self.spec.name.clone(),
            reason,
            stderr,
            diagnosis,
        });
        self.ended.close("ended");
    }
}

/// Why a server went away that was not asked to.
fn reason(pipe: &Pipe, status: String) -> String {
    if pipe.outgoing.is_stuck() {
        STUCK.to_owned()
    } else {
        status
    }
}

pub(crate) async fn write(stdin: impl AsyncWrite + Unpin, mut queue: Waiting) {
    let mut stdin = BufWriter::new(stdin);
    loop {
        let mut line = queue.next().await;
        line.push(b'\n');
        if stdin.write_all(&line).await.is_err() {
            return;
        }
        if queue.is_empty() && stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Reads until the server closes its stdout, or has to be given up.
pub(crate) async fn read(
    stdout: impl AsyncRead + Unpin,
    max_line: usize,
    server: ServerName,
    router: Arc<Router>,
    pipe: Pipe,
    log: Arc<ServerLog>,
) {
    let outlet = Outlet::Pipe(pipe.outgoing.clone());
    let mut stdout = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        let kind = tokio::select! {
            kind = read_line(&mut stdout, &mut line, max_line) => kind,
            () = pipe.outgoing.stuck() => return,
        };
        let Ok(kind @ (Line::Whole | Line::Cut)) = kind else {
            return;
        };
        if kind == Line::Cut
            && let Some(id) = router.addressee(&line)
        {
            router.fail(
                id,
                CallError::TooLarge {
                    server: server.clone(),
                    max: max_line,
                },
            );
            continue;
        }
        match Message::parse(&line) {
            Ok(message) => {
                router.deliver(message, None, &outlet).await;
                if outlet.room().await.is_err() {
                    return;
                }
            }
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            // Servers print banners and stray logs to stdout; that is theirs to explain.
            Err(error) => {
                tracing::debug!(%server, %error, "skipped a line of output");
                log.stdout(String::from_utf8_lossy(&line).trim_end());
            }
        }
    }
}

async fn read_stderr(stderr: ChildStderr, log: Arc<ServerLog>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(Line::Whole | Line::Cut) = read_line(&mut stderr, &mut line, 64 * 1024).await {
        log.stderr(String::from_utf8_lossy(&line).trim_end());
    }
}
