//! A worker on the gateway's side: its process, the pipe to it, and its state.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use super::frame;
use super::worker_failure::{self, unavailable};
use crate::jail::LayerReport;
use crate::outcome::RunFailure;
use crate::protocol::{FromWorker, JailLimits, ToWorker};

#[derive(Debug)]
pub(super) struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: FramedRead<ChildStdout, LengthDelimitedCodec>,
    /// Bytes to send to the worker.
    outbox: BytesMut,
    layers: Vec<LayerReport>,
    runs: u32,
    /// The processor time that it has used.
    cpu: Duration,
}

/// A worker is retired after this many runs, so that leaks in the engine do not add up for long.
const MAX_RUNS: u32 = 200;

/// A worker that has not closed its jail by then never will.
const GREETING: Duration = Duration::from_secs(10);

impl WorkerProcess {
    /// Sends a new process its limits, and waits until its jail is closed.
    pub(super) async fn greet(mut child: Child, limits: JailLimits) -> Result<Self, RunFailure> {
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unavailable("the worker has no pipe"));
        };
        let mut worker = Self {
            child,
            input,
            output: FramedRead::new(output, frame::codec()),
            outbox: BytesMut::new(),
            layers: Vec::new(),
            runs: 0,
            cpu: Duration::ZERO,
        };
        worker.layers = worker.read_greeting(limits).await?;
        Ok(worker)
    }

    async fn read_greeting(&mut self, limits: JailLimits) -> Result<Vec<LayerReport>, RunFailure> {
        let start = ToWorker::Start(limits);
        match tokio::time::timeout(GREETING, self.ask(&start)).await {
            Ok(Ok(FromWorker::Ready { layers })) => Ok(layers),
            Ok(Ok(other)) => Err(unavailable(&worker_failure::unexpected_message(&other))),
            Ok(Err(failure)) => Err(unavailable(&failure)),
            Err(_) => Err(unavailable("the worker did not answer when it was started")),
        }
    }

    pub(super) fn layers(&self) -> &[LayerReport] {
        &self.layers
    }

    /// Sends a message and waits for the worker's next one.
    pub(super) async fn ask(&mut self, message: &ToWorker) -> Result<FromWorker, RunFailure> {
        self.put(message);
        loop {
            if let Some(message) = self.exchange(true).await? {
                return Ok(message);
            }
        }
    }

    /// Puts a message into the outbox.
    pub(super) fn put(&mut self, message: &ToWorker) {
        frame::write(message, &mut self.outbox);
    }

    pub(super) fn unsent(&self) -> usize {
        self.outbox.len()
    }

    /// Writes some of the outbox, or reads a message if `reads`. Both at once, because a worker
    /// that writes does not read. Cancel-safe.
    pub(super) async fn exchange(&mut self, reads: bool) -> Result<Option<FromWorker>, RunFailure> {
        let waiting = !self.outbox.is_empty();
        tokio::select! {
            frame = self.output.next(), if reads => self.read_frame(frame).await.map(Some),
            written = self.input.write_buf(&mut self.outbox), if waiting => match written {
                Ok(_) => Ok(None),
                Err(_) => Err(worker_failure::from_exit(&mut self.child).await),
            },
            // The caller waits for something else, too.
            else => std::future::pending().await,
        }
    }

    async fn read_frame(
        &mut self,
        frame: Option<io::Result<BytesMut>>,
    ) -> Result<FromWorker, RunFailure> {
        match frame {
            Some(Ok(frame)) => frame::read(&frame),
            Some(Err(error)) => Err(worker_failure::unreadable_error(&error)),
            None => Err(worker_failure::from_exit(&mut self.child).await),
        }
    }

    pub(super) fn finished_run(&mut self, cpu: Duration) {
        self.runs += 1;
        self.cpu = cpu;
    }

    /// True if the worker can serve its tenant once more.
    pub(super) fn is_fit(&mut self, retirement: Duration) -> bool {
        let alive = matches!(self.child.try_wait(), Ok(None));
        let silent = self.outbox.is_empty() && self.output.read_buffer().is_empty();
        alive && silent && self.runs < MAX_RUNS && self.cpu < retirement
    }
}
