//! A worker as the gateway holds it: a process, a pipe to it, and what is known of it.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use futures::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio_util::codec::{FramedRead, LengthDelimitedCodec};

use super::death::{self, unavailable};
use super::frame;
use crate::jail::LayerReport;
use crate::outcome::RunFailure;
use crate::protocol::{FromWorker, JailLimits, ToWorker};

#[derive(Debug)]
pub(super) struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: FramedRead<ChildStdout, LengthDelimitedCodec>,
    /// Bytes on their way to the worker.
    outbox: BytesMut,
    layers: Vec<LayerReport>,
    runs: u32,
    /// The processor time that it has used.
    cpu: Duration,
}

/// So many runs of one tenant: what leaks in the engine does not add up for long.
const MOST_RUNS: u32 = 200;

/// A worker that has not closed its jail by then never will.
const GREETING: Duration = Duration::from_secs(10);

impl WorkerProcess {
    /// Tells a new process its limits, and waits until its jail is closed.
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
        worker.layers = worker.greeted(limits).await?;
        Ok(worker)
    }

    async fn greeted(&mut self, limits: JailLimits) -> Result<Vec<LayerReport>, RunFailure> {
        let start = ToWorker::Start(limits);
        match tokio::time::timeout(GREETING, self.ask(&start)).await {
            Ok(Ok(FromWorker::Ready { layers })) => Ok(layers),
            Ok(Ok(other)) => Err(unavailable(&death::strange(&other))),
            Ok(Err(failure)) => Err(unavailable(&failure)),
            Err(_) => Err(unavailable("the worker did not answer when it was started")),
        }
    }

    pub(super) fn layers(&self) -> &[LayerReport] {
        &self.layers
    }

    /// Sends a message and waits for the next one that the worker sends.
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

    /// Writes some of the outbox, or reads a message if `reads`. Both at once, because a worker that
    /// writes does not read. Can be dropped at any time.
    pub(super) async fn exchange(&mut self, reads: bool) -> Result<Option<FromWorker>, RunFailure> {
        let waiting = !self.outbox.is_empty();
        tokio::select! {
            frame = self.output.next(), if reads => self.opened(frame).await.map(Some),
            written = self.input.write_buf(&mut self.outbox), if waiting => match written {
                Ok(_) => Ok(None),
                Err(_) => Err(death::of(&mut self.child).await),
            },
            // The caller waits for something else, too.
            else => std::future::pending().await,
        }
    }

    async fn opened(
        &mut self,
        frame: Option<io::Result<BytesMut>>,
    ) -> Result<FromWorker, RunFailure> {
        match frame {
            Some(Ok(frame)) => frame::read(&frame),
            Some(Err(error)) => Err(death::unreadable(&error)),
            None => Err(death::of(&mut self.child).await),
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
        alive && silent && self.runs < MOST_RUNS && self.cpu < retirement
    }
}
