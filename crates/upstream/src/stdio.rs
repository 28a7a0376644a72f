//! A server as a child process: one JSON-RPC message per line, plus whatever else it prints.

use std::sync::Arc;
use std::time::Duration;

use kitbag_wire::Message;
use kitbag_wire::lines::{Line, read_line};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::process::ChildStderr;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::cause::Diagnosis;
use crate::error::CallError;
use crate::link::{CloseSignal, PipeLink, ReplySender, STOPPED_BY_US};
use crate::log::ServerLog;
use crate::process::{LaunchedChild, RunningChild};
use crate::router::Router;
use crate::send_queue::{QueuedMessages, STUCK};
use crate::spec::ServerSpec;

/// Larger than most messages, so that one read gets a whole one.
const READ_BUFFER: usize = 64 * 1024;
/// A longer line of stderr is truncated; it is for people to read.
const MAX_STDERR_LINE: usize = 64 * 1024;
/// A process that has ended has already written its last output, so it arrives at once.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);

/// The handle that stops the process.
pub(crate) struct ProcessHandle {
    stop: Option<oneshot::Sender<()>>,
    ended: CloseSignal,
}

/// Reads the messages of a server from a pipe, for the router.
#[derive(Clone)]
pub(crate) struct PipeReader {
    pub(crate) pipe: PipeLink,
    pub(crate) router: Arc<Router>,
    pub(crate) log: Arc<ServerLog>,
    pub(crate) max_line: usize,
}

/// Starts reading from and writing to a server that was just launched.
pub(crate) fn connect(
    spec: &Arc<ServerSpec>,
    launched: LaunchedChild,
    router: &Arc<Router>,
    log: &Arc<ServerLog>,
) -> (PipeLink, ProcessHandle) {
    let LaunchedChild { running, pipes } = launched;
    log.clear_tail();
    let (pipe, queue) = PipeLink::new();
    let (stop, stopped) = oneshot::channel();
    let ended = CloseSignal::default();
    let reader = PipeReader {
        pipe: pipe.clone(),
        router: router.clone(),
        log: log.clone(),
        max_line: spec.limits.max_message_bytes,
    };
    let supervisor = ProcessSupervisor {
        spec: spec.clone(),
        errors: tokio::spawn(read_stderr(pipes.stderr, log.clone())),
        input: tokio::spawn(write_lines(pipes.stdin, queue)),
        stopped,
        reader: reader.clone(),
        ended: ended.clone(),
    };
    tokio::spawn(supervisor.supervise(
        running,
        async move { reader.read_stdout(pipes.stdout).await },
    ));
    let stop = Some(stop);
    (pipe, ProcessHandle { stop, ended })
}

impl ProcessHandle {
    /// Stops the process and waits until it, and all processes that it started, are gone.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.ended.wait().await;
    }
}

struct ProcessSupervisor {
    spec: Arc<ServerSpec>,
    errors: JoinHandle<()>,
    input: JoinHandle<()>,
    /// Closed when the process is to be stopped.
    stopped: oneshot::Receiver<()>,
    reader: PipeReader,
    ended: CloseSignal,
}

impl ProcessSupervisor {
    /// Waits for the end, by the gateway or by the server itself, and leaves nothing behind.
    async fn supervise(mut self, running: RunningChild, output: impl Future<Output = ()>) {
        let mut output = std::pin::pin!(output);
        let by_us = tokio::select! {
            () = &mut output => false,
            _ = &mut self.stopped => true,
        };
        // Dropping the writer closes the server's stdin, which asks it to exit.
        self.input.abort();
        let _ = (&mut self.input).await;
        let mut ending = std::pin::pin!(running.terminate());
        let status = if by_us {
            // A server about to write would find a closed pipe, and its log would look like a
            // crash.
            tokio::select! {
                status = &mut ending => status,
                () = &mut output => ending.await,
            }
        } else {
            ending.await
        };
        // The last output explains the end, so it is read before any caller gets the error.
        let _ = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, &mut self.errors).await;
        self.report_end(by_us, status);
    }

    fn report_end(self, by_us: bool, status: String) {
        let PipeReader {
            pipe, router, log, ..
        } = &self.reader;
        let stderr = log.tail();
        let (reason, diagnosis) = match by_us {
            true => (STOPPED_BY_US.to_owned(), None),
            false => (
                exit_reason(pipe, status),
                Diagnosis::for_crash(&stderr, &self.spec).map(Box::new),
            ),
        };
        pipe.closed.close(reason.clone());
        router.fail_all(&CallError::Lost {
            server: self.spec.name.clone(),
            reason,
            stderr,
            diagnosis,
        });
        self.ended.close("ended");
    }
}

/// Returns the reason why a server ended that was not asked to.
fn exit_reason(pipe: &PipeLink, status: String) -> String {
    if pipe.queue.is_stuck() {
        STUCK.to_owned()
    } else {
        status
    }
}

pub(crate) async fn write_lines(stdin: impl AsyncWrite + Unpin, mut queue: QueuedMessages) {
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

impl PipeReader {
    /// Reads until the server closes its stdout, or is stuck.
    pub(crate) async fn read_stdout(&self, stdout: impl AsyncRead + Unpin) {
        let mut stdout = BufReader::with_capacity(READ_BUFFER, stdout);
        let outlet = ReplySender::Pipe(self.pipe.queue.clone());
        let mut line = Vec::new();
        loop {
            let kind = tokio::select! {
                kind = read_line(&mut stdout, &mut line, self.max_line) => kind,
                () = self.pipe.queue.wait_until_stuck() => return,
            };
            let Ok(kind @ (Line::Whole | Line::Truncated)) = kind else {
                return;
            };
            if kind == Line::Truncated && self.fail_request_of(&line) {
                continue;
            }
            self.handle_line(&line, &outlet).await;
            if outlet.wait_for_room().await.is_err() {
                return;
            }
        }
    }

    /// Fails the request whose answer is too long. Returns true if it is known.
    fn fail_request_of(&self, beginning: &[u8]) -> bool {
        let Some(id) = self.router.find_request(beginning) else {
            return false;
        };
        let server = self.router.server().clone();
        let max = self.max_line;
        self.router
            .fail_request(id, CallError::TooLarge { server, max });
        true
    }

    async fn handle_line(&self, line: &[u8], outlet: &ReplySender) {
        match Message::parse(line) {
            Ok(message) => self.router.deliver(message, None, outlet).await,
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            // Servers print banners and stray logs to stdout, which belong in their log.
            Err(error) => {
                let server = self.router.server();
                tracing::debug!(%server, %error, "skipped a line of output");
                self.log
                    .log_stdout(String::from_utf8_lossy(line).trim_end());
            }
        }
    }
}

async fn read_stderr(stderr: ChildStderr, log: Arc<ServerLog>) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    while let Ok(Line::Whole | Line::Truncated) =
        read_line(&mut stderr, &mut line, MAX_STDERR_LINE).await
    {
        log.log_stderr(String::from_utf8_lossy(&line).trim_end());
    }
}
